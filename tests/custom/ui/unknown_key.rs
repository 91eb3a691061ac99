//! A key that does not exist, but nearly.

#[derive(informers::Informer)]
#[kube(group = "shop.example", version = "v1", kind = "Order")]
#[informer(acessor = "purchases")]
struct OrderSpec {}

fn main() {}
