//! A path with a field that the object does not have.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, informers::Informer, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "shop.example", version = "v1", kind = "Order", schema = "disabled")]
#[informer(index(name = "owner", by = "spec.ownr"))]
struct OrderSpec {
    owner: String,
}

fn main() {}
