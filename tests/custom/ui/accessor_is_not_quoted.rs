//! An accessor that is not a string.

#[derive(informers::Informer)]
#[informer(accessor = orders)]
struct Order {}

fn main() {}
