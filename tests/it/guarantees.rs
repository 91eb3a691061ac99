//! The guarantees of ARCHITECTURE.md, I1 to I16 and those of controllers (C1 and so on): one test or more
//! each, named after them.
//!
//! `cargo xtask mutants` breaks each guarantee once and demands that a test of its name fails.

mod blocking;
mod cache;
mod controllers;
mod elsewhere;
mod handlers;
mod leadership;
mod order;
mod reaping;
mod service;
mod unusable;
mod workqueue;

use informer_core::SharedInformer;
use k8s_openapi::api::core::v1::ConfigMap;

/// The names in the cache, in order.
fn names(informer: &SharedInformer<ConfigMap>) -> Vec<String> {
    let keys = informer.indexer().keys();
    keys.iter().map(|key| key.name().to_owned()).collect()
}
