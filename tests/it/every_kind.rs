//! One object of every kind, from creation to deletion, seen through the kind's own accessors on the embedded
//! API server.

#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use informer_gen::inventory::{Release, Watchable, builtin};
use informer_it::visitor::{KUBERNETES, Visitor, every_kind};
use informer_testing::ApiServer;
use informers::{Lister, NamespaceLister, Object, ResourceInformer, ResourceVersion, SharedInformerFactory};
use kube::core::{ClusterResourceScope, NamespaceResourceScope};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const NAMESPACE: &str = "web";
const NAME: &str = "one";

#[tokio::test(start_paused = true)]
async fn one_object_of_every_kind_is_seen_from_birth_to_end() {
    let release = Release { minor: KUBERNETES };
    let rows = builtin().iter();
    let expected = rows.filter(|row| row.exists_in(release) && row.watchable == Watchable::Yes);
    let mut checks = Checks(Vec::new());
    every_kind(&mut checks);
    assert_eq!(checks.0.len(), expected.count());
    for (name, check) in checks.0 {
        println!("{name}"); // shown if it fails
        check.await;
    }
}

/// A check for each kind, not started.
struct Checks(Vec<(String, LocalBoxFuture<'static, ()>)>);

impl Visitor for Checks {
    fn namespaced<K>(
        &mut self,
        accessor: fn(&SharedInformerFactory) -> ResourceInformer<K>,
        of_namespace: fn(&Lister<K>, &str) -> NamespaceLister<K>,
    ) where
        K: Object
            + DeserializeOwned
            + Serialize
            + kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        let get = move |lister: &Lister<K>| {
            assert_eq!(of_namespace(lister, "other").len(), 0);
            of_namespace(lister, NAMESPACE).get(NAME)
        };
        let metadata = json!({ "namespace": NAMESPACE, "name": NAME });
        let name = format!("{} {}", K::api_version(&()), K::kind(&()));
        self.0.push((name, check(accessor, get, metadata).boxed_local()));
    }

    fn cluster<K>(&mut self, accessor: fn(&SharedInformerFactory) -> ResourceInformer<K>)
    where
        K: Object
            + DeserializeOwned
            + Serialize
            + kube::Resource<DynamicType = (), Scope = ClusterResourceScope>,
    {
        let get = |lister: &Lister<K>| lister.get(NAME);
        let name = format!("{} {}", K::api_version(&()), K::kind(&()));
        let check = check(accessor, get, json!({ "name": NAME }));
        self.0.push((name, check.boxed_local()));
    }
}

async fn check<K>(
    accessor: fn(&SharedInformerFactory) -> ResourceInformer<K>,
    get: impl Fn(&Lister<K>) -> Option<Arc<K>>,
    metadata: Value,
) where
    K: Object + DeserializeOwned + Serialize + kube::Resource<DynamicType = ()>,
{
    let setup = Setup::new(&K::api_version(&()), &K::kind(&()), metadata);
    let resource = accessor(&setup.factory);
    let (informer, lister) = (resource.informer(), resource.lister());
    setup.factory.start();
    setup.factory.wait_for_sync().await.unwrap();
    let found = get(&lister).expect("it was there before the start");
    assert_eq!(found.meta().annotations, None);

    informer.wait_until(&setup.update()).await.unwrap();
    let found = get(&lister).expect("it was changed, not deleted");
    assert_eq!(found.meta().annotations.as_ref().unwrap()["changed"], "yes");

    informer.wait_until(&setup.delete()).await.unwrap();
    assert!(get(&lister).is_none(), "it was deleted");
    setup.factory.shutdown().await;
}

/// The server with the object, and a factory. Not generic, so compiled once.
struct Setup {
    server: ApiServer,
    factory: SharedInformerFactory,
    object: Value,
}

impl Setup {
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

    /// Annotates the object (a server may add labels itself), and returns the version of that write.
    fn update(&self) -> ResourceVersion {
        let mut object = self.object.clone();
        object["metadata"]["annotations"] = json!({ "changed": "yes" });
        self.server.update(&object).unwrap();
        ResourceVersion::new(&self.server.resource_version())
    }

    /// Deletes the object, and returns the version of the deletion.
    fn delete(&self) -> ResourceVersion {
        self.server.delete(&self.object).unwrap();
        ResourceVersion::new(&self.server.resource_version())
    }
}
