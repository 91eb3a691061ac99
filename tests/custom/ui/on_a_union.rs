//! A union: an object can be decoded.

#[derive(informers::Informer)]
#[informer(accessor = "orders")]
union Order {
    number: u32,
}

fn main() {}
