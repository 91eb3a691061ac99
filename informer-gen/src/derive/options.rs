//! Reads `#[informer(..)]` and its values.

use proc_macro2::TokenTree;
use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, LitStr, Path, Token};

use super::index::{self, Index};
use super::near;

/// The keys of `#[informer(..)]`.
const KEYS: &[&str] = &["accessor", "crate", "index", "of"];

/// Keys of `#[kube(..)]` that users write here by mistake.
const OF_KUBE: &[&str] = &[
    "group",
    "kind",
    "namespaced",
    "plural",
    "root",
    "singular",
    "version",
];

/// All `#[informer(..)]` attributes of a type together.
#[derive(Default)]
pub(super) struct Options {
    /// The name of the factory's method.
    pub(super) accessor: Option<LitStr>,
    /// The indexes, in the order of the source.
    pub(super) indexes: Vec<Index>,
    /// The kind of which the type is a projection.
    pub(super) of: Option<Path>,
    /// The path of the crate `informers`, if not `::informers`.
    library: Option<Path>,
}

impl Options {
    /// Reads the attributes. All errors are reported together.
    pub(super) fn read(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut options = Self::default();
        let mut problems = Problems::default();
        for attribute in attributes.iter().filter(|one| one.path().is_ident("informer")) {
            let read = attribute.parse_nested_meta(|meta| {
                let read = options.read_key(&meta);
                problems.go_on(read, &meta)
            });
            problems.note(read);
        }
        problems.note(index::check_names(&options.indexes));
        problems.or(options)
    }

    /// The path of the crate `informers`.
    pub(super) fn library(&self) -> Path {
        let default = || syn::parse_quote!(::informers);
        self.library.clone().unwrap_or_else(default)
    }

    fn read_key(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        match near::name(&meta.path).as_str() {
            "accessor" => once(&mut self.accessor, meta, string(meta)?),
            "crate" => once(&mut self.library, meta, quoted_or_not(meta.value()?)?),
            "of" => once(&mut self.of, meta, quoted_or_not(meta.value()?)?),
            "index" => Index::read(meta).map(|index| self.indexes.push(index)),
            of_kube if OF_KUBE.contains(&of_kube) => {
                let message =
                    format!("`{of_kube}` is read from kube's attribute: write it into `#[kube(..)]`");
                Err(syn::Error::new_spanned(&meta.path, message))
            }
            _ => Err(near::unknown_key(&meta.path, "#[informer(..)]", KEYS)),
        }
    }
}

/// Several errors, reported together.
#[derive(Default)]
pub(super) struct Problems(Option<syn::Error>);

impl Problems {
    /// The value; an error is kept.
    pub(super) fn note<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                match &mut self.0 {
                    Some(first) => first.combine(error),
                    None => self.0 = Some(error),
                }
                None
            }
        }
    }

    /// The value, if there were no problems.
    pub(super) fn or<T>(self, value: T) -> syn::Result<T> {
        match self.0 {
            None => Ok(value),
            Some(error) => Err(error),
        }
    }

    /// Keeps the error of a key and skips the rest of it, so that the next key can be read.
    pub(super) fn go_on(&mut self, read: syn::Result<()>, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        if self.note(read).is_none() {
            while !meta.input.is_empty() && !meta.input.peek(Token![,]) {
                meta.input.parse::<TokenTree>()?;
            }
        }
        Ok(())
    }
}

/// Sets an option that may be set once.
pub(super) fn once<T>(place: &mut Option<T>, meta: &ParseNestedMeta<'_>, value: T) -> syn::Result<()> {
    if place.is_some() {
        let key = near::name(&meta.path);
        let message = format!("`{key}` is set twice: remove one");
        return Err(syn::Error::new_spanned(&meta.path, message));
    }
    *place = Some(value);
    Ok(())
}

/// A value that has to be a string.
pub(super) fn string(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    let value = meta.value()?;
    if value.peek(LitStr) {
        return value.parse();
    }
    let key = near::name(&meta.path);
    Err(value.error(format!("the value must be in quotes: write `{key} = \"..\"`")))
}

/// A path or a type, which may be written in quotes, as serde wants it, or without.
pub(super) fn quoted_or_not<T: Parse>(value: ParseStream<'_>) -> syn::Result<T> {
    if !value.peek(LitStr) {
        return value.parse();
    }
    let text: LitStr = value.parse()?;
    text.parse().map_err(|_| {
        let message = format!(
            "`{}` is not a Rust path: write one such as `crate::orders::Owner`",
            text.value()
        );
        syn::Error::new(text.span(), message)
    })
}
