//! The bodies of the derive macros: the declaration of a type in, the names of its informer out.
//!
//! A proc macro can be called by the compiler only, so all of it is here, where it can be tested; the crate
//! informer-derive calls it and documents it for users.

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

/// The body of `#[derive(Informer)]`. What is wrong with the input comes back as `compile_error!`s.
pub fn informer(input: TokenStream) -> TokenStream {
    or_errors(syn::parse2(input).and_then(|input| expand(&input)))
}

/// The body of `#[derive(Projection)]`, for the parts a projection is made of.
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

/// A place in the user's source, but known to the compiler as written by a macro, so that lints let it be.
fn of_macro(span: Span) -> Span {
    Span::call_site().located_at(span)
}
