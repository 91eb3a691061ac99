//! Informers that read less than whole objects of one type: metadata only, some fields only, and kinds known
//! at run time only.

use informer_core::{ResourceVersion, SharedInformer};
use informer_it::recorder::{Recorder, version_of};
use informers::{Informer, Projection, SharedInformerFactory};
use k8s_openapi::api::core::v1::{ConfigMap, Service, ServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{ApiResource, DynamicObject, PartialObjectMeta, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;

use crate::support::{BOUND, Room, agree, eventually, shared, start};
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
    let (recorder, _) = Recorder::of(&informer).unwrap();
    start(&informer).await;
    let changed = room.update("a", "small").await;
    room.create("b", "1").await;
    room.delete("b").await;
    eventually(async || match recorder.summary() {
        words if words == ["initial a", "update a", "add b", "delete b"] => Ok(()),
        words => Err(format!("{words:?}")),
    })
    .await;
    let cached = informer.indexer().list();
    assert_eq!(version_of(&*cached[0]), version_of(&changed));
    assert_eq!(recorder.final_state().unwrap().len(), 1);
    // Metadata was requested, and nothing else was sent.
    let is_partial = |seen: &Seen| seen.accept.contains("as=PartialObjectMetadata");
    assert!(tap.seen().iter().all(is_partial), "{:?}", tap.seen());
    let kind = cached[0].types.as_ref().map(|types| types.kind.as_str());
    assert_eq!(kind, Some("PartialObjectMetadata"));
    informer.shutdown().await;
}

/// What the server itself adds to a Service, under JSON names that are not plain camelCase.
#[derive(Informer)]
#[informer(of = Service, accessor = "service_addresses", index(name = "address", by = "spec.cluster_ip"))]
struct ServiceAddress {
    metadata: ObjectMeta,
    spec: Option<Address>,
}

#[derive(Projection)]
#[projection(of = ServiceSpec)]
struct Address {
    cluster_ip: Option<String>,
    cluster_ips: Option<Vec<String>>,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_projection_reads_the_fields_it_names_beside_the_whole_kind() {
    let room = Room::new(shared().await, "projection").await;
    let service = json!({ "metadata": { "name": "a" }, "spec": { "ports": [{ "port": 80 }] } });
    let services: Api<Service> = Api::namespaced(room.client(), &room.name);
    let made = serde_json::from_value(service).unwrap();
    let made = services.create(&PostParams::default(), &made).await.unwrap();
    let given = made.spec.as_ref().and_then(|spec| spec.cluster_ip.clone());
    let given = given.expect("the server gives it an address");

    let factory = SharedInformerFactory::builder(room.client())
        .namespaces([&room.name])
        .build()
        .unwrap();
    let (slim, whole) = (factory.service_addresses(), factory.core().v1().services());
    let by_address = slim.by_address().unwrap();
    let lister = whole.lister();
    factory.start();
    factory.wait_for_sync_within(BOUND).await.unwrap();
    let version = ResourceVersion::new(&version_of(&made));
    slim.informer().wait_until_within(&version, BOUND).await.unwrap();
    whole.informer().wait_until_within(&version, BOUND).await.unwrap();

    let found = by_address.get(&given);
    assert_eq!(found.len(), 1);
    let address = found[0].spec.as_ref().unwrap();
    assert_eq!(found[0].metadata.uid, made.metadata.uid);
    assert_eq!(address.cluster_ip.as_ref(), Some(&given));
    assert_eq!(address.cluster_ips.as_deref(), Some(&[given][..]));
    assert!(lister.services(&room.name).get("a").is_some());
    factory.shutdown().await;
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
    let (recorder, _) = Recorder::of(&informer).unwrap();
    start(&informer).await;
    room.update("a", "2").await;
    let server: Api<DynamicObject> = Api::namespaced_with(room.client(), &room.name, &kind);
    agree(&informer, &recorder, &server).await;
    let cached = informer.indexer().list();
    assert_eq!(cached[0].name_any(), "a");
    assert_eq!(cached[0].data["data"]["value"], "2");
    assert_eq!(
        cached[0].types.as_ref().map(|types| types.kind.as_str()),
        Some("ConfigMap")
    );
    informer.shutdown().await;
}
