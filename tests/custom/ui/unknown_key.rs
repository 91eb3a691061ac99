//! A misspelt key.

#[derive(informers::Informer)]
#[kube(group = "shop.example", version = "v1", kind = "Order")]
#[informer(acessor = "purchases")]
struct OrderSpec {}

fn main() {}
