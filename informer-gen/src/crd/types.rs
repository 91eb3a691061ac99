//! Generates the types of one version from its structural schema, as the text of one module.
//!
//! The text reads as if written by hand: structs and enums with serde's derives, documentation from the
//! descriptions, and an implementation of `kube::Resource`. It depends on kube, k8s-openapi, serde, and
//! `informers::crd` for the types of some fields.
//!
//! These rules make sure that no object is lost or changed by decoding and encoding it:
//!
//! - A field is an `Option` unless the schema requires it and has no default for it. Then it is a `Required`,
//!   which reads as the default of its type if it is missing or null, and is not written until it is changed.
//!   k8s-openapi's times and numbers have no default, so these are `Option`s too.
//! - A quantity is written as the number or string that was read.
//! - A `number` is `serde_json`'s, which keeps the original text: an `f64` would encode `3` as `3.0`.
//! - An optional array or map is an `Option` as well: some controllers distinguish an empty list from a
//!   missing one.
//! - A string with an `enum` is a Rust enum with one more variant for any other value, which a newer server
//!   may send.
//! - Unknown properties are kept where the schema has `x-kubernetes-preserve-unknown-fields`, in a field
//!   `rest`, and dropped elsewhere, as the server drops them.
//! - Equal types are one type, also of several versions and kinds. Types of k8s-openapi are used where they
//!   are equal and keep all of these rules.
//! - `allOf`, `anyOf`, `oneOf`, `not` and rules about values never change a type.

mod build;
mod comments;
mod docs;
mod error;
mod imports;
mod known;
pub(super) mod library;
pub(super) mod model;
mod naming;
pub(super) mod parts;
mod paths;
mod print;
pub(super) mod reuse;
mod root;

pub use self::error::{SchemaError, SchemaProblem};
use self::library::{Address, Library, Source};
use self::model::Model;
use self::reuse::Conditions;
use super::definition::{Definition, Version};
use super::{Docs, Reuse};
use crate::names;

/// Generates the text of a module with the types of one version of a kind: the object, and everything below
/// it, with all descriptions. Equal types are one.
///
/// The same definition always gives the same text, as rustfmt writes it with its default settings. It begins
/// with the documentation of the module.
///
/// # Errors
///
/// If the schema is missing, not structural, more than 64 levels deep, or has more than 50,000 parts. The
/// error names the field and the fix.
pub fn types(definition: &Definition, version: &Version) -> Result<String, SchemaError> {
    let source = Source {
        definition,
        version,
        address: Address::default(),
        model: model(definition, version, Conditions::Common)?,
    };
    // With the default options, nothing can be wrong in them.
    let library = Library::new(vec![source], Docs::Full, &Reuse::default());
    Ok(library.map(|library| library.print(0)).unwrap_or_default())
}

/// The name of the type of a kind, with a capital first letter and without dashes; `None` if no Rust type can
/// have it (`Self`).
#[must_use]
pub fn type_name(kind: &str) -> Option<String> {
    names::schema::kind(kind)
}

/// Builds the model of the types, before they are printed.
pub(super) fn model(
    definition: &Definition,
    version: &Version,
    conditions: Conditions,
) -> Result<Model, SchemaError> {
    build::build(definition, version, conditions).map_err(|problem| SchemaError {
        group: definition.group.clone(),
        version: version.name.clone(),
        kind: definition.kind.clone(),
        problem: Box::new(problem),
    })
}
