//! An object can be read.

#[derive(informers::Informer)]
#[informer(accessor = "orders")]
union Order {
    number: u32,
}

fn main() {}
