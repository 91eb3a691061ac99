//! Protobuf through the whole source: negotiation, lists, watches, errors and fall-back to JSON.

use http::header::{ACCEPT, CONTENT_TYPE};

use super::*;
use crate::source::protobuf::test_bytes::{
    config_map, decode, envelope, event, field, framed, integer, list,
};

const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// A source whose server answers with this status, type and body. Records `Accept` of every request.
fn source(
    encoding: Encoding,
    answer: impl Fn(&str) -> (u16, &'static str, Vec<u8>) + Send + Sync + 'static,
) -> (KubeSource<ConfigMap>, Arc<Mutex<Vec<String>>>) {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&requests);
    let answer = move |request: Request<Body>| {
        let accept = request.headers()[ACCEPT].to_str().unwrap().to_owned();
        let (status, content_type, text) = answer(&accept);
        log.lock().unwrap().push(accept);
        Response::builder()
            .status(status)
            .header(CONTENT_TYPE, content_type)
            .body(body(chunks(&text, 7)))
            .unwrap()
    };
    let options = KubeSourceOptions { encoding, ..inline() };
    let source = KubeSource::new(client(answer), Scope::All, options).unwrap();
    (source.protobuf(&(), decode), requests)
}

fn answers(status: u16, content_type: &'static str, body: &[u8]) -> KubeSource<ConfigMap> {
    let body = body.to_vec();
    source(Encoding::Protobuf, move |_| (status, content_type, body.clone())).0
}

#[tokio::test]
async fn a_list_in_protobuf_is_read() {
    let body = list(&[
        config_map("a", "5", b""),
        vec![0x12, 50],
        config_map("b", "6", b""),
    ]);
    let lines = list_lines(&answers(200, MEDIA_TYPE, &body)).await;
    assert_eq!(
        lines,
        [
            "metadata 17 Some(\"next\") Some(3)",
            "item ns/a",
            "undecodable None",
            "item ns/b"
        ]
    );
    let lines = list_lines(&answers(200, MEDIA_TYPE, &body[..body.len() - 20])).await;
    assert!(
        lines.last().unwrap().contains("ended before its last byte"),
        "{lines:?}"
    );
}

#[tokio::test]
async fn a_watch_in_protobuf_is_read() {
    let object = envelope("v1", "ConfigMap", &config_map("a", "5", b""));
    let body = ["ADDED", "MODIFIED", "DELETED"].map(|change| framed(&event(change, &object)));
    let source = answers(
        200,
        "application/vnd.kubernetes.protobuf;stream=watch",
        &body.concat(),
    );
    assert_eq!(
        watch_lines(&source).await,
        ["added ns/a", "modified ns/a", "deleted ns/a"]
    );
}

#[tokio::test]
async fn the_items_of_a_list_of_another_kind_are_not_decoded() {
    let raw = [field(1, field(2, "17")), field(2, config_map("a", "5", b""))].concat();
    let lines = list_lines(&answers(200, MEDIA_TYPE, &envelope("v1", "SecretList", &raw))).await;
    assert_eq!(lines, ["metadata 17 None None", "undecodable Some(\"ns/a\")"]);
}

#[tokio::test]
async fn an_error_response_in_protobuf_is_read() {
    let status = [field(3, "not yours"), field(4, "Forbidden"), integer(6, 403)].concat();
    let source = answers(403, MEDIA_TYPE, &envelope("v1", "Status", &status));
    let lines = list_lines(&source).await;
    assert!(
        lines[0].starts_with("refused: the server answered 403 Forbidden: not yours; "),
        "{lines:?}"
    );
}

#[tokio::test]
async fn identities_are_read_without_decoding_the_objects() {
    let metadata = field(1, [field(1, "a"), field(6, "5")].concat());
    let raw = [field(1, field(2, "17")), field(2, metadata)].concat();
    let body = envelope("meta.k8s.io/v1", "PartialObjectMetadataList", &raw);
    let (source, requests) = source(Encoding::Protobuf, move |_| (200, MEDIA_TYPE, body.clone()));
    let events: Vec<_> = source
        .list_identities(whole_list())
        .await
        .unwrap()
        .collect()
        .await;
    let Ok(IdentityEvent::Object(identity)) = &events[1] else {
        panic!("{} events", events.len());
    };
    assert_eq!(identity.key.as_ref().unwrap().to_string(), "a");
    assert_eq!(identity.version, Some("5".into()));
    let as_metadata = "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    assert_eq!(
        requests.lock().unwrap()[0],
        format!("{MEDIA_TYPE};{as_metadata},application/json;{as_metadata},{MEDIA_TYPE},application/json")
    );
}

const JSON_LIST: &[u8] = br#"{"metadata":{"resourceVersion":"17"},"items":[{"metadata":{"name":"a"}}]}"#;

#[tokio::test]
async fn a_server_that_answers_json_is_read_as_json() {
    let (source, requests) = source(Encoding::Protobuf, |_| {
        (200, "application/json", JSON_LIST.to_vec())
    });
    assert_eq!(list_lines(&source).await, ["metadata 17 None None", "item a"]);
    assert_eq!(
        *requests.lock().unwrap(),
        ["application/vnd.kubernetes.protobuf,application/json"]
    );
}

#[tokio::test]
async fn a_server_that_refuses_protobuf_is_asked_for_json_from_then_on() {
    for code in [406, 415] {
        let (source, requests) = source(Encoding::Protobuf, move |accept| match accept {
            "application/json" => (200, "application/json", JSON_LIST.to_vec()),
            _ => (code, "text/plain", b"no".to_vec()),
        });
        for _ in 0..2 {
            assert_eq!(list_lines(&source).await, ["metadata 17 None None", "item a"]);
        }
        let requests = requests.lock().unwrap();
        assert_eq!(requests.len(), 3, "{requests:?}");
        assert_eq!(requests[1..], ["application/json"; 2], "{requests:?}");
    }
}

#[tokio::test]
async fn a_server_that_refuses_json_as_well_is_reported_once_per_request() {
    let (source, requests) = source(Encoding::Protobuf, |_| (406, "text/plain", b"no".to_vec()));
    assert_eq!(
        list_lines(&source).await,
        ["refused: the server answered 406: no"]
    );
    assert_eq!(
        list_lines(&source).await,
        ["refused: the server answered 406: no"]
    );
    assert_eq!(requests.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn an_option_turns_protobuf_off() {
    let (source, requests) = source(Encoding::Json, |_| (200, "application/json", JSON_LIST.to_vec()));
    assert_eq!(list_lines(&source).await, ["metadata 17 None None", "item a"]);
    assert_eq!(*requests.lock().unwrap(), ["application/json"]);
}
