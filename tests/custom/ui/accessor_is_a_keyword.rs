//! An accessor that is a word of the language.

#[derive(informers::Informer)]
#[informer(accessor = "type")]
struct Order {}

fn main() {}
