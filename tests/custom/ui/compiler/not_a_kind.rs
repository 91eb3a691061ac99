//! A struct that is no kind.

#[derive(informers::Informer)]
#[informer(accessor = "orders")]
struct Order {}

fn main() {}
