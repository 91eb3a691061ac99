//! An accessor that half of all types have.

#[derive(informers::Informer)]
#[informer(accessor = "clone")]
struct Clone {}

fn main() {}
