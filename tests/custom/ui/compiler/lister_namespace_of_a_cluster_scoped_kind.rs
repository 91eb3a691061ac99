//! A namespace, for a kind whose objects are in none.

use informers::{Lister, Selector};
use k8s_openapi::api::core::v1::Node;

fn nodes(nodes: &Lister<Node>) -> usize {
    nodes.namespace("web").list(&Selector::everything()).len()
}

fn main() {}
