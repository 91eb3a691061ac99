//! Kube's attribute without kube's derive, which would generate the type.

#[derive(informers::Informer)]
#[kube(group = "shop.example", version = "v1", kind = "Order", namespaced)]
#[informer(index(name = "owner", by = "spec.owner"))]
struct OrderSpec {
    owner: String,
}

fn main() {}
