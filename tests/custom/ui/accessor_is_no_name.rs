//! An accessor that cannot be a method.

#[derive(informers::Informer)]
#[informer(accessor = "my-orders")]
struct Order {}

fn main() {}
