//! A generated crate at work: definitions with every feature of schemas, objects of each on an embedded server, and every
//! generated name called once.

#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use informer_crd_cli_tests::example_com::v1::{
    DescribedInformer, OpenNamespaceLister, Widget, WidgetInformer, WidgetLister, WidgetNamespaceLister,
};
use informer_crd_cli_tests::example_com::v1alpha1::LooseLister;
use informer_crd_cli_tests::example_com::v1beta1::NullableLister;
use informer_crd_cli_tests::odd_names_example_com::v1::OddItyLister;
use informer_crd_cli_tests::prelude::*;
use informer_gen::crd::{self, Reading, Root, TreeOptions};
use informer_testing::ApiServer;
use informers::{Selector, SharedInformerFactory};
use kube::ResourceExt as _;
use serde_json::{Value, json};

/// Those of informer-gen's golden tests, which together have every feature.
const DEFINITIONS: [&str; 6] = ["described", "loose", "names", "nullable", "open", "widget"];

fn definition(name: &str) -> (String, String) {
    let path = format!("../../informer-gen/tests/crd/{name}.yaml");
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&path)).unwrap();
    (path, text)
}

/// Every file below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => files_below(&path),
            false => vec![path],
        })
        .collect()
}

/// A server with the definitions, and an object of each kind.
fn server() -> ApiServer {
    let server = ApiServer::start();
    for name in DEFINITIONS {
        let definition: Value = serde_saphyr::from_str(&definition(name).1).unwrap();
        server.create(&definition).unwrap();
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

fn names(widgets: &[Arc<Widget>]) -> Vec<String> {
    widgets.iter().map(|widget| widget.name_any()).collect()
}

#[test]
fn the_crate_is_what_the_definitions_give() {
    let mut reading = Reading::default();
    for (path, text) in DEFINITIONS.map(definition) {
        reading.extend(crd::read(&path, &text).unwrap());
    }
    let options = TreeOptions {
        root: Root::Crate("informer-crd-cli-tests".to_owned()),
        ..TreeOptions::default()
    };
    let tree = crd::tree(&reading.found, &options).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The manifest was made ours.
    let generated = tree.files.iter().filter(|(path, _)| *path != "Cargo.toml");
    assert_eq!(
        files_below(&root.join("src")).len(),
        generated.clone().count(),
        "a file is left over or missing"
    );
    let sources: Vec<String> = DEFINITIONS
        .iter()
        .map(|name| format!("-f informer-gen/tests/crd/{name}.yaml"))
        .collect();
    for (path, text) in generated {
        let present = std::fs::read_to_string(root.join(path)).unwrap_or_default();
        assert!(
            present == *text,
            "{path} is stale; run `cargo xtask crd {} --crate informer-crd-cli-tests --out tests/crd-cli`",
            sources.join(" ")
        );
    }
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
        .add_index("class", |widget: &Widget| vec![widget.spec.class.clone()])
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
    assert_eq!(names(&by_class.get("small")), Vec::<String>::new());
    assert_eq!(names(&by_class.get("large")), ["b"]);
    factory.shutdown().await;
}
