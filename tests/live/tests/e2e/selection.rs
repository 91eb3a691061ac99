//! The selection of objects: by labels, fields and namespace.

use informer_core::source::SourceError;
use informer_core::{Object, SharedInformer, WatchListVerdict};
use informer_it::recorder::Recorder;
use informer_live::WatchList;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::support::{Room, agree, eventually, shared, start, until, visible, watch_list};

/// The keys in the cache, in order.
fn names<K: Object>(informer: &SharedInformer<K>) -> Vec<String> {
    let keys = informer.indexer().keys();
    keys.iter().map(|key| key.name().to_owned()).collect()
}

/// Waits until exactly these are in the cache.
async fn hold<K: Object>(informer: &SharedInformer<K>, wanted: &[&str]) {
    eventually(async || match names(informer) {
        names if names == wanted => Ok(()),
        names => Err(format!("{names:?}, not {wanted:?}")),
    })
    .await;
}

async fn patch(items: &Api<ConfigMap>, name: &str, patch: Value) {
    let patch = Patch::Merge(patch);
    let changed = items.patch(name, &PatchParams::default(), &patch).await.unwrap();
    visible(items, &changed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_whose_labels_change_comes_and_goes() {
    let room = Room::new(shared().await, "labels").await;
    let items = room.items();
    for name in ["a", "b", "c"] {
        room.create(name, "1").await;
    }
    patch(&items, "a", json!({"metadata": {"labels": {"tier": "front"}}})).await;
    patch(&items, "b", json!({"metadata": {"labels": {"tier": "back"}}})).await;
    let informer = SharedInformer::<ConfigMap>::builder(room.client())
        .namespace(&room.name)
        .labels("tier in (front, middle), !hidden")
        .build()
        .unwrap();
    let (recorder, _) = Recorder::of(&informer).unwrap();
    start(&informer).await;
    assert_eq!(names(&informer), ["a"]);

    patch(&items, "b", json!({"metadata": {"labels": {"tier": "middle"}}})).await;
    hold(&informer, &["a", "b"]).await;
    patch(&items, "a", json!({"metadata": {"labels": {"hidden": "yes"}}})).await;
    hold(&informer, &["b"]).await;
    // A handler is called after the change is in the cache.
    eventually(async || {
        let seen = recorder.summary();
        match seen == ["initial a", "add b", "delete a"] {
            true => Ok(()),
            false => Err(format!("the handler received {seen:?}")),
        }
    })
    .await;
    informer.shutdown().await;
}

fn pod(name: &str, node: Option<&str>) -> Pod {
    let object = json!({
        "metadata": {"name": name},
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "none"}]},
    });
    serde_json::from_value(object).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_of_one_node_are_found_by_field() {
    let room = Room::new(shared().await, "fields").await;
    let pods: Api<Pod> = Api::namespaced(room.client(), &room.name);
    let new = PostParams::default();
    for (name, node) in [("a", Some("node-1")), ("b", Some("node-2")), ("c", None)] {
        let made = pods.create(&new, &pod(name, node)).await.unwrap();
        visible(&pods, &made).await;
    }
    let informer = SharedInformer::<Pod>::builder(room.client())
        .namespace(&room.name)
        .fields("spec.nodeName=node-1")
        .build()
        .unwrap();
    let (recorder, _) = Recorder::of(&informer).unwrap();
    start(&informer).await;
    assert_eq!(names(&informer), ["a"]);

    // A pod gets its node once, by the subresource that schedulers use.
    let binding = json!({"metadata": {"name": "c"}, "target": {"kind": "Node", "name": "node-1"}});
    let _: Value = pods
        .create_subresource("binding", "c", &new, &binding)
        .await
        .unwrap();
    hold(&informer, &["a", "c"]).await;
    pods.delete("a", &DeleteParams::default().grace_period(0))
        .await
        .unwrap();
    hold(&informer, &["c"]).await;
    // A pod on a node is first marked, then deleted, even if it is given no time.
    eventually(async || match recorder.summary() {
        words if words == ["initial a", "add c", "update a", "delete a"] => Ok(()),
        words => Err(format!("{words:?}")),
    })
    .await;
    informer.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_object_is_followed_by_its_name() {
    let room = Room::new(shared().await, "name").await;
    room.create("other", "1").await;
    let informer = SharedInformer::<ConfigMap>::builder(room.client())
        .namespace(&room.name)
        .fields("metadata.name=mine")
        .build()
        .unwrap();
    let (recorder, _) = Recorder::of(&informer).unwrap();
    start(&informer).await;
    assert_eq!(names(&informer), [""; 0]);
    room.create("mine", "1").await;
    room.update("other", "2").await;
    room.update("mine", "2").await;
    room.delete("mine").await;
    // The same name again is another object.
    room.create("mine", "3").await;
    hold(&informer, &["mine"]).await;
    eventually(async || match recorder.summary() {
        words if words == ["add mine", "update mine", "delete mine", "add mine"] => Ok(()),
        words => Err(format!("{words:?}")),
    })
    .await;
    recorder.final_state().unwrap();
    informer.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_namespaces_are_one_cache() {
    let cluster = shared().await;
    let (web, db) = (Room::new(cluster, "web").await, Room::new(cluster, "db").await);
    let elsewhere = Room::new(cluster, "elsewhere").await;
    for room in [&web, &db, &elsewhere] {
        room.create("a", "1").await;
    }
    let informer = SharedInformer::<ConfigMap>::builder(cluster.client())
        .namespaces([&web.name, &db.name])
        .build()
        .unwrap();
    let (recorder, _) = Recorder::of(&informer).unwrap();
    start(&informer).await;
    assert_eq!(informer.indexer().len(), 2);

    web.create("b", "1").await;
    db.delete("a").await;
    elsewhere.update("a", "2").await;
    eventually(async || {
        let mut there = 0;
        for room in [&web, &db] {
            there += room
                .items()
                .list(&ListParams::default())
                .await
                .unwrap()
                .items
                .len();
            let ours = informer.indexer().len_namespace(&room.name);
            let theirs = room
                .items()
                .list(&ListParams::default())
                .await
                .unwrap()
                .items
                .len();
            if ours != theirs {
                return Err(format!("{ours} of {theirs} in {}", room.name));
            }
        }
        assert_eq!(there, 2);
        Ok(())
    })
    .await;
    assert_eq!(recorder.final_state().unwrap().len(), 2);
    assert_eq!(
        informer.indexer().versions().iter().count(),
        2,
        "each namespace has its own version"
    );
    informer.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_is_deleted_takes_its_objects_along() {
    let room = Room::new(shared().await, "gone").await;
    for name in ["a", "b", "c"] {
        room.create(name, "1").await;
    }
    let informer = SharedInformer::<ConfigMap>::builder(room.client())
        .namespace(&room.name)
        .build()
        .unwrap();
    let (recorder, _) = Recorder::of(&informer).unwrap();
    start(&informer).await;
    // There is no controller here that empties namespaces, so this does what it does.
    let all = ListParams::default();
    room.items()
        .delete_collection(&DeleteParams::default(), &all)
        .await
        .unwrap();
    hold(&informer, &[]).await;
    agree(&informer, &recorder, &room.items()).await;
    informer.shutdown().await;
}

/// The server answers 400 whether the state is streamed or listed, so the answer is no verdict on streaming.
#[tokio::test(flavor = "multi_thread")]
async fn a_bad_field_selector_is_no_refusal_of_streaming() {
    let room = Room::new(shared().await, "unknown-field").await;
    let informer = SharedInformer::<ConfigMap>::builder(room.client())
        .namespace(&room.name)
        .fields("spec.nothing=1")
        .build()
        .unwrap();
    informer.start().unwrap();
    until(&informer, "refused with 400 several times", |status| {
        let last = status.scopes[0].last_error.as_ref();
        last.is_some_and(|last| {
            last.count > 2 && matches!(&last.error, SourceError::Status { status } if status.code == 400)
        })
    })
    .await;
    let verdict = informer.status().scopes[0].watch_list.clone();
    if watch_list() == WatchList::On {
        assert!(!matches!(verdict, WatchListVerdict::Refused(_)), "{verdict:?}");
    }
    assert!(!informer.has_synced());
    informer.shutdown().await;
}
