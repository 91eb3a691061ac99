//! A function that returns a value, not an iterator.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, informers::Informer, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "shop.example", version = "v1", kind = "Order", schema = "disabled")]
#[informer(index(name = "items", by = "items_of", value = "u32"))]
struct OrderSpec {
    items: u32,
}

fn items_of(order: &Order) -> u32 {
    order.spec.items
}

fn main() {}
