//! An accessor that is a keyword.

#[derive(informers::Informer)]
#[informer(accessor = "type")]
struct Order {}

fn main() {}
