//! Objects that are nested deeper than a decoder may follow: the server accepts 10,000 levels where the
//! schema allows any value.

use http::Request;
use informer_core::SharedInformer;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::json;

use crate::support::{Room, eventually, shared, start};

/// Any value is accepted below the spec.
async fn define(room: &Room) {
    let definition = json!({
        "metadata": {"name": "abysses.live.example.com"},
        "spec": {
            "group": "live.example.com",
            "scope": "Namespaced",
            "names": {"plural": "abysses", "kind": "Abyss"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                }}},
            }],
        },
    });
    let definition: CustomResourceDefinition = serde_json::from_value(definition).unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(room.client());
    definitions
        .create(&PostParams::default(), &definition)
        .await
        .unwrap();
}

/// Creates an object with this many levels. Sent and answered as text, because kube cannot decode the answer.
async fn create(room: &Room, name: &str, levels: usize) {
    let nested = format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
    let body = format!(
        r#"{{"apiVersion":"live.example.com/v1","kind":"Abyss",
            "metadata":{{"name":"{name}"}},"spec":{nested}}}"#
    );
    let path = format!("/apis/live.example.com/v1/namespaces/{}/abysses", room.name);
    // The definition may not be served yet.
    eventually(async || {
        let request = Request::post(&path)
            .header("content-type", "application/json")
            .body(body.clone().into_bytes());
        let answer = room.client().request_text(request.unwrap()).await;
        answer.map(|_| ()).map_err(|error| error.to_string())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_nested_too_deep_is_counted_and_stops_nothing() {
    let room = Room::new(shared().await, "deep").await;
    define(&room).await;
    create(&room, "plain", 1).await;
    create(&room, "nested", 50).await;
    create(&room, "deep", 2_000).await;
    create(&room, "deeper", 9_000).await;
    let kind = GroupVersionKind::gvk("live.example.com", "v1", "Abyss");
    let kind = ApiResource::from_gvk_with_plural(&kind, "abysses");
    let informer = SharedInformer::<DynamicObject>::builder_with(room.client(), kind)
        .namespace(&room.name)
        .build()
        .unwrap();
    start(&informer).await;
    let names = || -> Vec<String> {
        let keys = informer.indexer().keys();
        keys.iter().map(|key| key.name().to_owned()).collect()
    };
    let undecodable = || informer.status().scopes[0].counts.undecodable;
    // A list from the server's cache may miss the last writes; the watch delivers those.
    let shows = async |names_wanted: &[&str], undecodable_wanted: u64| {
        eventually(async || match (names(), undecodable()) {
            (names, count) if names == names_wanted && count >= undecodable_wanted => Ok(()),
            (names, count) => Err(format!(
                "{names:?}, {count} undecodable: {:#?}",
                informer.status()
            )),
        })
        .await;
    };
    shows(&["nested", "plain"], 2).await;

    // The same in the watch.
    let before = undecodable();
    create(&room, "deepest", 9_000).await;
    create(&room, "late", 1).await;
    shows(&["late", "nested", "plain"], before + 1).await;
    informer.shutdown().await;
}
