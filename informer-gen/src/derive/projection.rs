//! Projections: a struct that has only some of the fields of a kind.

use proc_macro2::TokenStream;
use syn::DeriveInput;

use super::options::Options;

/// `#[derive(Informer)] #[informer(of = ..)]`.
pub(super) fn expand(input: &DeriveInput, options: Options) -> syn::Result<TokenStream> {
    let _ = options;
    Err(syn::Error::new_spanned(
        &input.ident,
        "projections are not there yet",
    ))
}

/// `#[derive(Projection)] #[projection(of = ..)]`.
pub(super) fn expand_part(input: &DeriveInput) -> syn::Result<TokenStream> {
    Err(syn::Error::new_spanned(
        &input.ident,
        "projections are not there yet",
    ))
}
