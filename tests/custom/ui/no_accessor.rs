//! A type that is a resource, whose plural a macro cannot know.

#[derive(informers::Informer)]
struct IPAddressPool {}

fn main() {}
