//! Unknown keys, and duplicate keys.

#![allow(unused_imports)]

use informers::Projection;
use k8s_openapi::api::core::v1::{PodSpec, PodStatus};

#[derive(Projection)]
#[projection(off = PodSpec)]
pub struct OnStruct {
    pub node_name: Option<String>,
}

#[derive(Projection)]
#[projection(of = PodSpec)]
pub struct OnField {
    #[projection(renamed = "nodeName")]
    pub node_name: Option<String>,
    #[projection(default)]
    pub hostname: Option<String>,
}

#[derive(Projection)]
#[projection(of = PodStatus)]
pub struct Twice {
    pub pod_ip: Option<String>,
    #[projection(rename = "podIP")]
    pub host_ip: Option<String>,
}

fn main() {}
