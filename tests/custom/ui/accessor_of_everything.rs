//! An accessor that is a method of many types.

#[derive(informers::Informer)]
#[informer(accessor = "clone")]
struct Clone {}

fn main() {}
