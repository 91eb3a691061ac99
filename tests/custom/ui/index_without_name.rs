//! An index that nothing can ask for.

#[derive(informers::Informer)]
#[informer(accessor = "orders", index(by = "spec.owner"))]
struct Order {}

fn main() {}
