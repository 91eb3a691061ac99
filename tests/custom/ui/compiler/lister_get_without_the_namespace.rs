//! A name without a namespace, for a namespaced kind.

use informers::Lister;
use k8s_openapi::api::core::v1::Pod;

fn front(pods: &Lister<Pod>) -> bool {
    pods.get("front-0").is_some()
}

fn main() {}
