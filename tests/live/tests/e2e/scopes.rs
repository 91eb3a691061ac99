//! Namespaces and selectors that change while an informer runs, and one that is paused.

use informer_core::source::ListOptions;
use informer_core::{SharedInformer, State};
use informer_it::recorder::Recorder;
use informers::SharedInformerFactory;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::support::{BOUND, Room, agree, eventually, shared, short_waits, start, until};

fn names(informer: &SharedInformer<ConfigMap>) -> Vec<String> {
    let objects = informer.indexer().list();
    let names = objects.iter().filter_map(|object| object.metadata.name.clone());
    // The server puts this one into every namespace.
    let mut names: Vec<String> = names.filter(|name| name != "kube-root-ca.crt").collect();
    names.sort();
    names
}

async fn shows(informer: &SharedInformer<ConfigMap>, expected: &[&str]) {
    eventually(async || match names(informer) {
        shown if shown == expected => Ok(()),
        shown => Err(format!("{shown:?} instead of {expected:?}")),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn namespaces_come_and_go_while_an_informer_runs() {
    let cluster = shared().await;
    let (first, second) = (
        Room::new(cluster, "scopes-a").await,
        Room::new(cluster, "scopes-b").await,
    );
    first.create("a", "1").await;
    second.create("b", "1").await;
    let informer = SharedInformer::<ConfigMap>::builder(first.client())
        .namespace(first.name.as_str())
        .reflector(|_| short_waits())
        .build()
        .unwrap();
    let (received, _registration) = Recorder::of(&informer).unwrap();
    start(&informer).await;

    informer.add_namespace(&second.name).unwrap();
    tokio::time::timeout(BOUND, informer.settled())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(names(&informer), ["a", "b"]);
    until(&informer, "live in both", |status| {
        status.scopes.len() == 2 && matches!(status.state, State::Live)
    })
    .await;
    second.update("b", "2").await;

    informer.pause();
    until(&informer, "paused", |status| {
        matches!(status.state, State::Paused)
    })
    .await;
    second.create("c", "1").await;
    first.delete("a").await;
    informer.remove_namespace(&first.name).unwrap();
    informer.resume();
    // Only the second namespace is left, with what was written meanwhile.
    agree(&informer, &received, &second.items()).await;
    informer.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_selectors_deliver_the_difference() {
    let room = Room::new(shared().await, "reselected").await;
    for name in ["a", "b", "c"] {
        room.create(name, "1").await;
    }
    let label = Patch::Merge(json!({"metadata": {"labels": {"tier": "front"}}}));
    for name in ["a", "b"] {
        room.items()
            .patch(name, &PatchParams::default(), &label)
            .await
            .unwrap();
    }
    let informer = SharedInformer::<ConfigMap>::builder(room.client())
        .namespace(room.name.as_str())
        .labels("tier=front")
        .reflector(|_| short_waits())
        .build()
        .unwrap();
    let (received, _registration) = Recorder::of(&informer).unwrap();
    start(&informer).await;
    shows(&informer, &["a", "b"]).await;
    informer
        .change_list_options(|options| options.labels("").fields("metadata.name!=a"))
        .unwrap();
    tokio::time::timeout(BOUND, informer.settled())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(names(&informer), ["b", "c"]);
    informer.change_list_options(|_| ListOptions::default()).unwrap();
    agree(&informer, &received, &room.items()).await;
    informer.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_factory_follows_namespaces_by_their_label() {
    let cluster = shared().await;
    let (first, second) = (
        Room::new(cluster, "followed-a").await,
        Room::new(cluster, "followed-b").await,
    );
    first.create("a", "1").await;
    second.create("b", "1").await;
    let namespaces: Api<Namespace> = Api::all(first.client());
    let label = async |name: &str, value: serde_json::Value| {
        let patch = Patch::Merge(json!({"metadata": {"labels": {"live-follow": value}}}));
        namespaces
            .patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    };
    label(&first.name, json!("yes")).await;
    let factory = SharedInformerFactory::builder(first.client())
        .namespaces_by_label("live-follow=yes")
        .reflector(|_| short_waits())
        .build()
        .unwrap();
    let informer = factory.informer_for::<ConfigMap>();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    assert_eq!(names(&informer), ["a"]);
    label(&second.name, json!("yes")).await;
    shows(&informer, &["a", "b"]).await;
    label(&first.name, serde_json::Value::Null).await;
    shows(&informer, &["b"]).await;
    factory.shutdown().await;
}
