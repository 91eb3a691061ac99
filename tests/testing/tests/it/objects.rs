//! Create, read, update and delete, and the errors of the server.

use http::Method;
use informer_testing::{ApiServer, Clock};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use serde_json::{Value, json};

use crate::support::{CONFIG_MAPS, call, call_with, check_refused, config_map, get};

fn parse<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_created_object_gets_server_fields_and_can_be_read_back() {
    let server = ApiServer::builder()
        .clock(Clock::Fixed(Timestamp::UNIX_EPOCH))
        .start();
    let api: Api<ConfigMap> = Api::default_namespaced(server.client());
    let created = api
        .create(&PostParams::default(), &parse(config_map("a")))
        .await
        .unwrap();
    assert_eq!(created.metadata.resource_version, Some(server.resource_version()));
    assert_eq!(created.metadata.uid.as_ref().map(String::len), Some(36));
    assert_eq!(
        created.metadata.creation_timestamp.as_ref().unwrap().0,
        Timestamp::UNIX_EPOCH
    );
    assert_eq!(api.get("a").await.unwrap(), created);
    assert_eq!(server.objects::<ConfigMap>(), [created]);
}

#[tokio::test(start_paused = true)]
async fn refusals_use_the_messages_of_the_real_server() {
    let server = ApiServer::start();
    server.create(&parse::<ConfigMap>(config_map("a"))).unwrap();
    let message = "configmaps \"a\" already exists";
    check_refused(&server, Method::POST, CONFIG_MAPS, config_map("a"), 409, message).await;
    let message = "namespaces \"nope\" not found";
    let mut elsewhere = config_map("a");
    elsewhere["metadata"]["namespace"] = "nope".into();
    check_refused(
        &server,
        Method::POST,
        "/api/v1/namespaces/nope/configmaps",
        elsewhere,
        404,
        message,
    )
    .await;
    let uri = format!("{CONFIG_MAPS}/zz");
    check_refused(
        &server,
        Method::GET,
        &uri,
        Value::Null,
        404,
        "configmaps \"zz\" not found",
    )
    .await;
    let message = "the server could not find the requested resource";
    check_refused(&server, Method::GET, "/api/v1/nopes", Value::Null, 404, message).await;
    let mut other = config_map("a");
    other["metadata"]["resourceVersion"] = "1".into();
    let message = "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please \
        apply your changes to the latest version and try again";
    check_refused(
        &server,
        Method::PUT,
        &format!("{CONFIG_MAPS}/a"),
        other,
        409,
        message,
    )
    .await;
    let message =
        "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required";
    check_refused(
        &server,
        Method::POST,
        CONFIG_MAPS,
        json!({ "metadata": {} }),
        422,
        message,
    )
    .await;
    let message = "the name of the object (b) does not match the name on the URL (a)";
    check_refused(
        &server,
        Method::PUT,
        &format!("{CONFIG_MAPS}/a"),
        config_map("b"),
        400,
        message,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_update_without_changes_keeps_the_version() {
    let server = ApiServer::start();
    let api: Api<ConfigMap> = Api::default_namespaced(server.client());
    let created = api
        .create(&PostParams::default(), &parse(config_map("a")))
        .await
        .unwrap();
    let same = api.replace("a", &PostParams::default(), &created).await.unwrap();
    assert_eq!(same.metadata.resource_version, created.metadata.resource_version);
    let mut changed = created.clone();
    changed.data = Some([("k".to_owned(), "v".to_owned())].into());
    let changed = api.replace("a", &PostParams::default(), &changed).await.unwrap();
    assert_ne!(
        changed.metadata.resource_version,
        created.metadata.resource_version
    );
    assert_eq!(changed.metadata.uid, created.metadata.uid);
}

/// A write without changes, some time after the creation.
#[tokio::test(start_paused = true)]
async fn a_late_write_without_changes_keeps_version_and_times() {
    let server = ApiServer::builder()
        .clock(Clock::Tokio(Timestamp::UNIX_EPOCH))
        .start();
    let uri = format!("{CONFIG_MAPS}/a");
    let mut object = config_map("a");
    object["data"] = json!({ "k": "v" });
    call(
        &server,
        Method::POST,
        &format!("{CONFIG_MAPS}?fieldManager=me"),
        object.clone(),
    )
    .await;
    let apply = [("content-type", "application/apply-patch+yaml")];
    let applied = format!("{uri}?fieldManager=applier");
    object["data"]["applied"] = "v".into();
    call_with(&server, Method::PATCH, &applied, &apply, object.to_string()).await;
    let before = get(&server, &uri).await.json();
    let times: Vec<&Value> = before["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .collect();
    assert!(
        times.len() == 2 && times.iter().all(|entry| entry["time"] == "1970-01-01T00:00:00Z"),
        "{before}"
    );
    let revision = server.revision();

    let merge = [("content-type", "application/merge-patch+json")];
    let json_patch = [("content-type", "application/json-patch+json")];
    let strategic = [("content-type", "application/strategic-merge-patch+json")];
    let json = [("content-type", "application/json")];
    let mine = format!("{uri}?fieldManager=me");
    let test = json!([{ "op": "test", "path": "/data/k", "value": "v" }]);
    // A client that sends managedFields back may have changed or dropped their times.
    let mut other_times = before.clone();
    let mut no_times = before.clone();
    for place in 0..2 {
        other_times["metadata"]["managedFields"][place]["time"] = "2001-01-01T00:00:00Z".into();
        no_times["metadata"]["managedFields"][place]
            .as_object_mut()
            .unwrap()
            .remove("time");
    }
    type Write<'a> = (Method, &'a str, &'a [(&'a str, &'a str)], Value);
    let writes: [Write<'_>; 9] = [
        (Method::PUT, &mine, &json, before.clone()),
        (Method::PUT, &mine, &json, object.clone()),
        (Method::PUT, &mine, &json, other_times),
        (Method::PUT, &mine, &json, no_times),
        (Method::PATCH, &mine, &merge, json!({ "data": { "k": "v" } })),
        (Method::PATCH, &mine, &merge, json!({})),
        (Method::PATCH, &mine, &strategic, json!({ "data": { "k": "v" } })),
        (Method::PATCH, &mine, &json_patch, test),
        (Method::PATCH, &applied, &apply, object.clone()),
    ];
    for (method, uri, headers, body) in writes {
        tokio::time::advance(std::time::Duration::from_secs(10)).await;
        let answer = call_with(&server, method.clone(), uri, headers, body.to_string()).await;
        assert_eq!(
            (answer.code, answer.json()),
            (200, before.clone()),
            "{method} {headers:?} {body}"
        );
        assert_eq!(server.revision(), revision, "{method} {headers:?} {body}");
    }
    // A write with changes has the time of the change.
    call_with(
        &server,
        Method::PATCH,
        &mine,
        &merge,
        r#"{"data":{"other":"w"}}"#.into(),
    )
    .await;
    let after = get(&server, &uri).await.json();
    assert_eq!(server.revision(), revision + 1);
    let changed = after["metadata"]["managedFields"].as_array().unwrap().iter();
    let mut times: Vec<&Value> = changed.map(|entry| &entry["time"]).collect();
    times.sort_by_key(|time| time.to_string());
    assert_eq!(times, ["1970-01-01T00:00:00Z", "1970-01-01T00:01:30Z"]);
}

#[tokio::test(start_paused = true)]
async fn status_is_written_only_through_its_subresource() {
    let server = ApiServer::start();
    let api: Api<Pod> = Api::default_namespaced(server.client());
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "generateName": "p-" },
        "spec": { "containers": [] }, "status": { "phase": "Running" },
    });
    let created = api.create(&PostParams::default(), &parse(pod)).await.unwrap();
    let name = created.metadata.name.clone().unwrap();
    assert!(name.starts_with("p-") && name.len() == 7, "{name}");
    let phase = |pod: &Pod| pod.status.as_ref().unwrap().phase.clone().unwrap();
    assert_eq!(
        (phase(&created).as_str(), created.metadata.generation),
        ("Pending", Some(1))
    );

    let mut change = created.clone();
    change.status.as_mut().unwrap().phase = Some("Running".into());
    change.spec.as_mut().unwrap().node_name = Some("n1".into());
    let main = api.replace(&name, &PostParams::default(), &change).await.unwrap();
    assert_eq!(
        (phase(&main).as_str(), main.metadata.generation),
        ("Pending", Some(2))
    );
    change.metadata.resource_version = None;
    change.spec.as_mut().unwrap().node_name = Some("n2".into());
    let status = api
        .replace_status(&name, &PostParams::default(), &change)
        .await
        .unwrap();
    assert_eq!(
        (phase(&status).as_str(), status.metadata.generation),
        ("Running", Some(2))
    );
    assert_eq!(status.spec.unwrap().node_name.as_deref(), Some("n1"));
}

#[tokio::test(start_paused = true)]
async fn finalizers_delay_a_deletion_until_the_last_one_is_removed() {
    let server = ApiServer::start();
    let api: Api<ConfigMap> = Api::default_namespaced(server.client());
    let mut held: ConfigMap = parse(config_map("held"));
    held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    api.create(&PostParams::default(), &held).await.unwrap();
    let marked = api
        .delete("held", &DeleteParams::default())
        .await
        .unwrap()
        .left()
        .expect("the object itself");
    assert!(marked.metadata.deletion_timestamp.is_some());
    let mut released = api.get("held").await.unwrap();
    released.metadata.finalizers = None;
    api.replace("held", &PostParams::default(), &released)
        .await
        .unwrap();
    assert!(api.get_opt("held").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn deleting_a_namespace_deletes_its_content_first() {
    let server = ApiServer::start();
    let mut inside: ConfigMap = parse(config_map("a"));
    inside.metadata.namespace = Some("web".into());
    server.create(&inside).unwrap();
    let namespaces: Api<Namespace> = Api::all(server.client());
    namespaces.delete("web", &DeleteParams::default()).await.unwrap();
    assert!(namespaces.get_opt("web").await.unwrap().is_none());
    assert!(server.objects::<ConfigMap>().is_empty());
}

#[tokio::test(start_paused = true)]
async fn selectors_narrow_a_list_and_a_collection_delete() {
    let server = ApiServer::start();
    let api: Api<ConfigMap> = Api::default_namespaced(server.client());
    for (name, label) in [("a", "x"), ("b", "y"), ("c", "x")] {
        server
            .create(&parse::<ConfigMap>(crate::support::labelled(name, label)))
            .unwrap();
    }
    let names = |list: Vec<ConfigMap>| {
        list.into_iter()
            .map(|m| m.metadata.name.unwrap())
            .collect::<Vec<_>>()
    };
    let list = api.list(&ListParams::default().labels("app=x")).await.unwrap();
    assert_eq!(names(list.items), ["a", "c"]);
    let list = api
        .list(&ListParams::default().fields("metadata.name!=a"))
        .await
        .unwrap();
    assert_eq!(names(list.items), ["b", "c"]);
    api.delete_collection(&DeleteParams::default(), &ListParams::default().labels("app=x"))
        .await
        .unwrap();
    assert_eq!(get(&server, CONFIG_MAPS).await.names(), ["b"]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_created_in_a_terminating_namespace() {
    let server = ApiServer::start();
    let mut held: ConfigMap = parse(config_map("held"));
    held.metadata.namespace = Some("web".into());
    held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    server.create(&held).unwrap();
    let namespaces: Api<Namespace> = Api::all(server.client());
    namespaces.delete("web", &DeleteParams::default()).await.unwrap();
    let going = namespaces.get("web").await.unwrap();
    assert_eq!(going.status.unwrap().phase.as_deref(), Some("Terminating"));
    let mut late = config_map("late");
    late["metadata"]["namespace"] = "web".into();
    let message = "configmaps \"late\" is forbidden: unable to create new content in namespace web because \
        it is being terminated";
    check_refused(
        &server,
        Method::POST,
        "/api/v1/namespaces/web/configmaps",
        late,
        403,
        message,
    )
    .await;
    held.metadata.finalizers = None;
    server.update(&held).unwrap();
    assert!(namespaces.get_opt("web").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn deletions_honour_their_preconditions() {
    let server = ApiServer::start();
    let created = server.create(&parse::<ConfigMap>(config_map("a"))).unwrap();
    let uid = created.metadata.uid.unwrap();
    let message = format!(
        "Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition (x) does not match \
         the UID in record ({uid}). The object might have been deleted and then recreated"
    );
    let uri = format!("{CONFIG_MAPS}/a");
    check_refused(
        &server,
        Method::DELETE,
        &uri,
        json!({ "preconditions": { "uid": "x" } }),
        409,
        &message,
    )
    .await;
    let answer = call(
        &server,
        Method::DELETE,
        &uri,
        json!({ "preconditions": { "uid": uid } }),
    )
    .await;
    assert_eq!((answer.code, &answer.json()["status"]), (200, &json!("Success")));
}

#[tokio::test(start_paused = true)]
async fn two_servers_with_the_same_seed_give_the_same_answers() {
    let run = |seed| {
        let server = ApiServer::builder()
            .seed(seed)
            .clock(Clock::Fixed(Timestamp::UNIX_EPOCH))
            .start();
        let pod =
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "generateName": "p-" }, "spec": {} });
        server.create(&pod).unwrap()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_changes_nothing() {
    let server = ApiServer::start();
    let before = server.revision();
    let answer = call(
        &server,
        Method::POST,
        &format!("{CONFIG_MAPS}?dryRun=All"),
        config_map("a"),
    )
    .await;
    assert_eq!((answer.code, server.revision()), (201, before));
    assert!(server.objects::<ConfigMap>().is_empty());
}

/// The live tests compare these answers with the real server; the texts are upstream's.
#[tokio::test(start_paused = true)]
async fn metadata_and_options_are_validated_before_anything_is_written() {
    let server = ApiServer::start();
    server.create(&config_map("a")).unwrap();
    let before = server.revision();
    let refused = async |method: Method, uri: &str, body: Value, code: u16, part: &str| {
        let answer = call(&server, method, uri, body).await;
        let message = answer.json()["message"].as_str().unwrap_or_default().to_owned();
        assert!(
            answer.code == code && message.contains(part),
            "{uri}: {} {message}",
            answer.code
        );
        assert_eq!(server.revision(), before, "{uri}");
    };
    let one = format!("{CONFIG_MAPS}/a");
    let with = |field: &str, value: Value| json!({ "metadata": { "name": "b", field: value } });
    let bad_value = "metadata.labels: Invalid value: \"not good\": a valid label must be";
    let labels = with("labels", json!({ "app": "not good" }));
    refused(Method::POST, CONFIG_MAPS, labels, 422, bad_value).await;
    let bad_key = "metadata.labels: Invalid value: \"-a\": name part must consist";
    refused(
        Method::POST,
        CONFIG_MAPS,
        with("labels", json!({ "-a": "x" })),
        422,
        bad_key,
    )
    .await;
    let finalizer = "metadata.finalizers[0]: Invalid value: \"bad\": name is neither";
    refused(
        Method::POST,
        CONFIG_MAPS,
        with("finalizers", json!(["bad"])),
        422,
        finalizer,
    )
    .await;
    let manager = format!("{CONFIG_MAPS}?fieldManager={}", "x".repeat(129));
    refused(
        Method::POST,
        &manager,
        config_map("b"),
        422,
        "fieldManager: Too long",
    )
    .await;
    let policy = json!({ "propagationPolicy": "Some" });
    refused(
        Method::DELETE,
        &one,
        policy,
        422,
        "propagationPolicy: Unsupported value",
    )
    .await;
    let both = json!({ "propagationPolicy": "Orphan", "orphanDependents": true });
    refused(Method::DELETE, &one, both, 422, "cannot be both set").await;
    let mut versioned = config_map("a");
    versioned["metadata"]["resourceVersion"] = "abc".into();
    refused(
        Method::PUT,
        &one,
        versioned,
        500,
        "strconv.ParseUint: parsing \"abc\"",
    )
    .await;
    let selector = format!("{CONFIG_MAPS}?labelSelector=-a%3Dx");
    refused(Method::GET, &selector, Value::Null, 400, "Invalid value: \"-a\"").await;
    let future = format!("{one}?resourceVersion=999999");
    refused(
        Method::GET,
        &future,
        Value::Null,
        504,
        "Too large resource version",
    )
    .await;
    // Accepted: the standard finalizers, a domain, the empty label.
    let mut good = config_map("b");
    good["metadata"]["labels"] = json!({ "example.com/App_1": "", "a": "x.y-z_1" });
    good["metadata"]["finalizers"] = json!(["orphan", "example.com/x"]);
    assert_eq!(call(&server, Method::POST, CONFIG_MAPS, good).await.code, 201);
}

#[tokio::test(start_paused = true)]
async fn empty_metadata_is_omitted() {
    let server = ApiServer::start();
    let mut object = config_map("a");
    for (field, value) in [
        ("labels", json!({})),
        ("annotations", json!({})),
        ("finalizers", json!([])),
    ] {
        object["metadata"][field] = value;
    }
    let created = call(&server, Method::POST, CONFIG_MAPS, object).await.json();
    for field in ["labels", "annotations", "finalizers"] {
        assert!(created["metadata"].get(field).is_none(), "{created}");
    }
}

#[test]
fn merge_changes_the_given_fields_with_the_status() {
    let server = ApiServer::start();
    let metadata = json!({ "namespace": "shop", "name": "front" });
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
        "spec": { "replicas": 2, "selector": {}, "template": {} },
    });
    let created = server.create(&deployment).unwrap();
    let fields = |name: &str| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "namespace": "shop", "name": name },
            "status": { "readyReplicas": 2 },
        })
    };
    server.merge(&fields("front")).unwrap();
    let merged = json!(server.objects::<Deployment>()[0]);
    assert_eq!(merged["status"], json!({ "readyReplicas": 2 }));
    assert_eq!(merged["spec"]["replicas"], 2);
    assert_eq!(merged["metadata"]["uid"], created["metadata"]["uid"]);
    assert_eq!(server.merge(&fields("other")).unwrap_err().code(), 404);
}
