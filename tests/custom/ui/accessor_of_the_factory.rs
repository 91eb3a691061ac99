//! An accessor that a method of the factory would hide.

#[derive(informers::Informer)]
#[informer(accessor = "start")]
struct Start {}

fn main() {}
