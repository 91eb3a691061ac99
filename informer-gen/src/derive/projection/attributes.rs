//! Reads `#[projection(..)]`, and rejects attributes that must not be beside it.

use proc_macro2::TokenStream;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Attribute, DeriveInput, LitStr, Path, Token};

use super::super::near;
use super::super::options::{Problems, once, quoted_or_not, string};

/// The keys of `#[projection(..)]` on a struct.
const KEYS: &[&str] = &["of", "crate"];
/// The keys of `#[projection(..)]` on a field.
const FIELD_KEYS: &[&str] = &["any", "rename"];

/// `#[projection(..)]` on a struct that is part of a projection.
pub(super) struct PartOptions {
    /// The whole type.
    pub(super) of: Path,
    /// The path of the crate `informers`.
    pub(super) library: Path,
}

impl PartOptions {
    pub(super) fn read(input: &DeriveInput) -> syn::Result<Self> {
        let (mut of, mut library) = (None, None);
        let mut problems = Problems::default();
        for attribute in input.attrs.iter().filter(|one| is(one, "projection")) {
            let read = attribute.parse_nested_meta(|meta| {
                let read = match near::name(&meta.path).as_str() {
                    "of" => meta
                        .value()
                        .and_then(quoted_or_not)
                        .and_then(|read| once(&mut of, &meta, read)),
                    "crate" => meta
                        .value()
                        .and_then(quoted_or_not)
                        .and_then(|read| once(&mut library, &meta, read)),
                    _ => Err(near::unknown_key(&meta.path, "#[projection(..)]", KEYS)),
                };
                problems.go_on(read, &meta)
            });
            problems.note(read);
        }
        problems.or(())?;
        let missing = || {
            let message = format!(
                "`{}` has no `of`: write `#[projection(of = ..)]` with the type whose fields it has, such \
                 as `k8s_openapi::api::core::v1::PodSpec`",
                input.ident
            );
            syn::Error::new_spanned(&input.ident, message)
        };
        Ok(Self {
            of: of.ok_or_else(missing)?,
            library: library.unwrap_or_else(|| syn::parse_quote!(::informers)),
        })
    }
}

/// `#[projection(..)]` on a field.
#[derive(Default)]
pub(super) struct FieldOptions {
    /// The JSON name, if it does not follow from the Rust name.
    pub(super) rename: Option<LitStr>,
    pub(super) types: Types,
}

/// Whether the type of a field must match that in the whole type.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Types {
    #[default]
    Fit,
    /// Not checked.
    Any,
}

impl FieldOptions {
    pub(super) fn read(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut options = Self::default();
        let mut problems = Problems::default();
        for attribute in attributes {
            if is(attribute, "serde") {
                problems.note::<()>(Err(serde_refused(attribute)));
            }
            if !is(attribute, "projection") {
                continue;
            }
            let read = attribute.parse_nested_meta(|meta| {
                let read = match near::name(&meta.path).as_str() {
                    "rename" => string(&meta).and_then(|read| once(&mut options.rename, &meta, read)),
                    "any" => {
                        options.types = Types::Any;
                        Ok(())
                    }
                    _ => Err(near::unknown_key(&meta.path, "#[projection(..)]", FIELD_KEYS)),
                };
                problems.go_on(read, &meta)
            });
            problems.note(read);
        }
        problems.or(options)
    }
}

/// Rejects attributes that would not have the effect the user expects.
pub(super) fn check_beside(input: &DeriveInput) -> syn::Result<()> {
    let mut problems = Problems::default();
    for attribute in &input.attrs {
        if is(attribute, "serde") {
            problems.note::<()>(Err(serde_refused(attribute)));
        }
        if is(attribute, "kube") {
            problems.note::<()>(Err(syn::Error::new_spanned(
                attribute,
                "a projection has the kind of its `of`: remove `#[kube(..)]`, or remove `of` if this is the \
                 spec of a custom resource",
            )));
        }
        if let Some(derived) = derived(attribute, "Deserialize") {
            problems.note::<()>(Err(syn::Error::new_spanned(
                derived,
                "a projection has a generated `Deserialize`: remove the derive of `Deserialize`",
            )));
        }
    }
    problems.or(())
}

/// On a whole object, `#[informer(..)]` names the whole type.
pub(super) fn refuse_part(input: &DeriveInput) -> syn::Result<()> {
    let part = input.attrs.iter().find(|one| is(one, "projection"));
    match part {
        None => Ok(()),
        Some(attribute) => Err(syn::Error::new_spanned(
            attribute,
            "`#[projection(..)]` is for the parts of an object and for fields: with `Informer`, write \
             `#[informer(of = ..)]`",
        )),
    }
}

fn serde_refused(attribute: &Attribute) -> syn::Error {
    syn::Error::new_spanned(
        attribute,
        "`#[serde(..)]` has no effect on a projection, which does not use serde's derive: names are those \
         of the whole type (`pod_ip` is read from `podIP`), and missing values are `Default`; for another \
         name write `#[projection(rename = \"..\")]` on the field",
    )
}

/// The path in a `#[derive(..)]` that ends so. Only derives below the one that is being expanded can be seen.
fn derived(attribute: &Attribute, ending: &str) -> Option<Path> {
    if !is(attribute, "derive") {
        return None;
    }
    let syn::Meta::List(list) = &attribute.meta else {
        return None;
    };
    let paths = Punctuated::<Path, Token![,]>::parse_terminated;
    let paths = paths.parse2(TokenStream::clone(&list.tokens)).ok()?;
    paths
        .into_iter()
        .find(|path| path.segments.last().is_some_and(|last| last.ident == ending))
}

fn is(attribute: &Attribute, name: &str) -> bool {
    attribute.path().is_ident(name)
}
