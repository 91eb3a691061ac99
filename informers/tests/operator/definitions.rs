//! The generated informers on an embedded API server, and their definitions.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::generated::hosting_example_com::v1::website::WebsiteSpec;
use crate::generated::hosting_example_com::v1::{Website, WebsiteInformer, WebsiteNamespaceLister};
use crate::generated::hosting_example_com::v1beta1;
use crate::generated::prelude::*;
use informer_gen::crd::{self, Reading, TreeOptions};
use informer_testing::ApiServer;
use informers::{Event, Selector, SharedInformerFactory};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use serde_json::{Value, json};

/// Included as a program includes the output of its build script.
mod included {
    include!("../../examples/operator/generated/mod.rs");
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples/operator")
        .join(name)
}

fn definitions() -> Vec<(PathBuf, String)> {
    let files = std::fs::read_dir(folder("crds")).expect("the definitions are checked in");
    let mut paths: Vec<PathBuf> = files
        .map(|file| file.expect("the file is readable").path())
        .collect();
    paths.sort();
    let text = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("the file is UTF-8");
        (path, text)
    };
    paths.into_iter().map(text).collect()
}

/// A server with the definitions.
fn server() -> ApiServer {
    let server = ApiServer::start();
    for (_, text) in definitions() {
        let definition: Value = serde_saphyr::from_str(&text).expect("the definition is YAML");
        server.create(&definition).expect("the server accepts it");
    }
    server
}

fn website(name: &str, plan: &str) -> Website {
    let spec = WebsiteSpec {
        plan: plan.to_owned().into(),
        image: "site:1".to_owned().into(),
        replicas: Some(2),
        ..WebsiteSpec::default()
    };
    let mut website = Website::new(name, spec);
    website.metadata.namespace = Some("shop".to_owned());
    website
}

fn names<K: kube::Resource>(objects: &[Arc<K>]) -> Vec<String> {
    objects.iter().map(|object| object.name_any()).collect()
}

#[test]
fn the_generated_files_match_the_definitions() {
    let mut reading = Reading::default();
    for (path, text) in definitions() {
        reading.extend(crd::read(&path.display().to_string(), &text).expect("the definitions are valid"));
    }
    let tree = crd::tree(&reading.found, &TreeOptions::default()).expect("the definitions have schemas");
    let marked = files_below(&folder("generated"));
    assert_eq!(
        marked.len(),
        tree.files.len(),
        "a file is obsolete or missing: {marked:?}"
    );
    for (path, text) in &tree.files {
        let present = std::fs::read_to_string(folder("generated").join(path)).unwrap_or_default();
        assert!(
            present == *text,
            "{path} is outdated; run `cargo xtask crd -f informers/examples/operator/crds --out \
             informers/examples/operator/generated`"
        );
    }
}

/// Returns every file in a directory tree.
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

#[test]
fn a_generated_tree_can_be_included() {
    use kube::Resource as _;
    assert_eq!(
        included::hosting_example_com::v1::Website::plural(&()),
        "websites"
    );
}

#[tokio::test(start_paused = true)]
async fn generated_accessors_sync_list_by_index_and_follow_a_delete() {
    let server = server();
    let first = server.create(&website("front", "small")).expect("it is created");
    server.create(&website("blog", "large")).expect("it is created");
    server
        .create(&json!({
            "apiVersion": "hosting.example.com/v1", "kind": "Plan", "metadata": { "name": "small" },
            "spec": { "maxReplicas": 2, "support": "Phone" },
        }))
        .expect("it is created");

    let factory = SharedInformerFactory::new(server.client());
    let hosting = factory.hosting_example_com().v1();
    let websites: WebsiteInformer = hosting.websites();
    let plans = hosting.plans().lister();
    let old = factory.hosting_example_com().v1beta1().websites().lister();
    let config_maps = factory.core().v1().config_maps().lister();
    let by_plan = websites
        .informer()
        .add_index("plan", |website: &Website| vec![website.spec.plan.to_string()]);
    let by_plan = by_plan.expect("the name is free");
    let (sender, deleted) = mpsc::channel();
    let handler = move |event: Event<Website>| {
        if let Event::Deleted(deleted) = event {
            // The test may have ended.
            let _sent = sender.send(deleted.last_known().name_any());
        }
    };
    websites.informer().add_handler(handler).expect("it runs");
    factory.start();
    factory.wait_for_sync().await.expect("the definitions are served");

    let lister = websites.lister();
    assert_eq!(names(&lister.list(&Selector::everything())), ["blog", "front"]);
    let in_shop: WebsiteNamespaceLister = lister.websites("shop");
    assert_eq!(in_shop.get("front").expect("it exists").spec.replicas, Some(2));
    assert!(lister.websites("elsewhere").get("front").is_none());
    assert_eq!(names(&by_plan.get("small")), ["front"]);
    assert_eq!(plans.get("small").expect("it exists").spec.max_replicas, 2);
    assert_eq!(
        config_maps.list(&Selector::everything()),
        Vec::<Arc<ConfigMap>>::new()
    );
    let old: Option<Arc<v1beta1::Website>> = old.websites("shop").get("front");
    assert_eq!(
        old.and_then(|website| website.spec.clone())
            .and_then(|spec| spec.plan)
            .as_deref(),
        Some("small")
    );

    server.delete(&first).expect("it exists");
    while lister.websites("shop").get("front").is_some() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(names(&by_plan.get("small")), Vec::<String>::new());
    factory.shutdown().await;
    assert_eq!(deleted.try_recv().as_deref(), Ok("front"));
}
