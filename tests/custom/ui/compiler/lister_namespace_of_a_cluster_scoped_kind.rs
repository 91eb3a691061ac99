//! A namespace, for a cluster-scoped kind.

use informers::{Lister, Selector};
use k8s_openapi::api::core::v1::Node;

fn nodes(nodes: &Lister<Node>) -> usize {
    nodes.namespace("web").list(&Selector::everything()).len()
}

fn main() {}
