//! Custom resources and discovery.

use http::Method;
use informer_testing::ApiServer;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, PostParams};
use serde_json::{Value, json};

use crate::support::{Lines, call, call_with, get};

fn definition() -> CustomResourceDefinition {
    let version = |name: &str, storage: bool| {
        json!({
            "name": name, "served": true, "storage": storage, "subresources": { "status": {} },
            "schema": { "openAPIV3Schema": { "type": "object",
            "x-kubernetes-preserve-unknown-fields": true } },
            "selectableFields": [{ "jsonPath": ".spec.colour" }],
        })
    };
    serde_json::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "kind": "Widget", "plural": "widgets", "singular": "widget", "shortNames": ["wd"] },
            "versions": [version("v1", true), version("v1beta1", false)],
        },
    }))
    .unwrap()
}

fn widget(name: &str) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "spec": { "colour": "red" },
        "metadata": { "name": name, "namespace": "default" },
    })
}

const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

#[tokio::test(start_paused = true)]
async fn a_posted_definition_is_served_immediately_in_every_version() {
    let server = ApiServer::start();
    assert_eq!(get(&server, WIDGETS).await.code, 404);
    let definitions: Api<CustomResourceDefinition> = Api::all(server.client());
    let posted = definitions
        .create(&PostParams::default(), &definition())
        .await
        .unwrap();
    let conditions = posted.status.unwrap().conditions.unwrap();
    assert!(
        conditions
            .iter()
            .any(|condition| condition.type_ == "Established" && condition.status == "True")
    );

    assert_eq!(call(&server, Method::POST, WIDGETS, widget("w")).await.code, 201);
    let beta = get(&server, "/apis/example.com/v1beta1/namespaces/default/widgets")
        .await
        .json();
    assert_eq!(beta["items"][0]["apiVersion"], "example.com/v1beta1");
    let red = get(&server, &format!("{WIDGETS}?fieldSelector=spec.colour%3Dred"))
        .await
        .names();
    let blue = get(&server, &format!("{WIDGETS}?fieldSelector=spec.colour%3Dblue"))
        .await
        .names();
    assert_eq!((red.len(), blue.len()), (1, 0));
    let resource = ApiResource::erase::<CustomResourceDefinition>(&());
    let dynamic: Api<DynamicObject> = Api::all_with(server.client(), &resource);
    assert_eq!(dynamic.list(&Default::default()).await.unwrap().items.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn removing_a_definition_deletes_its_objects_and_closes_its_watches() {
    let server = ApiServer::builder().first_revision(6).start();
    server.create(&definition()).unwrap();
    server.create(&widget("w")).unwrap();
    let mut watch = Lines::open(&server, &format!("{WIDGETS}?watch=1&resourceVersion=12")).await;
    let definitions: Api<CustomResourceDefinition> = Api::all(server.client());
    definitions
        .delete("widgets.example.com", &DeleteParams::default())
        .await
        .unwrap();
    assert_eq!(watch.rest().await, ["DELETED w@14"]);
    assert_eq!(get(&server, WIDGETS).await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn changes_outside_metadata_and_status_increment_the_generation() {
    let server = ApiServer::start();
    server.create(&definition()).unwrap();
    let created = call(&server, Method::POST, WIDGETS, widget("w")).await.json();
    assert_eq!(created["metadata"]["generation"], 1);
    let mut changed = created.clone();
    changed["spec"]["colour"] = "blue".into();
    changed["status"] = json!({ "ready": true });
    let changed = call(&server, Method::PUT, &format!("{WIDGETS}/w"), changed)
        .await
        .json();
    assert_eq!(
        (&changed["metadata"]["generation"], &changed["status"]),
        (&json!(2), &Value::Null)
    );
    let mut status = changed.clone();
    status["status"] = json!({ "ready": true });
    let status = call(&server, Method::PUT, &format!("{WIDGETS}/w/status"), status)
        .await
        .json();
    assert_eq!(
        (&status["metadata"]["generation"], &status["status"]["ready"]),
        (&json!(2), &json!(true))
    );
}

#[tokio::test(start_paused = true)]
async fn discovery_names_built_in_and_custom_kinds_in_both_forms() {
    let server = ApiServer::start();
    server.create(&definition()).unwrap();
    let find = |list: &Value, name: &str| -> Value {
        let resources = list["resources"].as_array().unwrap();
        resources
            .iter()
            .find(|resource| resource["name"] == name)
            .cloned()
            .unwrap_or_default()
    };
    let core = get(&server, "/api/v1").await.json();
    assert_eq!(find(&core, "pods")["shortNames"], json!(["po"]));
    assert_eq!(find(&core, "pods/status")["kind"], "Pod");
    let custom = get(&server, "/apis/example.com/v1").await.json();
    assert_eq!(find(&custom, "widgets")["shortNames"], json!(["wd"]));
    let group = get(&server, "/apis/example.com").await.json();
    assert_eq!(group["preferredVersion"]["version"], "v1");

    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let aggregated = call_with(
        &server,
        Method::GET,
        "/apis",
        &[("accept", accept)],
        String::new(),
    )
    .await
    .json();
    assert_eq!(aggregated["kind"], "APIGroupDiscoveryList");
    let groups = aggregated["items"].as_array().unwrap();
    let ours = groups
        .iter()
        .find(|group| group["metadata"]["name"] == "example.com")
        .expect("our group");
    assert_eq!(ours["versions"][0]["resources"][0]["resource"], "widgets");
}

#[tokio::test(start_paused = true)]
async fn version_health_and_unknown_paths_answer_as_upstream() {
    let server = ApiServer::start();
    assert_eq!(server.client().apiserver_version().await.unwrap().minor, "37");
    for page in ["/healthz", "/livez", "/readyz"] {
        assert_eq!(&get(&server, page).await.bytes[..], b"ok");
    }
    assert_eq!(get(&server, "/nope").await.code, 404);
}
