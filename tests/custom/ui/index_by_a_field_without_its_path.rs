//! A field where a function is expected.

#[derive(informers::Informer)]
#[kube(group = "shop.example", version = "v1", kind = "Order", namespaced)]
#[informer(index(name = "owner", by = "owner"))]
struct OrderSpec {
    owner: String,
}

#[derive(informers::Informer)]
#[informer(accessor = "parcels", index(name = "weight", by = "weight", value = u32))]
struct Parcel {
    weight: u32,
}

fn main() {}
