//! An attribute without keys.

#[derive(informers::Informer)]
#[informer]
struct Order {}

fn main() {}
