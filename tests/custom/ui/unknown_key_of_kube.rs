//! A key of kube's attribute.

#[derive(informers::Informer)]
#[kube(group = "shop.example", version = "v1", kind = "Order")]
#[informer(namespaced)]
struct OrderSpec {}

fn main() {}
