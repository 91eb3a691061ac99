//! Helpers shared by the tests: a server with custom resources, a synced factory, names of objects.

use std::sync::Arc;

use informer_testing::ApiServer;
use informers::SharedInformerFactory;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Creates the definition of a kind.
pub(crate) fn define<K: CustomResourceExt>(server: &ApiServer) {
    server.create::<CustomResourceDefinition>(&K::crd()).unwrap();
}

/// Creates an object in a namespace.
pub(crate) fn create_in<K>(server: &ApiServer, namespace: &str, mut object: K)
where
    K: kube::Resource + Serialize + DeserializeOwned,
{
    object.meta_mut().namespace = Some(namespace.to_owned());
    server.create(&object).unwrap();
}

/// Starts the factory and waits until its informers have synced.
pub(crate) async fn synced(factory: &SharedInformerFactory) {
    factory.start();
    factory.wait_for_sync().await.unwrap();
}

/// Returns the names of objects, in the given order.
pub(crate) fn names<K: kube::Resource>(objects: &[Arc<K>]) -> Vec<&str> {
    objects
        .iter()
        .filter_map(|object| object.meta().name.as_deref())
        .collect()
}
