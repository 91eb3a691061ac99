//! The derive macros of the crate informers, which re-exports them under its feature `derive`.
//!
//! The crate informer-gen implements them, so that they can be tested. Neither crate depends on kube or
//! k8s-openapi: such a proc macro would have to choose a Kubernetes version.

use proc_macro::TokenStream;

/// Documented as `informers::Informer`, under the feature `derive` of that crate.
#[proc_macro_derive(Informer, attributes(informer, kube, projection, serde))]
pub fn informer(input: TokenStream) -> TokenStream {
    informer_gen::derive::informer(input.into()).into()
}

/// Makes a struct a part of a projection. Documented as `informers::Projection`.
#[proc_macro_derive(Projection, attributes(projection, serde))]
pub fn projection(input: TokenStream) -> TokenStream {
    informer_gen::derive::projection(input.into()).into()
}
