//! The attributes that every projection needs.

#![allow(unused_imports)]

use informers::{Informer, Projection};
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

#[derive(Informer)]
#[informer(of = Pod, accessor = "nameless_pods")]
pub struct Nameless {
    pub spec: Option<PodSpec>,
}

#[derive(Informer)]
#[informer(of = Pod)]
pub struct SlimPod {
    pub metadata: ObjectMeta,
}

#[derive(Projection)]
pub struct OfNothing {
    pub node_name: Option<String>,
}

#[derive(Informer)]
#[projection(of = Pod)]
#[informer(of = Pod, accessor = "misplaced_pods")]
pub struct Misplaced {
    pub metadata: ObjectMeta,
}

fn main() {}
