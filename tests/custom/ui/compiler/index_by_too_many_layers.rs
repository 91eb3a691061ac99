//! A field within three containers: a path passes through two.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, informers::Informer, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "shop.example", version = "v1", kind = "Order", schema = "disabled")]
#[informer(index(name = "tag", by = "spec.tags"))]
struct OrderSpec {
    tags: Option<Vec<Option<String>>>,
}

fn main() {}
