//! Values that cannot be sorted.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, informers::Informer, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "shop.example", version = "v1", kind = "Order", schema = "disabled")]
#[informer(index(name = "size", by = "spec.size", value = "Size"))]
struct OrderSpec {
    size: Size,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Size(u32);

fn main() {}
