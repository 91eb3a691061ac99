//! The kind is missing.

#[derive(informers::Informer)]
#[kube(group = "shop.example", version = "v1")]
struct OrderSpec {}

fn main() {}
