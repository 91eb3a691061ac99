//! An accessor that a method of the lister would hide.

#[derive(informers::Informer)]
#[kube(group = "shop.example", version = "v1", kind = "Order", plural = "list", namespaced)]
struct OrderSpec {}

fn main() {}
