//! The decoder of a projection.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::Ident;
use syn::spanned::Spanned;

use super::Projection;

/// `impl Deserialize`: a struct of the names in `__NAMES`, where other keys are ignored, and missing or
/// `null` values are `Default`, as in k8s-openapi's own types.
pub(super) fn deserialize(projection: &Projection<'_>) -> TokenStream {
    let Projection {
        ident,
        whole,
        library,
        fields,
    } = projection;
    let support = projection.support();
    let serde = quote!(#library::__private::serde);
    let expecting = match whole.segments.last() {
        Some(last) => format!("a {}", last.ident),
        None => format!("a {ident}"),
    };
    let name = ident.to_string();
    let slots: Vec<_> = (0..fields.len())
        .map(|place| format_ident!("__field_{place}"))
        .collect();
    let declared = fields.iter().zip(&slots).map(|(field, slot)| {
        let ty = field.ty;
        quote!(let mut #slot: ::core::option::Option<#ty> = ::core::option::Option::None;)
    });
    let arms = slots
        .iter()
        .enumerate()
        .map(|(place, slot)| quote!(#place => #slot = #serde::de::MapAccess::next_value(&mut map)?,));
    let built = fields.iter().zip(&slots).map(|(field, slot)| {
        let name = field.ident;
        let span = Span::call_site().located_at(field.ty.span());
        let slot = Ident::new(&slot.to_string(), span);
        let value = quote_spanned!(span=> ::core::option::Option::unwrap_or_default(#slot));
        quote!(#name: #value)
    });
    quote! {
        impl<'de> #serde::Deserialize<'de> for #ident {
            fn deserialize<D: #serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                struct __Visitor;

                impl<'de> #serde::de::Visitor<'de> for __Visitor {
                    type Value = #ident;

                    fn expecting(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                        f.write_str(#expecting)
                    }

                    fn visit_map<A: #serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> ::core::result::Result<#ident, A::Error> {
                        #(#declared)*
                        while let ::core::option::Option::Some(place) =
                            #serde::de::MapAccess::next_key_seed(&mut map, #support::Key(__NAMES))?
                        {
                            match place {
                                #(#arms)*
                                _ => #support::skip(&mut map)?,
                            }
                        }
                        ::core::result::Result::Ok(#ident { #(#built),* })
                    }
                }

                deserializer.deserialize_struct(#name, __NAMES, __Visitor)
            }
        }
    }
}
