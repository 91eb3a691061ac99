//! Another name for a field whose name is known.

use informers::Projection;
use k8s_openapi::api::core::v1::PodStatus;

#[derive(Projection)]
#[projection(of = PodStatus)]
struct Address {
    #[projection(rename = "podIp")]
    pod_ip: Option<String>,
}

fn main() {}
