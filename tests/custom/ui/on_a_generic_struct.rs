//! An accessor is of one kind.

#[derive(informers::Informer)]
#[informer(accessor = "orders")]
struct Order<T> {
    spec: T,
}

fn main() {}
