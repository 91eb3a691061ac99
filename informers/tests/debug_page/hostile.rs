//! Names and messages from a hostile server, and from a program that does not check its own.

use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http::{Request, Response};
use http_body_util::{Either, Full, StreamBody};
use informers::{Event, HandlerOptions, InitialState, SharedInformerFactory, debug};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::client::Body;
use serde_json::{Value, json};

use crate::support::{everything, get_json};

/// Texts that would run a script if they became markup.
pub(crate) const ATTACKS: [&str; 5] = [
    "<script>window.owned=1</script>",
    "\"><img src=x onerror=\"window.owned=1\">",
    "'><svg/onload=window.owned=1>",
    "</title></main><script>window.owned=1</script>",
    "javascript:window.owned=1//{{main}}",
];

/// A body that stays open, as that of a watch.
type Open = StreamBody<stream::Pending<Result<hyper::body::Frame<Bytes>, std::io::Error>>>;

/// A client of a server that has a ConfigMap of each attack's name, and refuses Secrets with all of them.
fn client() -> kube::Client {
    let service = tower::service_fn(|request: Request<Body>| async move {
        let is_watch = request.uri().query().unwrap_or_default().contains("watch=");
        let answer = Response::builder().header("content-type", "application/json");
        let whole = |body: Value| Either::<Full<Bytes>, Open>::Left(Full::from(body.to_string()));
        if request.uri().path().contains("secrets") {
            let status = json!({
                "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 403,
                "reason": ATTACKS[0], "message": ATTACKS.concat(),
            });
            return answer.status(403).body(whole(status));
        }
        if is_watch {
            return answer.body(Either::Right(StreamBody::new(stream::pending())));
        }
        let items: Vec<_> = ATTACKS
            .iter()
            .map(|attack| {
                json!({ "metadata": {
                    "namespace": attack, "name": attack, "uid": attack, "resourceVersion": "5",
                } })
            })
            .collect();
        answer.body(whole(json!({
            "apiVersion": "v1", "kind": "ConfigMapList",
            "metadata": { "resourceVersion": "5" }, "items": items,
        })))
    });
    kube::Client::new(service, "default")
}

/// A factory that watches that server, with handlers and indexes of such names.
pub(crate) async fn factory() -> SharedInformerFactory {
    let builder = SharedInformerFactory::builder(client()).initial_state(InitialState::List);
    let factory = builder.build().unwrap();
    let config_maps = factory.core().v1().config_maps().informer();
    for attack in ATTACKS {
        let options = HandlerOptions::default().name(attack);
        config_maps
            .add_handler_with(options, |_: Event<ConfigMap>| {})
            .unwrap();
        let name = |map: &ConfigMap| map.metadata.name.clone();
        config_maps.add_index(attack, name).unwrap();
    }
    factory.core().v1().secrets().informer();
    factory.start();
    config_maps.synced_within(Duration::from_secs(60)).await.unwrap();
    factory
}

#[tokio::test(start_paused = true)]
async fn hostile_texts_do_not_become_markup() {
    let factory = factory().await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let router = debug::router(&factory);
    let shown = get_json(&router, "/informers.json").await;
    assert_eq!(shown["informers"][0]["objects"], 5, "{shown:#}");
    assert_eq!(shown["informers"][1]["state"]["name"], "forbidden", "{shown:#}");
    let texts = everything(&router, &["configmaps", "secrets"], &[]).await;
    let pages: Vec<_> = texts
        .iter()
        .filter(|text| text.starts_with("<!doctype html>"))
        .collect();
    assert_eq!(pages.len(), 3);
    for page in &pages {
        // The frame has one script and one title.
        assert_eq!(page.matches("<script").count(), 1, "{page}");
        assert_eq!(
            page.matches("</title>").count(),
            1 + page.matches("<svg").count(),
            "{page}"
        );
        assert!(!page.contains("<img"), "{page}");
        assert!(!page.contains("<svg/"), "{page}");
        assert!(!page.contains("href=\"javascript"), "{page}");
    }
    // They are shown, as text.
    let text = "&lt;script&gt;window.owned=1&lt;/script&gt;";
    assert!(pages.iter().all(|page| page.contains(text)), "{pages:#?}");
    // A page about something that does not exist names it.
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("informer", ATTACKS[0])
        .finish();
    let missing = crate::support::ask(&router, "GET", &format!("/?{query}")).await;
    assert!(missing.body().contains(text), "{}", missing.body());
}
