//! Informers that read less than whole objects of one type: metadata only, and kinds known at run time only.

use informer_core::SharedInformer;
use informer_live::{Story, version_of};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, DynamicObject, PartialObjectMeta};
use kube::{Api, ResourceExt as _};

use crate::support::{Room, agree, eventually, shared, start};
use crate::tap::{Seen, Tap};

#[tokio::test(flavor = "multi_thread")]
async fn metadata_alone_is_followed_like_the_whole() {
    let room = Room::new(shared().await, "metadata").await;
    room.create("a", &"x".repeat(10_000)).await;
    let tap = Tap::default();
    let informer = SharedInformer::<PartialObjectMeta<ConfigMap>>::builder(tap.on(room.client()))
        .namespace(&room.name)
        .build()
        .unwrap();
    let (story, _) = Story::of(&informer).unwrap();
    start(&informer).await;
    let changed = room.update("a", "small").await;
    room.create("b", "1").await;
    room.delete("b").await;
    eventually(async || match story.words() {
        words if words == ["initial a", "update a", "add b", "delete b"] => Ok(()),
        words => Err(format!("{words:?}")),
    })
    .await;
    let cached = informer.indexer().list();
    assert_eq!(version_of(&*cached[0]), version_of(&changed));
    assert_eq!(story.believed().unwrap().len(), 1);
    // The server was asked for metadata, and sent nothing else.
    let is_partial = |seen: &Seen| seen.accept.contains("as=PartialObjectMetadata");
    assert!(tap.seen().iter().all(is_partial), "{:?}", tap.seen());
    let kind = cached[0].types.as_ref().map(|types| types.kind.as_str());
    assert_eq!(kind, Some("PartialObjectMetadata"));
    informer.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_known_at_run_time_is_followed_like_a_type() {
    let room = Room::new(shared().await, "dynamic").await;
    room.create("a", "1").await;
    let kind = ApiResource::erase::<ConfigMap>(&());
    let informer = SharedInformer::<DynamicObject>::builder_with(room.client(), kind.clone())
        .namespace(&room.name)
        .build()
        .unwrap();
    let (story, _) = Story::of(&informer).unwrap();
    start(&informer).await;
    room.update("a", "2").await;
    let server: Api<DynamicObject> = Api::namespaced_with(room.client(), &room.name, &kind);
    agree(&informer, &story, &server).await;
    let cached = informer.indexer().list();
    assert_eq!(cached[0].name_any(), "a");
    assert_eq!(cached[0].data["data"]["value"], "2");
    assert_eq!(
        cached[0].types.as_ref().map(|types| types.kind.as_str()),
        Some("ConfigMap")
    );
    informer.shutdown().await;
}
