//! Packed storage of whole informers. `INFORMER_IT_STORAGE=packed` runs all other tests with it as well.

use std::sync::Arc;

use informer_core::{ObjectKey, SharedInformer, Storage};
use informers::SharedInformerFactory;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};

use crate::support::{LONG, Recorder, item, items, pod, server_with, settled, start, value};

#[tokio::test(start_paused = true)]
async fn a_packed_informer_delivers_and_shows_what_a_decoded_one_does() {
    for hot_objects in [0, 1, 256] {
        let server = server_with(&["a", "b"]);
        let informer = SharedInformer::<ConfigMap>::builder(server.client())
            .storage(Storage::Packed { hot_objects })
            .build()
            .unwrap();
        let by_value = informer
            .add_index("value", |object: &ConfigMap| vec![value(object).to_owned()])
            .unwrap();
        let received = Recorder::new();
        received.add_to(&informer);
        start(&informer).await;
        server.update(&item("a", "2")).unwrap();
        server.delete(&item("b", "1")).unwrap();
        server.create(&item("c", "2")).unwrap();
        settled(&informer, &server).await;
        assert_eq!(
            received.take(),
            ["initial a", "initial b", "update a", "delete b", "add c"]
        );
        assert_eq!(items(&informer), ["a=2", "c=2"]);
        assert_eq!(by_value.get("2").len(), 2);
        informer.shutdown().await;
    }
}

/// All holders of an object share it with every reader, whatever the storage is.
#[tokio::test(start_paused = true)]
async fn readers_of_a_packed_object_share_it_while_one_holds_it() {
    let server = server_with(&["a"]);
    let informer = SharedInformer::<ConfigMap>::builder(server.client())
        .storage(Storage::Packed { hot_objects: 0 })
        .build()
        .unwrap();
    start(&informer).await;
    let (indexer, key) = (informer.indexer(), ObjectKey::namespaced("default", "a"));
    let held = indexer.get(&key).unwrap();
    assert!(Arc::ptr_eq(&held, &indexer.list()[0]));
    assert!(Arc::ptr_eq(&held, &indexer.snapshot().peek(&key).unwrap()));
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_factory_packs_the_kinds_it_is_told_to() {
    let server = server_with(&["a"]);
    server.create(&pod("web", "node-1")).unwrap();
    let factory = SharedInformerFactory::builder(server.client())
        .kind::<Pod>(|pods| pods.storage(Storage::packed()).label_index("app"))
        .build()
        .unwrap();
    let (pods, settings) = (factory.informer_for::<Pod>(), factory.informer_for::<ConfigMap>());
    factory.start();
    factory.wait_for_sync_within(LONG).await.unwrap();
    let node = pods.indexer().list()[0].spec.clone().unwrap().node_name;
    assert_eq!(node.as_deref(), Some("node-1"));
    assert_eq!(settings.indexer().len(), 1);
    factory.shutdown().await;
}
