//! Two accessors, in two attributes.

#[derive(informers::Informer)]
#[informer(accessor = "orders")]
#[informer(accessor = "purchases")]
struct Order {}

fn main() {}
