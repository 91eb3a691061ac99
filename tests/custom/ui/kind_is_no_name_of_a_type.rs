//! A kind that no type can be called.

#[derive(informers::Informer)]
#[kube(group = "shop.example", version = "v1", kind = "Self")]
struct SelfSpec {}

fn main() {}
