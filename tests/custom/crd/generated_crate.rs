//! The generated crate on an embedded server: definitions with every schema feature, an object of each kind,
//! and a call of every generated name.

use std::path::Path;
use std::time::Duration;

use informer_custom::example_com::v1::{
    DescribedInformer, OpenNamespaceLister, Widget, WidgetInformer, WidgetLister, WidgetNamespaceLister,
};
use informer_custom::example_com::v1alpha1::LooseLister;
use informer_custom::example_com::v1beta1::NullableLister;
use informer_custom::odd_names_example_com::v1::OddItyLister;
use informer_custom::prelude::*;
use informer_testing::ApiServer;
use informers::{Selector, SharedInformerFactory};
use serde_json::{Value, json};

use crate::support::names;

/// The definitions of informer-gen's golden tests. Together they use every schema feature.
const DEFINITIONS: [&str; 6] = ["described", "loose", "names", "nullable", "open", "widget"];

/// Reads a definition of informer-gen's golden tests.
fn definition(name: &str) -> Value {
    let file = format!("../../informer-gen/tests/crd/{name}.yaml");
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

/// A server with the definitions, and an object of each kind.
fn server() -> ApiServer {
    let server = ApiServer::start();
    for name in DEFINITIONS {
        server.create(&definition(name)).unwrap();
    }
    for (api_version, kind, name, spec) in [
        (
            "example.com/v1",
            "Widget",
            "a",
            json!({ "class": "small", "replicas": 2, "mode": "Rolling", "port": "http" }),
        ),
        (
            "example.com/v1",
            "Widget",
            "b",
            json!({ "class": "large", "replicas": 1, "mode": "Rolling", "port": 80 }),
        ),
        ("example.com/v1", "Open", "a", json!({})),
        ("example.com/v1", "Described", "a", json!({ "html": "<b>" })),
        (
            "example.com/v1alpha1",
            "Loose",
            "a",
            json!({ "anything": [1, "two"] }),
        ),
        ("example.com/v1beta1", "Nullable", "a", json!({ "always": "x" })),
        ("odd-names.example.com/v1", "odd-ity", "a", json!({})),
    ] {
        let mut object =
            json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name }, "spec": spec });
        if !matches!(kind, "Described" | "Loose") {
            object["metadata"]["namespace"] = json!("default");
        }
        server
            .create(&object)
            .unwrap_or_else(|error| panic!("{kind}: {error}"));
    }
    server
}

#[tokio::test(start_paused = true)]
async fn objects_of_every_kind_are_synced_listed_by_index_and_deleted() {
    let server = server();
    let factory = SharedInformerFactory::new(server.client());
    let example = factory.example_com();
    let widgets: WidgetInformer = example.v1().widgets();
    let described: DescribedInformer = example.v1().describeds();
    let opens: OpenNamespaceLister = example.v1().opens().lister().opens("default");
    let loose: LooseLister = example.v1alpha1().loose().lister();
    let nullables: NullableLister = example.v1beta1().nullables().lister();
    let oddities: OddItyLister = factory.odd_names_example_com().v1().odd_ities().lister();
    let by_class = widgets
        .informer()
        .add_index("class", |widget: &Widget| vec![widget.spec.class.to_string()])
        .unwrap();
    let (lister, described): (WidgetLister, _) = (widgets.lister(), described.lister());
    factory.start();
    factory.wait_for_sync().await.unwrap();

    let here: WidgetNamespaceLister = lister.widgets("default");
    assert_eq!(names(&here.list(&Selector::everything())), ["a", "b"]);
    assert_eq!(names(&by_class.get("small")), ["a"]);
    assert!(described.get("a").is_some() && opens.get("a").is_some());
    assert!(nullables.nullables("default").get("a").is_some());
    assert!(oddities.odd_ities("default").get("a").is_some());
    let anything = serde_json::to_value(&*loose.get("a").unwrap()).unwrap();
    assert_eq!(anything["spec"]["anything"], json!([1, "two"]));

    server.delete(&*here.get("a").unwrap()).unwrap();
    while here.get("a").is_some() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(names(&by_class.get("small")), Vec::<&str>::new());
    assert_eq!(names(&by_class.get("large")), ["b"]);
    factory.shutdown().await;
}
