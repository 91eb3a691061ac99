//! Implementation of the derive macros: generates the names of an informer from the declaration of a type.
//!
//! Only the compiler can call a proc macro, so the implementation is here, where it can be tested. The crate
//! informer-derive calls it.

mod accessor;
mod index;
mod items;
mod kind;
mod kube;
mod near;
mod options;
mod projection;

#[cfg(test)]
#[path = "derive_tests.rs"]
mod tests;

use proc_macro2::{Span, TokenStream};
use syn::DeriveInput;

pub use self::accessor::{factory_methods, lister_methods};
use self::options::Options;

/// The body of `#[derive(Informer)]`. Errors of the input are returned as `compile_error!`s.
pub fn informer(input: TokenStream) -> TokenStream {
    or_errors(syn::parse2(input).and_then(|input| expand(&input)))
}

/// The body of `#[derive(Projection)]`, for the parts of a projection.
pub fn projection(input: TokenStream) -> TokenStream {
    or_errors(syn::parse2(input).and_then(|input| projection::expand_part(&input)))
}

fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let options = Options::read(&input.attrs)?;
    match &options.of {
        Some(_) => projection::expand(input, options),
        None => kind::expand(input, options),
    }
}

fn or_errors(expanded: syn::Result<TokenStream>) -> TokenStream {
    expanded.unwrap_or_else(|error| error.to_compile_error())
}

/// A place in the user's source that the compiler treats as macro-generated, so that lints ignore it.
fn of_macro(span: Span) -> Span {
    Span::call_site().located_at(span)
}
