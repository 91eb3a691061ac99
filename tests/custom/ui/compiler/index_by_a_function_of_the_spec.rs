//! A function of the spec, not of the object.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, informers::Informer, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "shop.example", version = "v1", kind = "Order", schema = "disabled")]
#[informer(index(name = "owner", by = owner_of))]
struct OrderSpec {
    owner: String,
}

fn owner_of(spec: &OrderSpec) -> Option<String> {
    Some(spec.owner.clone())
}

fn main() {}
