//! A generic struct: an accessor is for one kind.

#[derive(informers::Informer)]
#[informer(accessor = "orders")]
struct Order<T> {
    spec: T,
}

fn main() {}
