//! Projections: a struct with some of the fields of a whole type.
//!
//! Generated code decodes the struct instead of serde's derive, because the JSON names are those of the whole
//! type and not in the struct. A function that is never called checks that the whole type has these fields
//! with matching types.

mod attributes;
mod fields;
mod names;
mod read;
mod types;

#[cfg(test)]
#[path = "projection_tests.rs"]
mod tests;

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{DeriveInput, Ident, Path};

use self::attributes::PartOptions;
use self::fields::Field;
use super::items::{self, Kind};
use super::kube::Scope;
use super::options::Options;
use super::{accessor, index, kind};

/// A struct, and the whole type with all fields.
struct Projection<'i> {
    ident: &'i Ident,
    /// The whole type.
    whole: &'i Path,
    /// The path of the crate `informers`.
    library: &'i Path,
    fields: Vec<Field<'i>>,
}

/// `#[derive(Informer)] #[informer(of = ..)]`.
pub(super) fn expand(input: &DeriveInput, options: Options) -> syn::Result<TokenStream> {
    attributes::refuse_part(input)?;
    let library = options.library();
    let Some(whole) = &options.of else {
        return Err(syn::Error::new_spanned(&input.ident, "no `#[informer(of = ..)]`"));
    };
    let projection = Projection {
        ident: &input.ident,
        whole,
        library: &library,
        fields: fields::checked(input)?,
    };
    fields::check_metadata(input, &projection.fields)?;
    index::check_fields(&options.indexes, &kind::fields(input, None))?;
    let Some(accessor) = &options.accessor else {
        return Err(syn::Error::new_spanned(
            &input.ident,
            format!(
                "a projection needs its own accessor, beside that of the kind: write `#[informer(of = .., \
                 accessor = \"{}\")]`",
                accessor::guess(&input.ident)
            ),
        ));
    };
    let accessor = accessor::chosen(accessor, Scope::Unknown)?;
    let (part, resource) = (projection.part(), projection.resource());
    let items = items::items(&Kind {
        ident: input.ident.clone(),
        accessor,
        scope: Scope::Unknown,
        visibility: input.vis.clone(),
        library: library.clone(),
        indexes: options.indexes,
    });
    Ok(quote!(#part #resource #items))
}

/// `#[derive(Projection)] #[projection(of = ..)]`.
pub(super) fn expand_part(input: &DeriveInput) -> syn::Result<TokenStream> {
    let options = PartOptions::read(input)?;
    let projection = Projection {
        ident: &input.ident,
        whole: &options.of,
        library: &options.library,
        fields: fields::checked(input)?,
    };
    Ok(projection.part())
}

impl Projection<'_> {
    /// Generates the decoder, the list of fields, and the check against the whole type.
    fn part(&self) -> TokenStream {
        let Self {
            ident,
            whole,
            library,
            fields,
        } = self;
        let support = self.support();
        let names = fields.iter().map(|field| names::expression(self, field));
        let deserialize = read::deserialize(self);
        let described = fields.iter().enumerate().map(|(place, field)| {
            let rust = field.name();
            let part = types::part(self, field);
            quote!(#support::Field { rust: #rust, json: __NAMES[#place], part: #part })
        });
        let checks = fields.iter().map(|field| types::check(self, field));
        quote! {
            #[allow(dead_code, deprecated, unused_imports, reason = "only type-checked, never run")]
            const _: () = {
                use #support::{Foreign as _, NotAProjection as _};

                const __NAMES: &[&str] = &[#(#names),*];

                #deserialize

                impl #library::projection::Projection for #ident {
                    type Of = #whole;
                    const FIELDS: &'static [#support::Field] = &[#(#described),*];
                }

                fn __check(whole: &#whole) {
                    #(#checks)*
                }
            };
        }
    }

    /// The identity of the whole kind, for the type of the projection.
    fn resource(&self) -> TokenStream {
        let Self {
            ident,
            whole,
            library,
            ..
        } = self;
        let span = Span::call_site().located_at(whole.span());
        let kube = quote_spanned!(span=> #library::__private::kube);
        let asked = ["kind", "group", "version", "api_version", "plural"].map(|name| {
            let method = Ident::new(name, span);
            quote_spanned! {span=>
                #[inline]
                fn #method(_: &Self::DynamicType) -> ::std::borrow::Cow<'_, str> {
                    <#whole as #kube::Resource>::#method(&())
                }
            }
        });
        quote_spanned! {span=>
            impl #kube::Resource for #ident {
                type DynamicType = #library::Projected;
                type Scope = <#whole as #kube::Resource>::Scope;
                #(#asked)*
                #[inline]
                fn meta(&self) -> &#kube::core::ObjectMeta {
                    &self.metadata
                }
                #[inline]
                fn meta_mut(&mut self) -> &mut #kube::core::ObjectMeta {
                    &mut self.metadata
                }
            }
        }
    }

    /// The hidden module of the crate `informers` that generated code uses.
    fn support(&self) -> TokenStream {
        let library = self.library;
        quote!(#library::__private::projection)
    }
}
