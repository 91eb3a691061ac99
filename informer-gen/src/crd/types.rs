//! Types from schemas: the structural schema of one version in, the text of one module out.

mod error;

pub use self::error::{SchemaError, SchemaProblem};
use super::definition::{Definition, Version};

/// The text of a module with the types of one version of a kind: the object, and everything below it.
///
/// # Errors
///
/// If there is no schema, or it is not structural; the error names the field and what to do.
pub fn types(definition: &Definition, version: &Version) -> Result<String, SchemaError> {
    let _ = (definition, version);
    Ok(String::new())
}

/// The name of the type of a kind, with a capital at its beginning; `None` if a Rust type cannot have it (`Self`).
#[must_use]
pub fn type_name(kind: &str) -> Option<String> {
    let _ = kind;
    None
}
