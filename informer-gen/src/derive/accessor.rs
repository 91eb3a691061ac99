//! The name of the factory's method for a kind, and the names it cannot have.

use syn::ext::IdentExt;
use syn::parse::Parser;
use syn::{Ident, LitStr};

use super::kube::{KubeKeys, Scope};
use crate::inventory;
use crate::names;

/// The methods of `SharedInformerFactory`, except the accessors of groups. An extension method of the same
/// name could not be called: the compiler silently prefers the factory's method.
const OF_FACTORY: &[&str] = &[
    "client",
    "find",
    "for_resource",
    "health",
    "informer_for",
    "informer_with",
    "informers",
    "kind",
    "metadata_for",
    "metadata_for_resource",
    "progress",
    "rights",
    "shutdown",
    "shutdown_timeout",
    "start",
    "status",
    "status_changes",
    "track",
    "wait_for_sync",
    "wait_for_sync_within",
];

/// The methods of `Lister`.
const OF_LISTER: &[&str] = &[
    "for_each",
    "get",
    "get_key",
    "indexer",
    "is_empty",
    "len",
    "list",
    "namespace",
    "owned_by",
    "require",
    "require_key",
    "snapshot",
];

/// Methods that most types have from the standard library.
const OF_EVERYTHING: &[&str] = &["clone", "into", "to_owned", "try_into"];

/// The names of the methods of a factory, those of all groups included, which no accessor can have.
pub fn factory_methods() -> impl Iterator<Item = &'static str> {
    // The group is the folder above the version's: `api::core::v1::Pod`.
    let group = |row: &'static inventory::Resource| row.path.rsplit("::").nth(2);
    let groups = inventory::builtin().iter().filter_map(group);
    OF_FACTORY.iter().copied().chain(groups)
}

/// The names of the methods of a lister, which no accessor of a namespaced kind can have.
pub fn lister_methods() -> impl Iterator<Item = &'static str> {
    OF_LISTER.iter().copied()
}

/// The accessor chosen by the user.
pub(super) fn chosen(accessor: &LitStr, scope: Scope) -> syn::Result<Ident> {
    method(&accessor.value(), scope).map_err(|problem| {
        let message = format!("{problem}: choose another name, such as `accessor = \"orders\"`");
        syn::Error::new(accessor.span(), message)
    })
}

/// The accessor that follows from kube's attributes.
pub(super) fn of_kube(keys: &KubeKeys) -> syn::Result<Ident> {
    let (plural, source) = keys.plural();
    let kind = keys.kind.value();
    let name = names::accessor(&kind, &plural).unwrap_or(plural);
    method(&name, keys.scope).map_err(|problem| {
        let message = format!(
            "the accessor of `{kind}` would be `{name}`, but {problem}: choose another name with \
             `#[informer(accessor = \"..\")]`"
        );
        syn::Error::new(source.span(), message)
    })
}

/// A suggestion for the accessor of a type.
pub(super) fn guess(ident: &Ident) -> String {
    let kind = ident.to_string();
    let plural = names::plural_of_kind(&kind);
    names::accessor(&kind, &plural).unwrap_or(plural)
}

/// The name of a method, or why it cannot be one.
fn method(name: &str, scope: Scope) -> Result<Ident, String> {
    let ident = match syn::parse_str::<Ident>(name) {
        Ok(ident) if ident == name && !name.starts_with("r#") => ident,
        _ if Ident::parse_any.parse_str(name).is_ok_and(|ident| ident == name) => {
            return Err(format!("`{name}` is a Rust keyword"));
        }
        _ => return Err(format!("`{name}` is not a valid method name")),
    };
    if factory_methods().any(|own| own == name) {
        return Err(format!(
            "the factory already has a method `{name}`, which would be called instead"
        ));
    }
    if scope == Scope::Namespaced && lister_methods().any(|own| own == name) {
        return Err(format!(
            "listers already have a method `{name}`, which would be called instead"
        ));
    }
    if OF_EVERYTHING.contains(&name) {
        return Err(format!(
            "most types have a method `{name}`, and calls would be ambiguous"
        ));
    }
    Ok(ident)
}
