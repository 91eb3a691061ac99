//! An enum: an object has fields.

#[derive(informers::Informer)]
#[informer(accessor = "orders")]
enum Order {
    Open,
}

fn main() {}
