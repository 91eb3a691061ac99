//! All errors in attributes are reported at once.

#[derive(informers::Informer)]
#[informer(accessor = 5, indx(name = "a", by = "b"), crate = "::informers")]
#[informer(index(name = "Owner", by = "spec.owner", vlaue = "u32"))]
struct Order {}

fn main() {}
