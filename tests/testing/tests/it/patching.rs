//! PATCH over HTTP: content types, owners, conflicts and subresources.

use http::Method;
use informer_testing::ApiServer;
use serde_json::{Value, json};

use crate::support::{Answer, CONFIG_MAPS, call, call_with, config_map, get};

async fn patch(server: &ApiServer, uri: &str, kind: &str, body: Value) -> Answer {
    let content_type = format!("application/{kind}");
    call_with(
        server,
        Method::PATCH,
        uri,
        &[("content-type", &content_type)],
        body.to_string(),
    )
    .await
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "namespace": "default" },
        "spec": {
            "replicas": 1, "selector": { "matchLabels": { "app": "web" } },
            "template": { "spec": { "containers": [{ "name": "a", "image": "one" }, { "name": "b",
            "image": "one" }] } },
        },
    })
}

const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/default/deployments/web";

#[tokio::test(start_paused = true)]
async fn every_type_of_patch_is_applied() {
    let server = ApiServer::start();
    server.create(&deployment()).unwrap();
    let image = |answer: &Answer| answer.json()["spec"]["template"]["spec"]["containers"].clone();
    let body = json!([{ "op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "two" }]);
    let answer = patch(&server, DEPLOYMENT, "json-patch+json", body).await;
    assert_eq!(image(&answer)[0]["image"], "two");
    let body =
        json!({ "spec": { "template": { "spec": { "containers": [{ "name": "b", "image": "three" }] } } } });
    let answer = patch(&server, DEPLOYMENT, "strategic-merge-patch+json", body.clone()).await;
    assert_eq!(
        (&image(&answer)[0]["image"], &image(&answer)[1]["image"]),
        (&json!("two"), &json!("three"))
    );
    let answer = patch(&server, DEPLOYMENT, "merge-patch+json", body).await;
    assert_eq!(image(&answer).as_array().unwrap().len(), 1);
    assert_eq!(answer.json()["metadata"]["generation"], 4);
    assert_eq!(patch(&server, DEPLOYMENT, "json", json!({})).await.code, 415);
}

#[tokio::test(start_paused = true)]
async fn apply_creates_records_owners_and_refuses_conflicts() {
    let server = ApiServer::start();
    let uri = |manager: &str| format!("{CONFIG_MAPS}/a?fieldManager={manager}");
    let config = |value: &str| {
        let mut config = config_map("a");
        config["data"] = json!({ "k": value });
        config
    };
    let created = patch(&server, &uri("one"), "apply-patch+yaml", config("v")).await;
    assert_eq!(created.code, 201);
    assert_eq!(created.json()["metadata"]["managedFields"][0]["manager"], "one");
    let again = patch(&server, &uri("one"), "apply-patch+yaml", config("v")).await;
    let version = |answer: &Answer| answer.json()["metadata"]["resourceVersion"].clone();
    assert_eq!((again.code, version(&again)), (200, version(&created)));
    let refused = patch(&server, &uri("two"), "apply-patch+yaml", config("w")).await;
    assert_eq!(
        (refused.code, &refused.json()["details"]["causes"][0]["field"]),
        (409, &json!(".data.k"))
    );
    let forced = patch(
        &server,
        &format!("{}&force=true", uri("two")),
        "apply-patch+yaml",
        config("w"),
    )
    .await;
    assert_eq!((forced.code, &forced.json()["data"]["k"]), (200, &json!("w")));
    let nameless = patch(
        &server,
        &format!("{CONFIG_MAPS}/a"),
        "apply-patch+yaml",
        config("v"),
    )
    .await;
    assert_eq!(nameless.code, 422);
}

#[tokio::test(start_paused = true)]
async fn a_patch_of_the_status_changes_nothing_else() {
    let server = ApiServer::start();
    server.create(&deployment()).unwrap();
    let body = json!({ "spec": { "replicas": 9 }, "status": { "readyReplicas": 1 } });
    let answer = patch(&server, &format!("{DEPLOYMENT}/status"), "merge-patch+json", body)
        .await
        .json();
    assert_eq!(
        (&answer["spec"]["replicas"], &answer["status"]["readyReplicas"]),
        (&json!(1), &json!(1))
    );
}

#[tokio::test(start_paused = true)]
async fn a_patch_with_a_stale_version_conflicts() {
    let server = ApiServer::start();
    server.create(&config_map("a")).unwrap();
    let body = json!({ "metadata": { "resourceVersion": "1" }, "data": { "k": "v" } });
    assert_eq!(
        patch(&server, &format!("{CONFIG_MAPS}/a"), "merge-patch+json", body)
            .await
            .code,
        409
    );
}

#[tokio::test(start_paused = true)]
async fn scale_reads_and_writes_the_number_of_replicas() {
    let server = ApiServer::start();
    server.create(&deployment()).unwrap();
    let uri = format!("{DEPLOYMENT}/scale");
    let scale = get(&server, &uri).await.json();
    assert_eq!(
        (&scale["kind"], &scale["status"]["selector"]),
        (&json!("Scale"), &json!("app=web"))
    );
    let answer = patch(
        &server,
        &uri,
        "merge-patch+json",
        json!({ "spec": { "replicas": 3 } }),
    )
    .await;
    assert_eq!(answer.json()["spec"]["replicas"], 3);
    assert_eq!(get(&server, DEPLOYMENT).await.json()["spec"]["replicas"], 3);
    let mut wanted = answer.json();
    wanted["spec"]["replicas"] = 0.into();
    assert_eq!(call(&server, Method::PUT, &uri, wanted.clone()).await.code, 200);
    assert_eq!(call(&server, Method::PUT, &uri, wanted).await.code, 409);
}
