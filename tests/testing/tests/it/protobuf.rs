//! Protobuf over HTTP: which answers are protobuf, and which requests may be. The content of answers is
//! compared in the integration tests of the workspace, which have decoders.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use informer_testing::{ApiServer, Fault, MediaTypes, Rule};
use serde_json::json;
use tower::ServiceExt as _;

use crate::support::{call, config_map, get};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const BOTH: &str = "application/vnd.kubernetes.protobuf,application/json";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn serving(media_types: MediaTypes) -> ApiServer {
    ApiServer::builder().media_types(media_types).start()
}

/// Sends a request and returns code, content type and body. A watch returns its first chunk.
async fn send(
    server: &ApiServer,
    method: Method,
    uri: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> (u16, String, Bytes) {
    let mut request = Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(Bytes::copy_from_slice(body))).unwrap();
    let response = server.service().oneshot(request).await.unwrap();
    let (parts, mut body) = response.into_parts();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    let content_type = parts.headers[CONTENT_TYPE].to_str().unwrap().to_owned();
    (parts.status.as_u16(), content_type, first)
}

async fn read(server: &ApiServer, uri: &str, accept: &str) -> (u16, String, Bytes) {
    send(server, Method::GET, uri, &[("accept", accept)], b"").await
}

/// The types in the envelope of an answer.
fn types_of(body: &[u8]) -> String {
    let body = body.strip_prefix(b"k8s\0\x0a").expect("an envelope");
    let (names, _) = body[1..].split_at(body[0].into());
    let (version, kind) = names[2..].split_at(names[1].into());
    [version, &kind[2..]].map(String::from_utf8_lossy).join(" ")
}

#[tokio::test]
async fn answers_are_protobuf_if_the_client_prefers_it() {
    let server = serving(MediaTypes::All);
    server.create(&config_map("a")).unwrap();
    let one = &format!("{MAPS}/a");
    let absent = &format!("{MAPS}/b");
    let metadata = format!("{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
    let expected: &[(&str, &str, u16, &str)] = &[
        (one, BOTH, 200, "v1 ConfigMap"),
        (MAPS, BOTH, 200, "v1 ConfigMapList"),
        (absent, BOTH, 404, "v1 Status"),
        (one, &metadata, 200, "meta.k8s.io/v1 PartialObjectMetadata"),
        ("/apis/apps/v1/nothing", PROTOBUF, 404, "v1 Status"),
    ];
    for (uri, accept, code, types) in expected {
        let (found, content_type, body) = read(&server, uri, accept).await;
        assert_eq!((found, content_type.as_str()), (*code, PROTOBUF), "{uri}");
        assert_eq!(types_of(&body), *types, "{uri}");
    }
    for accept in [
        "application/json",
        "*/*",
        "application/json,application/vnd.kubernetes.protobuf",
    ] {
        let (_, content_type, body) = read(&server, one, accept).await;
        assert_eq!(
            (content_type.as_str(), body[0]),
            ("application/json", b'{'),
            "{accept}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_a_sequence_of_frames() {
    let server = serving(MediaTypes::All);
    server.create(&config_map("a")).unwrap();
    let (code, content_type, mut chunk) = read(&server, &format!("{MAPS}?watch=true"), PROTOBUF).await;
    assert_eq!(
        (code, content_type.as_str()),
        (200, "application/vnd.kubernetes.protobuf;stream=watch")
    );
    let length = u32::from_be_bytes(chunk.split_to(4)[..].try_into().unwrap()) as usize;
    assert_eq!(length, chunk.len());
    assert!(chunk.starts_with(b"\x0a\x05ADDED"), "{chunk:?}");
    // Type, tag and length of the extension, tag and length of its bytes.
    let at = chunk.windows(4).position(|bytes| bytes == b"k8s\0").unwrap();
    assert_eq!(types_of(&chunk[at..]), "v1 ConfigMap");
}

#[tokio::test]
async fn errors_of_faults_are_protobuf_too() {
    let server = serving(MediaTypes::All);
    server.faults().add(Rule::new(Fault::unavailable()));
    let (code, content_type, body) = read(&server, MAPS, BOTH).await;
    assert_eq!((code, content_type.as_str()), (503, PROTOBUF));
    assert_eq!(types_of(&body), "v1 Status");
}

#[tokio::test]
async fn a_request_body_may_be_protobuf() {
    let server = serving(MediaTypes::All);
    // A new object from bytes: field 1 is the metadata with its name, field 2 an entry of `data`.
    let fresh =
        b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x0d\x0a\x03\x0a\x01n\x12\x06\x0a\x01a\x12\x011";
    let headers = [("content-type", PROTOBUF), ("accept", PROTOBUF)];
    let (code, content_type, _) = send(&server, Method::POST, MAPS, &headers, fresh).await;
    assert_eq!((code, content_type.as_str()), (201, PROTOBUF));
    let created = get(&server, &format!("{MAPS}/n")).await.json();
    assert_eq!(created["data"], json!({ "a": "1" }));
    // Options with the precondition that the UID is `x`.
    let options = b"k8s\0\x0a\x13\x0a\x02v1\x12\x0dDeleteOptions\x12\x05\x12\x03\x0a\x01x";
    let one = format!("{MAPS}/n");
    let (code, _, _) = send(&server, Method::DELETE, &one, &headers, options).await;
    assert_eq!(code, 409);
    let (code, _, body) = send(&server, Method::DELETE, &one, &headers, &options[..25]).await;
    assert_eq!((code, types_of(&body).as_str()), (200, "v1 Status"));
}

#[tokio::test]
async fn malformed_protobuf_is_refused() {
    let server = serving(MediaTypes::All);
    let headers = [("content-type", PROTOBUF)];
    for body in [
        &b"{}"[..],
        b"k8s\0\x0a",
        b"k8s\0",
        b"k8s\0\x0a\x0c\x0a\x02v1\x12\x06Absent",
    ] {
        let (code, _, _) = send(&server, Method::POST, MAPS, &headers, body).await;
        assert_eq!(code, 400, "{body:?}");
    }
    let pod = b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x05\x0a\x03\x0a\x01n";
    let (code, _, _) = send(&server, Method::POST, MAPS, &headers, pod).await;
    assert_eq!(code, 400, "an object of another kind");
}

#[tokio::test]
async fn custom_resources_and_servers_of_json_have_no_protobuf() {
    let server = serving(MediaTypes::JsonOnly);
    assert_eq!(read(&server, MAPS, PROTOBUF).await.0, 406);
    assert_eq!(read(&server, MAPS, BOTH).await.1, "application/json");
    let headers = [("content-type", PROTOBUF)];
    assert_eq!(send(&server, Method::POST, MAPS, &headers, b"k8s\0").await.0, 415);

    let server = serving(MediaTypes::All);
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Cluster", "names": { "kind": "Widget", "plural": "widgets" },
            "versions": [{ "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object" } } }],
        },
    });
    assert_eq!(
        call(&server, Method::POST, definitions, definition).await.code,
        201
    );
    let widgets = "/apis/example.com/v1/widgets";
    assert_eq!(read(&server, widgets, PROTOBUF).await.0, 406);
    assert_eq!(read(&server, widgets, BOTH).await.1, "application/json");
    let metadata = format!("{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
    let (code, content_type, body) = read(&server, widgets, &metadata).await;
    assert_eq!((code, content_type.as_str()), (200, PROTOBUF));
    assert_eq!(types_of(&body), "meta.k8s.io/v1 PartialObjectMetadataList");
    assert_eq!(
        send(&server, Method::POST, widgets, &headers, b"k8s\0").await.0,
        415
    );
}
