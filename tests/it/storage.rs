//! Runs the whole suite with packed storage, if an environment variable requests it.

use informer_core::__pack_by_default as pack;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Pod, Secret, Service};
use kube::core::{DynamicObject, PartialObjectMeta};

/// `packed` packs the objects of every informer whose test does not set a storage.
pub const VARIABLE: &str = "INFORMER_IT_STORAGE";

/// How many objects stay decoded. Few, so that most are decoded when they are read.
const HOT_OBJECTS: usize = 2;

/// Sets the storage of the tests that do not set one. The attribute `test` of this package calls it before
/// the first test.
pub(crate) fn choose() {
    match std::env::var(VARIABLE).as_deref() {
        Err(_) | Ok("decoded") => {}
        Ok("packed") => {
            pack::<ConfigMap>(HOT_OBJECTS);
            pack::<Deployment>(HOT_OBJECTS);
            pack::<DynamicObject>(HOT_OBJECTS);
            pack::<Namespace>(HOT_OBJECTS);
            pack::<Node>(HOT_OBJECTS);
            pack::<PartialObjectMeta<ConfigMap>>(HOT_OBJECTS);
            pack::<PartialObjectMeta<DynamicObject>>(HOT_OBJECTS);
            pack::<Pod>(HOT_OBJECTS);
            pack::<ReplicaSet>(HOT_OBJECTS);
            pack::<Secret>(HOT_OBJECTS);
            pack::<Service>(HOT_OBJECTS);
        }
        Ok(other) => panic!("{VARIABLE} is {other:?}; use \"packed\" or \"decoded\""),
    }
}
