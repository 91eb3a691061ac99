//! An attribute that says nothing.

#[derive(informers::Informer)]
#[informer]
struct Order {}

fn main() {}
