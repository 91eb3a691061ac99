//! Measures the memory of a cached Pod: complete, without managedFields, as metadata only, projected, and
//! packed.
//!
//! `cargo run -p informer-custom --release --example memory`. Pods are decoded as in an informer. The
//! allocator counts the requested heap bytes, including the object in its `Arc`.

#![allow(clippy::print_stdout, reason = "the program prints its results")]

mod packed;
mod pods;
mod source;

use std::alloc::System;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use informers::source::{Decode, JsonDecoder};
use informers::{Informer, ManagedFields, Object, Projection};
use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodSpec, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::PartialObjectMeta;
use serde::de::DeserializeOwned;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The number of pods to decode.
const PODS: usize = 1000;
/// The number of rounds. The fastest one counts, because disturbances only make a round slower.
const ROUNDS: usize = 31;

/// The fields of a program that tracks where pods run.
#[derive(Informer)]
#[informer(of = Pod, accessor = "pods_on_nodes")]
#[allow(dead_code, reason = "it is measured, not read")]
struct PodOnNode {
    metadata: ObjectMeta,
    spec: Option<OnNode>,
    status: Option<Address>,
}

#[derive(Projection)]
#[projection(of = PodSpec)]
#[allow(dead_code, reason = "it is measured, not read")]
struct OnNode {
    node_name: Option<String>,
}

#[derive(Projection)]
#[projection(of = PodStatus)]
#[allow(dead_code, reason = "it is measured, not read")]
struct Address {
    phase: Option<String>,
    pod_ip: Option<String>,
}

/// The fields of a program that tracks images and restarts.
#[derive(Informer)]
#[informer(of = Pod, accessor = "pod_images")]
#[allow(dead_code, reason = "it is measured, not read")]
struct PodImages {
    metadata: ObjectMeta,
    spec: Option<Images>,
    status: Option<Restarts>,
}

#[derive(Projection)]
#[projection(of = PodSpec)]
#[allow(dead_code, reason = "it is measured, not read")]
struct Images {
    node_name: Option<Box<str>>,
    containers: Box<[Image]>,
}

#[derive(Projection)]
#[projection(of = Container)]
#[allow(dead_code, reason = "it is measured, not read")]
struct Image {
    name: Box<str>,
    image: Option<Box<str>>,
}

#[derive(Projection)]
#[projection(of = PodStatus)]
#[allow(dead_code, reason = "it is measured, not read")]
struct Restarts {
    container_statuses: Box<[Restart]>,
}

#[derive(Projection)]
#[projection(of = ContainerStatus)]
#[allow(dead_code, reason = "it is measured, not read")]
struct Restart {
    name: Box<str>,
    image_id: Box<str>,
    restart_count: i32,
    ready: bool,
}

/// The cost of one way of decoding, per pod.
struct Cost {
    what: &'static str,
    heap: usize,
    allocations: usize,
    time: Duration,
}

fn main() {
    let whole: Vec<String> = (0..PODS).map(pods::json).collect();
    let metadata: Vec<String> = (0..PODS).map(pods::metadata_json).collect();
    let costs = [
        cost::<Pod>("Pod, managedFields kept", &whole, ManagedFields::Keep),
        cost::<Pod>("Pod (the default)", &whole, ManagedFields::Drop),
        cost::<PodImages>("PodImages", &whole, ManagedFields::Drop),
        cost::<PodOnNode>("PodOnNode", &whole, ManagedFields::Drop),
        cost::<PartialObjectMeta<Pod>>("PartialObjectMeta<Pod>", &metadata, ManagedFields::Drop),
    ];
    let base = &costs[1];
    let bytes = |texts: &[String]| texts.iter().map(String::len).sum::<usize>() / PODS;
    println!(
        "{PODS} pods of {} bytes of JSON, {} of them metadata\n",
        bytes(&whole),
        bytes(&metadata)
    );
    println!("| cached as | heap, bytes | of the default | allocations | decoded in | of the default |");
    println!("|---|--:|--:|--:|--:|--:|");
    for cost in &costs {
        println!(
            "| {} | {} | {:.1} % | {} | {:.1} µs | {:.0} % |",
            cost.what,
            cost.heap,
            100.0 * cost.heap as f64 / base.heap as f64,
            cost.allocations,
            cost.time.as_secs_f64() * 1e6,
            100.0 * cost.time.as_secs_f64() / base.time.as_secs_f64(),
        );
    }
    packed::print();
}

/// Decodes every text and keeps the results.
fn cost<K>(what: &'static str, texts: &[String], managed_fields: ManagedFields) -> Cost
where
    K: Object + DeserializeOwned,
    K::DynamicType: Default,
{
    let decoder = JsonDecoder::of::<K>(&K::DynamicType::default(), managed_fields);
    let decode = |text: &String| -> Arc<K> {
        let decoded = decoder.decode(text.as_bytes());
        Arc::new(decoded.expect("the pods of this program can be decoded"))
    };
    let mut objects: Vec<Arc<K>> = Vec::with_capacity(texts.len());
    let region = Region::new(ALLOCATOR);
    objects.extend(texts.iter().map(decode));
    let change = region.change();
    let time = (0..ROUNDS)
        .map(|_| {
            objects.clear();
            let start = Instant::now();
            objects.extend(texts.iter().map(decode));
            let elapsed = start.elapsed();
            black_box(&objects);
            elapsed
        })
        .min()
        .unwrap_or_default();
    let live = |made: usize, gone: usize| made.saturating_sub(gone) / texts.len();
    Cost {
        what,
        heap: live(change.bytes_allocated, change.bytes_deallocated),
        allocations: live(change.allocations, change.deallocations),
        time: time / u32::try_from(texts.len()).unwrap_or(u32::MAX),
    }
}
