//! A name that no accessor can have.

#[derive(informers::Informer)]
#[informer(accessor = "orders", index(name = "shop.example/owner", by = "spec.owner"))]
struct Order {}

fn main() {}
