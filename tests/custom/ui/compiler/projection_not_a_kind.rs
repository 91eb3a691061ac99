//! An informer of a type that is not a kind.

use informers::Informer;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

#[derive(serde::Deserialize)]
pub struct Whole {
    pub metadata: ObjectMeta,
}

#[derive(Informer)]
#[informer(of = Whole, accessor = "parts")]
pub struct Part {
    pub metadata: ObjectMeta,
}

fn main() {}
