//! A value that is planted in Secrets appears in no text of the library: logs at TRACE, errors, `Debug` and
//! `Display` of public types, status, the debug page and metrics. A separate binary, because its log collects
//! the lines of all threads.
//!
//! A new kind of text (a page, a metric) is one more line in [`Surfaces::informer`] or in a scene.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[macro_use]
extern crate informer_it_macros;
extern crate informer_it as tokio;

mod controller;
mod failures;
mod informer;
mod log;
mod pages;
mod surfaces;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// The planted value. The length is a multiple of three, so that base64 of it has one form.
const CANARY: &str = "canary-4f1d8a6e2b-chirps";

/// A Secret with the canary wherever content can be.
fn secret(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {
            "name": name, "namespace": "default",
            "annotations": {"note": CANARY},
            "managedFields": [{"manager": CANARY, "operation": "Update", "apiVersion": "v1",
                "fieldsType": "FieldsV1", "fieldsV1": {(format!("f:{CANARY}")): {}}}],
        },
        "data": {"password": STANDARD.encode(CANARY), (CANARY): ""},
    })
}
