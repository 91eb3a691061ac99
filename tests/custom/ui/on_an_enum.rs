//! An object has fields.

#[derive(informers::Informer)]
#[informer(accessor = "orders")]
enum Order {
    Open,
}

fn main() {}
