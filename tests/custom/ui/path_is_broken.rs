//! An invalid path.

#[derive(informers::Informer)]
#[informer(accessor = "orders", crate = "my informers")]
struct Order {}

fn main() {}
