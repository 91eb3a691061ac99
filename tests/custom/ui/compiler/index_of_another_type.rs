//! A field whose type is not that of the index, which is `String` by default.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, informers::Informer, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "shop.example", version = "v1", kind = "Order", schema = "disabled")]
#[informer(index(name = "items", by = "spec.items"))]
struct OrderSpec {
    items: u32,
}

fn main() {}
