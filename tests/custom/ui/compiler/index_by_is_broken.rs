//! Neither a path nor a function.

#[derive(informers::Informer)]
#[informer(accessor = "orders", index(name = "tag", by = "spec.tags[*]"))]
#[informer(index(name = "owner", by = "owner of"))]
struct Order {}

fn main() {}
