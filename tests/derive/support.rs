//! A server with a few custom resources, and a factory that has read them.

use std::sync::Arc;

use informer_testing::ApiServer;
use informers::SharedInformerFactory;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Makes the server know a kind.
pub(crate) fn define<K: CustomResourceExt>(server: &ApiServer) {
    server.create::<CustomResourceDefinition>(&K::crd()).unwrap();
}

/// Puts an object into a namespace.
pub(crate) fn create_in<K>(server: &ApiServer, namespace: &str, mut object: K)
where
    K: kube::Resource + Serialize + DeserializeOwned,
{
    object.meta_mut().namespace = Some(namespace.to_owned());
    server.create(&object).unwrap();
}

/// Starts what was asked for, and waits until the caches are whole.
pub(crate) async fn synced(factory: &SharedInformerFactory) {
    factory.start();
    factory.wait_for_sync().await.unwrap();
}

/// The names of objects, in the order they come.
pub(crate) fn names<K: kube::Resource>(objects: &[Arc<K>]) -> Vec<&str> {
    objects
        .iter()
        .filter_map(|object| object.meta().name.as_deref())
        .collect()
}
