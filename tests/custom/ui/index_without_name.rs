//! An index without a name.

#[derive(informers::Informer)]
#[informer(accessor = "orders", index(by = "spec.owner"))]
struct Order {}

fn main() {}
