//! The derive macros of the crate informers, which re-exports them under its feature `derive`.
//!
//! Their bodies are in the crate informer-gen, so that they can be tested. Neither depends on kube or k8s-openapi: a proc macro that
//! did would need a Kubernetes version of its own.

use proc_macro::TokenStream;

/// Use it as `informers::Informer`, under the feature `derive`; it is documented there.
#[proc_macro_derive(Informer, attributes(informer, kube, projection, serde))]
pub fn informer(input: TokenStream) -> TokenStream {
    informer_gen::derive::informer(input.into()).into()
}

/// Makes a struct part of a projection.
#[proc_macro_derive(Projection, attributes(projection, serde))]
pub fn projection(input: TokenStream) -> TokenStream {
    informer_gen::derive::projection(input.into()).into()
}
