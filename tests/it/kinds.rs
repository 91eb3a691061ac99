//! Any kind can be cached: built-in and custom, typed, dynamic and metadata only, whole or selected.

use std::fmt::Debug;
use std::time::Duration;

use informer_core::{InitialState, Object, SharedInformer, SharedInformerBuilder, State};
use informer_testing::{ApiServer, Fault, Rule, Verb};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{ApiResource, DynamicObject, PartialObjectMeta, TypeMeta};
use kube::{CustomResource, CustomResourceExt as _};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{Recorder, builder_of, keys, pod, settled, start, unseen};

/// A custom resource, as users derive them.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Widget",
    namespaced,
    schema = "disabled"
)]
struct WidgetSpec {
    size: u32,
}

fn metadata(namespace: Option<&str>, name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.into()),
        namespace: namespace.map(Into::into),
        ..ObjectMeta::default()
    }
}

fn read<T: DeserializeOwned>(value: serde_json::Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn widget(name: &str, size: u32) -> Widget {
    Widget {
        metadata: metadata(Some("default"), name),
        ..Widget::new(name, WidgetSpec { size })
    }
}

fn server_with_widgets() -> ApiServer {
    let server = ApiServer::start();
    server.create::<CustomResourceDefinition>(&Widget::crd()).unwrap();
    server
}

/// One object of the kind is created, changed and deleted, before and after a relist.
async fn check_kind<K>(
    server: &ApiServer,
    builder: SharedInformerBuilder<K>,
    first: K,
    change: impl Fn(&mut K),
    resource: &str,
) where
    K: Object + Serialize + DeserializeOwned + Clone + Debug,
{
    let key = informer_core::ObjectKey::of(first.meta()).unwrap();
    server.create(&first).unwrap();
    let informer = builder.build().unwrap();
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    assert_eq!(informer.status().resource, resource);
    let name = key.name();
    assert_eq!(received.take(), [format!("initial {name}")]);
    let mut second = first.clone();
    change(&mut second);
    server.update(&second).unwrap();
    settled(&informer, server).await;
    assert_eq!(received.take(), [format!("update {name}")]);
    unseen(server, || server.delete(&first).unwrap());
    settled(&informer, server).await;
    assert_eq!(received.take(), [format!("missed {name}")]);
    server.create(&first).unwrap();
    settled(&informer, server).await;
    server.delete(&first).unwrap();
    settled(&informer, server).await;
    assert_eq!(received.take(), [format!("add {name}"), format!("delete {name}")]);
    assert_eq!(informer.indexer().get(&key).map(drop), None);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn built_in_kinds_namespaced_and_cluster_scoped() {
    let server = ApiServer::start();
    let pods = builder_of::<Pod>(server.client());
    let is_ready = |pod: &mut Pod| pod.status.get_or_insert_default().phase = Some("Running".into());
    check_kind(&server, pods, pod("front-0", "node-1"), is_ready, "pods").await;

    let nodes = builder_of::<Node>(server.client());
    let node = Node {
        metadata: metadata(None, "node-1"),
        ..Node::default()
    };
    let cordon = |node: &mut Node| node.spec.get_or_insert_default().unschedulable = Some(true);
    check_kind(&server, nodes, node, cordon, "nodes").await;

    let deployments = builder_of::<Deployment>(server.client());
    let deployment: Deployment = read(json!({
        "metadata": {"name": "front", "namespace": "default"},
        "spec": {"selector": {}, "template": {"metadata": {}}},
    }));
    // Not in its spec, which is optional only in some releases of the types.
    let annotate = |deployment: &mut Deployment| {
        deployment.metadata.annotations = Some([("team".to_owned(), "web".to_owned())].into());
    };
    check_kind(&server, deployments, deployment, annotate, "deployments.apps").await;
}

#[tokio::test(start_paused = true)]
async fn a_derived_custom_resource() {
    let server = server_with_widgets();
    let widgets = SharedInformer::<Widget>::builder(server.client());
    check_kind(
        &server,
        widgets,
        widget("gear", 3),
        |widget| widget.spec.size = 4,
        "widgets.example.com",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_known_at_run_time_only() {
    let server = server_with_widgets();
    let resource = ApiResource::erase::<Widget>(&());
    let widgets = SharedInformer::<DynamicObject>::builder_with(server.client(), resource.clone());
    let object = DynamicObject {
        types: Some(TypeMeta {
            api_version: resource.api_version.clone(),
            kind: resource.kind.clone(),
        }),
        metadata: metadata(Some("default"), "gear"),
        data: json!({"spec": {"size": 3}}),
    };
    check_kind(
        &server,
        widgets,
        object,
        |object| object.data["spec"]["size"] = 4.into(),
        "widgets.example.com",
    )
    .await;

    server.create(&widget("wheel", 9)).unwrap();
    let informer = SharedInformer::<DynamicObject>::builder_with(server.client(), resource)
        .build()
        .unwrap();
    let by_size = informer
        .add_index("size", |object: &DynamicObject| {
            object.data["spec"]["size"].as_u64()
        })
        .unwrap();
    start(&informer).await;
    assert_eq!(
        by_size
            .keys(&9)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        ["default/wheel"]
    );
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_comes_later_is_waited_for() {
    let server = ApiServer::start();
    let informer = SharedInformer::<Widget>::builder(server.client())
        .build()
        .unwrap();
    informer.start().unwrap();
    let error = informer.synced_within(Duration::from_secs(60)).await.unwrap_err();
    assert!(matches!(error.pending.worst(), State::NotFound { .. }), "{error}");
    server.create::<CustomResourceDefinition>(&Widget::crd()).unwrap();
    server.create(&widget("gear", 3)).unwrap();
    informer.synced_within(Duration::from_secs(60)).await.unwrap();
    assert_eq!(keys(&informer), ["default/gear"]);
    informer.shutdown().await;
}

/// The watch is cut, so that only the next list can show what happened to the objects.
#[tokio::test(start_paused = true)]
async fn a_kind_that_disappears_and_returns_is_followed_again() {
    let server = ApiServer::start();
    let crd = server.create::<CustomResourceDefinition>(&Widget::crd()).unwrap();
    server.create(&widget("old", 1)).unwrap();
    let informer = SharedInformer::<Widget>::builder(server.client())
        .build()
        .unwrap();
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    assert_eq!(received.take(), ["initial old"]);

    server.faults().add(Rule::new(Fault::Refuse).on(Verb::Watch));
    server.close_watches();
    server.delete(&crd).unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    server.faults().clear();
    tokio::time::sleep(Duration::from_secs(120)).await;
    let status = informer.status();
    assert!(matches!(status.state, State::NotFound { .. }), "{}", status.state);

    server.create::<CustomResourceDefinition>(&Widget::crd()).unwrap();
    server.create(&widget("new", 2)).unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
    settled(&informer, &server).await;
    assert_eq!(keys(&informer), ["default/new"]);
    let events = received.take();
    assert!(events.ends_with(&["add new".to_owned()]), "{events:?}");
    let is_deletion = |event: &String| event == "missed old" || event == "delete old";
    assert_eq!(
        events.iter().filter(|event| is_deletion(event)).count(),
        1,
        "{events:?}"
    );
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn metadata_only_is_requested_by_its_accept_header() {
    for initial in [InitialState::WatchList, InitialState::List] {
        let server = ApiServer::start();
        server.create(&pod("front-0", "node-1")).unwrap();
        let builder = SharedInformer::<PartialObjectMeta<Pod>>::builder(server.client());
        let informer = builder.initial_state(initial).build().unwrap();
        let received = Recorder::new();
        received.add_to(&informer);
        start(&informer).await;
        let mut labelled = pod("front-0", "node-1");
        labelled.metadata.labels = Some([("app".to_owned(), "web".to_owned())].into());
        server.update(&labelled).unwrap();
        settled(&informer, &server).await;
        assert_eq!(received.take(), ["initial front-0", "update front-0"]);
        let cached = &informer.indexer().list()[0];
        assert_eq!(cached.metadata.labels, labelled.metadata.labels);
        assert_eq!(informer.status().resource, "pods");

        let requests = server.requests();
        assert!(!requests.is_empty());
        for request in requests {
            let kind = if request.is_list() {
                "PartialObjectMetadataList"
            } else {
                "PartialObjectMetadata"
            };
            let as_kind = format!("as={kind};");
            assert!(
                format!("{};", request.accept.replace(' ', "")).contains(&as_kind),
                "{}",
                request.accept
            );
        }
        informer.shutdown().await;
    }
}
