//! An accessor that is not a method name.

#[derive(informers::Informer)]
#[informer(accessor = "my-orders")]
struct Order {}

fn main() {}
