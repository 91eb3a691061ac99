//! Optional metadata.

#![allow(unused_imports)]

use informers::Informer;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

#[derive(Informer)]
#[informer(of = Pod, accessor = "slim_pods")]
struct SlimPod {
    metadata: Option<ObjectMeta>,
}

fn main() {}
