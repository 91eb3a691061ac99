//! Types that cannot be projections.

#![allow(unused_imports)]

use informers::{Informer, Projection};
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

#[derive(Informer)]
#[informer(of = Pod, accessor = "choices")]
pub enum Choice {
    Metadata(ObjectMeta),
}

#[derive(Informer)]
#[informer(of = Pod, accessor = "tuples")]
pub struct Tuple(pub ObjectMeta);

#[derive(Projection)]
#[projection(of = PodSpec)]
pub struct Unit;

#[derive(Projection)]
#[projection(of = PodSpec)]
pub struct Generic<T> {
    pub node_name: Option<T>,
}

fn main() {}
