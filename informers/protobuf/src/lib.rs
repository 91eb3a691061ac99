//! Decoders of Kubernetes protobuf for the built-in kinds, straight into the types of k8s-openapi.
//!
//! The crate `informers` uses it for every built-in kind. An informer without a factory takes a decoder from
//! [`decoder`]:
//!
//! ```no_run
//! # #[cfg(feature = "core")]
//! # fn example(client: kube::Client) -> Result<(), Box<dyn std::error::Error>> {
//! use informer_core::SharedInformer;
//! use k8s_openapi::api::core::v1::Pod;
//!
//! let mut builder = SharedInformer::<Pod>::builder(client);
//! if let Some(decode) = informer_protobuf::decoder::<Pod>() {
//!     builder = builder.protobuf(decode);
//! }
//! let pods = builder.build()?;
//! # Ok(())
//! # }
//! ```
//!
//! A decoded object equals the one that is decoded from the server's JSON. The code is generated from a
//! table of all fields; a kind with a field that has no rule would have no decoder. Each API group is a
//! feature.

#![cfg_attr(
    not(feature = "full"),
    allow(
        dead_code,
        unused_imports,
        reason = "which helpers are used depends on the groups"
    )
)]

#[rustfmt::skip]
mod generated;
#[cfg(feature = "apiextensions")]
mod json_schema;
mod read;
mod special;

use informer_core::source::protobuf::DecodeProtobuf;

/// Returns the decoder of a kind; `None` if the type is not a built-in kind, or its feature is disabled.
pub fn decoder<K: 'static>() -> Option<DecodeProtobuf<K>> {
    generated::find::<K>()
}
