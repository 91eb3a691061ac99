//! A struct that is not a kind.

#[derive(informers::Informer)]
#[informer(accessor = "orders")]
struct Order {}

fn main() {}
