//! A kind whose plural is the name of a group.

#[derive(informers::Informer)]
#[kube(group = "shop.example", version = "v1", kind = "App", namespaced)]
struct AppSpec {}

fn main() {}
