//! A type that implements `Resource`: the macro cannot know its plural.

#[derive(informers::Informer)]
struct IPAddressPool {}

fn main() {}
