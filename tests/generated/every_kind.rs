//! One object of every kind, from its birth to its end, seen through the kind's own accessors on the embedded API server.

#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

#[rustfmt::skip]
#[path = "generated/every_kind.rs"]
mod generated;

use std::sync::Arc;

use informer_testing::ApiServer;
use informers::{Lister, NamespaceLister, Object, ResourceInformer, ResourceVersion, SharedInformerFactory};
use kube::core::{ClusterResourceScope, NamespaceResourceScope};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const NAMESPACE: &str = "web";
const NAME: &str = "one";

/// The check of a kind that lives in namespaces; `of_namespace` is the lister's accessor with the kind's name.
async fn namespaced<K>(
    accessor: fn(&SharedInformerFactory) -> ResourceInformer<K>,
    of_namespace: fn(&Lister<K>, &str) -> NamespaceLister<K>,
) where
    K: Object + DeserializeOwned + kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    let get = |lister: &Lister<K>| {
        assert_eq!(of_namespace(lister, "other").len(), 0);
        of_namespace(lister, NAMESPACE).get(NAME)
    };
    check(accessor, get, json!({ "namespace": NAMESPACE, "name": NAME })).await;
}

/// The check of a kind that does not live in namespaces.
async fn cluster<K>(accessor: fn(&SharedInformerFactory) -> ResourceInformer<K>)
where
    K: Object + DeserializeOwned + kube::Resource<DynamicType = (), Scope = ClusterResourceScope>,
{
    check(
        accessor,
        |lister: &Lister<K>| lister.get(NAME),
        json!({ "name": NAME }),
    )
    .await;
}

async fn check<K>(
    accessor: fn(&SharedInformerFactory) -> ResourceInformer<K>,
    get: impl Fn(&Lister<K>) -> Option<Arc<K>>,
    metadata: Value,
) where
    K: Object + DeserializeOwned + kube::Resource<DynamicType = ()>,
{
    let stage = Stage::new(&K::api_version(&()), &K::kind(&()), metadata);
    let resource = accessor(&stage.factory);
    let (informer, lister) = (resource.informer(), resource.lister());
    stage.factory.start();
    stage.factory.wait_for_sync().await.unwrap();
    let found = get(&lister).expect("it was there before the start");
    assert_eq!(found.meta().annotations, None);

    informer.wait_until(&stage.update()).await.unwrap();
    let found = get(&lister).expect("it was changed, not deleted");
    assert_eq!(found.meta().annotations.as_ref().unwrap()["changed"], "yes");

    informer.wait_until(&stage.delete()).await.unwrap();
    assert!(get(&lister).is_none(), "it was deleted");
    stage.factory.shutdown().await;
}

/// The server with the object, and a factory: what needs no kind is compiled once.
struct Stage {
    server: ApiServer,
    factory: SharedInformerFactory,
    object: Value,
}

impl Stage {
    fn new(api_version: &str, kind: &str, metadata: Value) -> Self {
        let server = ApiServer::start();
        let factory = SharedInformerFactory::new(server.client());
        let object = json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata });
        server.create(&object).unwrap();
        Self {
            server,
            factory,
            object,
        }
    }

    /// Gives the object an annotation (a server may give labels of its own), and says at which version that is seen.
    fn update(&self) -> ResourceVersion {
        let mut object = self.object.clone();
        object["metadata"]["annotations"] = json!({ "changed": "yes" });
        self.server.update(&object).unwrap();
        ResourceVersion::new(&self.server.resource_version())
    }

    /// Deletes the object, and says at which version that is seen.
    fn delete(&self) -> ResourceVersion {
        self.server.delete(&self.object).unwrap();
        ResourceVersion::new(&self.server.resource_version())
    }
}
