//! A function whose values are not those of the index, which are strings by default.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, informers::Informer, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "shop.example", version = "v1", kind = "Order", schema = "disabled")]
#[informer(index(name = "items", by = "items_of"))]
struct OrderSpec {
    items: u32,
}

fn items_of(order: &Order) -> Vec<u32> {
    vec![order.spec.items]
}

fn main() {}
