//! An accessor that the factory's own method would hide.

#[derive(informers::Informer)]
#[informer(accessor = "start")]
struct Start {}

fn main() {}
