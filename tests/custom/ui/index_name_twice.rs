//! Two indexes of one name.

#[derive(informers::Informer)]
#[informer(accessor = "orders", index(name = "owner", by = "spec.owner"))]
#[informer(index(name = "owner", by = "owner_of"))]
struct Order {}

fn main() {}
