//! A server whose error responses and broken objects contain Secrets.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use informer_core::source::Encoding;
use informer_core::{InitialState, SharedInformer};
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use crate::surfaces::Surfaces;
use crate::{CANARY, secret};

type Answers = Arc<Mutex<VecDeque<(u16, String)>>>;

/// A client whose lists and watches are answered in turn. The last list is repeated; watches fail then.
fn client(lists: Vec<(u16, String)>, watches: Vec<(u16, String)>) -> (Client, [Answers; 2]) {
    let answers = [lists, watches].map(|answers| Arc::new(Mutex::new(VecDeque::from(answers))));
    let [lists, watches] = answers.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let is_watch = request
            .uri()
            .query()
            .is_some_and(|query| query.contains("watch="));
        let mut queue = if is_watch { &watches } else { &lists }.lock().unwrap();
        let (code, body) = match (is_watch, queue.len()) {
            (_, 0) => (503, String::new()),
            (false, 1) => queue[0].clone(),
            _ => queue.pop_front().unwrap(),
        };
        drop(queue);
        let response = Response::builder()
            .status(code)
            .header("content-type", "application/json")
            .body(Body::from(body.into_bytes()));
        std::future::ready(Ok::<_, std::io::Error>(response.unwrap()))
    });
    (Client::new(service, "default"), answers)
}

fn event(kind: &str, object: &Value) -> String {
    format!("{}\n", json!({"type": kind, "object": object}))
}

/// A Secret at a version, with one field replaced by the canary where another type is expected.
fn broken(name: &str, version: &str, pointer: &str) -> Value {
    let mut object = secret(name);
    object["metadata"]["resourceVersion"] = json!(version);
    object["metadata"]["labels"] = json!({});
    *object.pointer_mut(pointer).unwrap() = json!(CANARY);
    object
}

#[tokio::test(start_paused = true)]
async fn error_responses_and_undecodable_objects() {
    let surfaces = Surfaces::begin();
    let list = json!({
        "apiVersion": "v1", "kind": "SecretList", "metadata": {"resourceVersion": "10"},
        "items": [
            broken("data", "1", "/data"),
            broken("labels", "2", "/metadata/labels"),
            broken("value", "3", "/data/password"),
            broken("annotations", "4", "/metadata/annotations"),
            {"apiVersion": "v1", "kind": "Secret", "metadata": CANARY},
            {"apiVersion": CANARY, "kind": CANARY, "metadata": {"name": "other", "namespace": "default"}},
        ],
    });
    let echo = secret("echoed").to_string();
    let lists = vec![
        (500, echo.clone()),
        (400, format!("[{echo}]")),
        (200, echo.clone()),
        (200, format!("{{\"items\": [{echo}, {CANARY}]}}")),
        (200, list.to_string()),
    ];
    let watches = vec![
        (500, format!("\n {echo}")),
        (200, event("ADDED", &broken("late", "11", "/data"))),
        (200, event("MODIFIED", &broken("late", "12", "/metadata/labels"))),
        (200, event("ADDED", &json!(CANARY))),
        (200, event(CANARY, &secret("unknown"))),
        (200, event("ERROR", &secret("error"))),
        (200, format!("{{\"type\": \"ADDED\", \"object\": {CANARY}\n")),
        (200, event("DELETED", &broken("late", "13", "/data"))),
    ];
    let (client, answers) = client(lists, watches);
    let informer = SharedInformer::<Secret>::builder(client)
        .initial_state(InitialState::List)
        .encoding(Encoding::Json)
        .on_watch_error({
            let texts = surfaces.clone();
            move |scope, error| {
                texts.debug("scope", scope);
                texts.error("watch error", error);
                panic!("quotes {CANARY}")
            }
        })
        .build()
        .unwrap();
    informer.start().unwrap();
    for _ in 0..200 {
        tokio::time::sleep(Duration::from_secs(5)).await;
        surfaces.informer(&informer);
        if answers[1].lock().unwrap().is_empty() {
            break;
        }
    }
    for (what, queue, left) in [("lists", &answers[0], 1), ("watches", &answers[1], 0)] {
        assert_eq!(
            queue.lock().unwrap().len(),
            left,
            "{what} that were not requested"
        );
    }
    let status = informer.status();
    assert!(status.scopes[0].counts.undecodable >= 6, "{status:?}");
    assert!(!status.stale.is_empty(), "{status:?}");
    let error = informer.synced_within(Duration::from_secs(1)).await;
    surfaces.debug("synced", &error);
    informer.shutdown().await;
    surfaces.informer(&informer);
    surfaces.check();
}
