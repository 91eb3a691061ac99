//! `Informer` derived on a type that implements `kube::Resource` without `CustomResource`.

use informer_testing::ApiServer;
use informers::{Informer, SharedInformerFactory};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::ObjectMeta;
use serde::Deserialize;
use serde_json::json;

use crate::support::synced;

/// A config map of which only one value is read.
#[derive(kube::Resource, Informer, Clone, Debug, Deserialize)]
#[resource(inherit = "ConfigMap")]
#[informer(accessor = "settings")]
#[informer(index(name = "immutable", by = ".immutable", value = bool))]
#[informer(index(name = "level", by = "data.level"))]
struct Setting {
    metadata: ObjectMeta,
    immutable: Option<bool>,
    data: Data,
}

#[derive(Clone, Debug, Deserialize)]
struct Data {
    level: String,
}

mod machines {
    //! A module that re-exports the crate `informers` under another name.

    pub(crate) use ::informers as caches;

    use super::{Deserialize, Informer, Node, ObjectMeta};

    /// A node without its spec.
    #[derive(kube::Resource, Informer, Clone, Debug, Deserialize)]
    #[resource(inherit = "Node")]
    #[informer(crate = "crate::derive::resource::machines::caches", accessor = "machines")]
    pub(crate) struct Machine {
        pub(crate) metadata: ObjectMeta,
    }
}

#[tokio::test(start_paused = true)]
async fn a_type_that_inherits_its_resource_has_its_generated_names() {
    let server = ApiServer::start();
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "namespace": "web", "name": "log" },
        "immutable": true,
        "data": { "level": "debug" },
    });
    server.create(&object).unwrap();
    let factory = SharedInformerFactory::new(server.client());

    let settings: SettingInformer = factory.settings();
    let lister: SettingLister = settings.lister();
    synced(&factory).await;

    let of_web: SettingNamespaceLister = lister.namespace("web");
    assert_eq!(of_web.require("log").unwrap().data.level, "debug");
    assert_eq!(settings.by_level().unwrap().len("debug"), 1);
    assert_eq!(settings.by_immutable().unwrap().values(), [true]);
}

#[tokio::test(start_paused = true)]
async fn the_crate_may_have_another_name_and_the_type_another_scope() {
    use machines::{MachineFactoryExt as _, MachineLister, MachineNamespaceLister};

    let server = ApiServer::start();
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "node-1" } });
    server.create(&node).unwrap();
    let factory = SharedInformerFactory::new(server.client());

    let lister: MachineLister = factory.machines().lister();
    synced(&factory).await;

    assert!(lister.get("node-1").is_some());
    // The alias exists, but a lister of this scope cannot return it.
    let _: Option<MachineNamespaceLister> = None;
}
