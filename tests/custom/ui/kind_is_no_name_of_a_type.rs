//! A kind that is not a type name.

#[derive(informers::Informer)]
#[kube(group = "shop.example", version = "v1", kind = "Self")]
struct SelfSpec {}

fn main() {}
