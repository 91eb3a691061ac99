//! Checks that the type of a field matches that in the whole type.
//!
//! `Option` and `Box` are ignored on both sides; `Vec`s and maps must be where the whole type has them; the
//! innermost type is that of the whole type, or a projection of it. The compiler decides which of the two.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{GenericArgument, PathArguments, PathSegment, Type};

use super::Projection;
use super::attributes::Types;
use super::fields::Field;

/// A container between the type of a field and the innermost type.
enum Layer<'t> {
    Elements(&'t Type),
    Values { of: &'t Type, keys: &'t Type },
}

/// The containers of a type, outermost first, and the innermost type.
fn layers(mut ty: &Type) -> (Vec<Layer<'_>>, &Type) {
    let mut layers = Vec::new();
    loop {
        match ty {
            Type::Group(group) => ty = &group.elem,
            Type::Paren(paren) => ty = &paren.elem,
            Type::Slice(slice) => {
                layers.push(Layer::Elements(ty));
                ty = &slice.elem;
            }
            Type::Path(path) => match path.path.segments.last().and_then(container) {
                Some(Container::Transparent(inner)) => ty = inner,
                Some(Container::List(inner)) => {
                    layers.push(Layer::Elements(ty));
                    ty = inner;
                }
                Some(Container::Map(keys, inner)) => {
                    layers.push(Layer::Values { of: ty, keys });
                    ty = inner;
                }
                None => return (layers, ty),
            },
            _ => return (layers, ty),
        }
    }
}

/// A container of the standard library, by its name.
enum Container<'t> {
    Transparent(&'t Type),
    List(&'t Type),
    Map(&'t Type, &'t Type),
}

fn container(segment: &PathSegment) -> Option<Container<'_>> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    let types: Vec<&Type> = arguments
        .args
        .iter()
        .filter_map(|argument| match argument {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        })
        .collect();
    match (segment.ident.to_string().as_str(), types.as_slice()) {
        ("Option" | "Box", &[inner]) => Some(Container::Transparent(inner)),
        ("Vec", &[inner]) => Some(Container::List(inner)),
        ("BTreeMap" | "HashMap", &[keys, inner, ..]) => Some(Container::Map(keys, inner)),
        _ => None,
    }
}

/// Statements that compile only if the whole type has the field, and its type fits.
pub(super) fn check(projection: &Projection<'_>, field: &Field<'_>) -> TokenStream {
    let ident = field.ident;
    let support = projection.support();
    let whole = quote_spanned!(located(ident.span())=> &whole.#ident);
    if field.types == Types::Any {
        return quote!(let _ = #whole;);
    }
    let (layers, innermost) = layers(field.ty);
    let mut at = quote!(#support::Whole::of(#whole));
    for layer in layers {
        at = match layer {
            Layer::Elements(of) => quote_spanned!(located(of.span())=> #at.elements()),
            Layer::Values { of, keys } => quote_spanned!(located(of.span())=> #at.values::<#keys, _>()),
        };
    }
    quote_spanned!(located(innermost.span())=> #at.is_projected_to::<#innermost, _>();)
}

/// The user's span for names of this macro: the struct may come from another macro.
fn located(span: Span) -> Span {
    Span::call_site().located_at(span)
}

/// An expression: the description of the field's value, if it is a projection.
pub(super) fn part(projection: &Projection<'_>, field: &Field<'_>) -> TokenStream {
    if field.types == Types::Any {
        return quote!(::core::option::Option::None);
    }
    let support = projection.support();
    let (_, innermost) = layers(field.ty);
    quote!(#support::Part::<#innermost>::DESCRIPTION)
}
