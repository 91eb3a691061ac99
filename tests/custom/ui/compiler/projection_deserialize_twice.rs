//! Serde's derive in the same list: only the compiler can see both.

use informers::Projection;
use k8s_openapi::api::core::v1::PodStatus;

#[derive(Projection, serde::Deserialize)]
#[projection(of = PodStatus)]
pub struct Status {
    pub pod_ip: Option<String>,
}

fn main() {}
