//! The JSON name of a field, as an expression: it may depend on the whole type, which only the compiler
//! knows.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{LitStr, Path};

use super::super::of_macro;
use super::Projection;
use super::fields::{Field, Json};
use crate::inventory::fields::{JsonName, json_name};

/// A constant expression of type `&str`.
pub(super) fn expression(projection: &Projection<'_>, field: &Field<'_>) -> TokenStream {
    match &field.json {
        Json::Renamed(name) => renamed(projection, field, name),
        Json::Known(name) => known(projection, name),
    }
}

/// The name given by the user, unless another name is known: then no value would be found under it.
fn renamed(projection: &Projection<'_>, field: &Field<'_>, name: &LitStr) -> TokenStream {
    let (support, whole) = (projection.support(), projection.whole);
    let known = known(projection, &json_name(&field.name()));
    let message = format!(
        "the field `{}` has another name in JSON, which is known: remove `rename = \"{}\"`. (It is for types \
         outside k8s-openapi.)",
        field.name(),
        name.value()
    );
    quote_spanned! {of_macro(name.span())=> {
        ::core::assert!(
            !#support::Origin::<#whole>::IS_BUILT_IN || #support::is_same(#known, #name),
            #message
        );
        #name
    }}
}

/// The name that the whole type has for the field.
fn known(projection: &Projection<'_>, known: &JsonName) -> TokenStream {
    let (built_in, elsewhere) = (&known.built_in, &known.elsewhere);
    let whole = projection.whole;
    let support = projection.support();
    let mut name = match built_in == elsewhere {
        true => quote!(#built_in),
        false => quote!(if #support::Origin::<#whole>::IS_BUILT_IN { #built_in } else { #elsewhere }),
    };
    for (path, exception) in &known.exceptions {
        let is_it = is_type(projection, path);
        name = quote!(if #is_it { #exception } else { #name });
    }
    name
}

/// Whether the whole type is the one at `path` in k8s-openapi, under any alias.
fn is_type(projection: &Projection<'_>, path: &str) -> TokenStream {
    let Projection { whole, library, .. } = projection;
    let path: Path = syn::parse_str(path).expect("the table has paths of types");
    // A constant of the type itself takes precedence over that of a trait.
    quote! {{
        struct __Is<T>(::core::marker::PhantomData<T>);
        trait __Other {
            const IS: bool = false;
        }
        impl<T> __Other for __Is<T> {}
        impl __Is<#library::__private::k8s_openapi::#path> {
            const IS: bool = true;
        }
        __Is::<#whole>::IS
    }}
}
