//! Serde's attributes and derive beside those of a projection.

#![allow(unused_imports)]

use informers::{Informer, Projection};
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

#[derive(Informer)]
#[informer(of = Pod, accessor = "renamed_pods")]
#[serde(rename_all = "camelCase")]
pub struct Renamed {
    pub metadata: ObjectMeta,
    #[serde(default)]
    pub status: Option<Status>,
}

#[derive(Projection)]
#[derive(serde::Deserialize)]
#[projection(of = PodStatus)]
pub struct Status {
    pub pod_ip: Option<String>,
}

fn main() {}
