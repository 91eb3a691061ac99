//! Types from schemas: the structural schema of one version in, the text of one module out.
//!
//! What comes out reads as if written by hand: structs and enums with serde's derives, documentation from the descriptions,
//! and what makes the kind a `kube::Resource`. It needs kube, k8s-openapi and serde, and nothing of this project.
//!
//! The rules, each of which keeps an object from being lost or changed by reading and writing it back:
//!
//! - A field is an `Option` unless the schema requires it and has no default for it. What is required and missing, or null,
//!   is read as the default of its type. k8s-openapi's times have no default, nor have numbers, so these are `Option`s too.
//! - A `number` is `serde_json`'s, which keeps it as it came: an `f64` would be written back as `3.0` where there was `3`.
//! - An optional array or map is an `Option` as well: to some controllers an empty list is not the same as none.
//! - A string with an `enum` is a Rust enum with one more variant for any other value, since servers grow faster than code.
//! - Unknown properties are kept where the schema has `x-kubernetes-preserve-unknown-fields`, in a field `rest`, and dropped
//!   elsewhere, as the server drops them.
//! - `allOf`, `anyOf`, `oneOf`, `not` and rules about values never change a type.

mod build;
mod docs;
mod error;
mod known;
pub(super) mod model;
mod names;
mod paths;
mod print;
mod root;

pub use self::error::{SchemaError, SchemaProblem};
use self::model::Model;
use super::definition::{Definition, Version};

/// The text of a module with the types of one version of a kind: the object, and everything below it.
///
/// The same definition always gives the same text, as rustfmt writes it with its default settings. It begins with the
/// documentation of the module.
///
/// # Errors
///
/// If there is no schema, or it is not structural, or is more than 64 levels deep or has more than 50,000 parts; the
/// error names the field and what to do.
pub fn types(definition: &Definition, version: &Version) -> Result<String, SchemaError> {
    let model = model(definition, version)?;
    Ok(print::print(&model, definition, version))
}

/// The name of the type of a kind: with a capital at its beginning and without dashes, `None` if a Rust type cannot have
/// it (`Self`).
#[must_use]
pub fn type_name(kind: &str) -> Option<String> {
    names::kind(kind)
}

/// The types before they are text.
pub(super) fn model(definition: &Definition, version: &Version) -> Result<Model, SchemaError> {
    build::build(definition, version).map_err(|problem| SchemaError {
        group: definition.group.clone(),
        version: version.name.clone(),
        kind: definition.kind.clone(),
        problem: Box::new(problem),
    })
}
