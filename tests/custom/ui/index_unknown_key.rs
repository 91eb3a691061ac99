//! A key of an index that does not exist.

#[derive(informers::Informer)]
#[informer(accessor = "orders", index(name = "owner", field = "spec.owner"))]
struct Order {}

fn main() {}
