//! An index without values.

#[derive(informers::Informer)]
#[informer(accessor = "orders", index(name = "owner"))]
struct Order {}

fn main() {}
