//! The two wire formats: which one the server sends, that both give equal objects, and that faults have the
//! same effect in both.

use std::sync::{Arc, Mutex};

use http::Request;
use http::header::CONTENT_TYPE;
use informer_core::source::Encoding;
use informer_core::{SharedInformer, State};
use informer_testing::{ApiServer, EventType, Fault, Garble, MediaTypes, Rule};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tower::ServiceExt as _;

use crate::support::{LONG, builder_of, item, items, settled, start};

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// A client of the server, and the media types of all its answers.
fn client_of(server: &ApiServer) -> (Client, Arc<Mutex<Vec<String>>>) {
    let (service, types) = (server.service(), Arc::<Mutex<Vec<String>>>::default());
    let seen = types.clone();
    let recording = tower::service_fn(move |request: Request<Body>| {
        let (service, seen) = (service.clone(), seen.clone());
        async move {
            let response = service.oneshot(request).await;
            if let Ok(response) = &response {
                let media_type = response.headers()[CONTENT_TYPE].to_str().unwrap_or_default();
                let media_type = media_type.split(';').next().unwrap_or_default().to_owned();
                seen.lock().unwrap().push(media_type);
            }
            response
        }
    });
    (Client::new(recording, "default"), types)
}

fn server_of(media_types: MediaTypes) -> ApiServer {
    ApiServer::builder().media_types(media_types).start()
}

#[tokio::test(start_paused = true)]
async fn the_server_chooses_the_format_and_the_informer_reads_both() {
    for (media_types, encoding, expected) in [
        (MediaTypes::All, Encoding::Protobuf, PROTOBUF),
        (MediaTypes::All, Encoding::Json, JSON),
        (MediaTypes::JsonOnly, Encoding::Protobuf, JSON),
    ] {
        let server = server_of(media_types);
        server.create(&item("a", "1")).unwrap();
        let (client, types) = client_of(&server);
        let informer = builder_of::<ConfigMap>(client)
            .encoding(encoding)
            .build()
            .unwrap();
        start(&informer).await;
        server.update(&item("a", "2")).unwrap();
        settled(&informer, &server).await;
        assert_eq!(items(&informer), ["a=2"]);
        let types = types.lock().unwrap().clone();
        assert!(
            !types.is_empty() && types.iter().all(|found| found == expected),
            "{types:?}"
        );
        informer.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_is_the_same_in_both_formats() {
    let server = server_of(MediaTypes::All);
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "a", "namespace": "default", "labels": { "app": "web" }, "finalizers": ["x/y"],
        },
        "spec": {
            "containers": [{
                "name": "main", "image": "busybox", "securityContext": { "runAsUser": 0 },
                "resources": { "limits": { "cpu": "10m", "memory": "1Gi" } },
                "livenessProbe": { "httpGet": { "path": "/", "port": "http" }, "initialDelaySeconds": 3 },
            }],
            "terminationGracePeriodSeconds": 0, "hostNetwork": true,
            "volumes": [{ "name": "v", "projected": { "sources": [{ "secret": { "name": "s" } }] } }],
        },
        "status": { "startTime": "2026-01-02T03:04:05Z", "podIPs": [{ "ip": "10.0.0.1" }] },
    });
    server.create(&pod).unwrap();
    let read = async |encoding| {
        let informer = builder_of::<Pod>(server.client())
            .encoding(encoding)
            .build()
            .unwrap();
        start(&informer).await;
        let found = informer.indexer().list();
        informer.shutdown().await;
        found
    };
    let (protobuf, json) = (read(Encoding::Protobuf).await, read(Encoding::Json).await);
    assert_eq!(protobuf, json);
    let containers = &protobuf[0].spec.as_ref().unwrap().containers;
    assert_eq!(
        containers[0].security_context.as_ref().unwrap().run_as_user,
        Some(0)
    );
}

/// Starts an informer of a server on which one fault applies to the first list.
async fn with_broken_list(encoding: Encoding, fault: Fault) -> (ApiServer, SharedInformer<ConfigMap>) {
    let server = server_of(MediaTypes::All);
    server.create(&item("a", "1")).unwrap();
    server.create(&item("b", "1")).unwrap();
    server.faults().add(Rule::new(fault).once());
    let informer = builder_of(server.client())
        .initial_state(informer_core::InitialState::List)
        .encoding(encoding)
        .build()
        .unwrap();
    informer.start().unwrap();
    informer.synced_within(LONG).await.unwrap();
    (server, informer)
}

#[tokio::test(start_paused = true)]
async fn an_item_that_cannot_be_decoded_is_counted_in_both_formats() {
    for encoding in [Encoding::Protobuf, Encoding::Json] {
        for garble in [Garble::Content, Garble::Key, Garble::Null] {
            let (_server, informer) =
                with_broken_list(encoding, Fault::GarbleItem { index: 0, garble }).await;
            let counted = informer.status().scopes[0].counts.undecodable;
            assert_eq!(
                (items(&informer), counted),
                (vec!["b=1".to_owned()], 1),
                "{garble:?}"
            );
            informer.shutdown().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_ends_early_is_an_error_in_both_formats() {
    for encoding in [Encoding::Protobuf, Encoding::Json] {
        for bytes in [0, 3, 10, 60, 200] {
            let (_server, informer) = with_broken_list(encoding, Fault::TruncateList { bytes }).await;
            let errors = informer.status().scopes[0].counts.errors;
            assert_eq!((items(&informer).len(), errors), (2, 1), "{bytes} bytes");
            informer.shutdown().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_that_cannot_be_decoded_keeps_the_last_state_in_both_formats() {
    for encoding in [Encoding::Protobuf, Encoding::Json] {
        let server = server_of(MediaTypes::All);
        server.create(&item("a", "1")).unwrap();
        server.faults().add(Rule::new(Fault::GarbleEvent {
            kind: EventType::Modified,
            index: 0,
            garble: Garble::Content,
        }));
        let informer = builder_of::<ConfigMap>(server.client())
            .encoding(encoding)
            .build()
            .unwrap();
        start(&informer).await;
        server.update(&item("a", "2")).unwrap();
        server.create(&item("b", "1")).unwrap();
        settled(&informer, &server).await;
        assert_eq!(items(&informer), ["a=1", "b=1"]);
        assert_eq!(informer.status().scopes[0].counts.undecodable, 1);
        assert!(matches!(informer.status().state, State::Live));
        informer.shutdown().await;
    }
}
