//! The forms in which objects leave the server: whole, metadata only, or as rows of a table.

use serde_json::Value;

use crate::error::ApiError;
use crate::object::{Stored, write};
use crate::registry::{Origin, Resource};

/// The form a client asked for in `Accept`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Full,
    /// PartialObjectMetadata.
    Metadata,
    /// A Table, as kubectl asks for.
    Table,
}

impl Shape {
    /// The first form in `Accept` that this server can give.
    pub(crate) fn negotiate(accept: &str) -> Result<Self, ApiError> {
        if accept.trim().is_empty() {
            return Ok(Self::Full);
        }
        accept.split(',').find_map(Self::offered).ok_or_else(|| {
            let message = "only the following media types are accepted: application/json";
            ApiError::new(406, "NotAcceptable", message)
        })
    }

    fn offered(media_range: &str) -> Option<Self> {
        let mut parts = media_range.split(';').map(str::trim);
        if !matches!(parts.next()?, "application/json" | "application/*" | "*/*") {
            return None;
        }
        let (mut form, mut known) = (Self::Full, true);
        for (key, value) in parts.filter_map(|part| part.split_once('=')) {
            match (key, value) {
                ("as", "PartialObjectMetadata" | "PartialObjectMetadataList") => form = Self::Metadata,
                ("as", "Table") => form = Self::Table,
                ("as", _) => known = false,
                ("g", group) => known &= group == "meta.k8s.io",
                ("v", version) => known &= version == "v1",
                _ => {}
            }
        }
        known.then_some(form)
    }
}

/// Whether an object names its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    Named,
    /// As an item of a list of a built-in kind, where upstream leaves the type out.
    AsItem,
}

/// Appends an object as seen through one version of its resource.
pub(crate) fn object(buffer: &mut Vec<u8>, resource: &Resource, stored: &Stored, shape: Shape, typed: Typed) {
    match shape {
        Shape::Metadata => {
            buffer.extend_from_slice(
                br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":"#,
            );
            buffer.extend_from_slice(stored.metadata());
            buffer.push(b'}');
        }
        Shape::Full | Shape::Table => {
            buffer.push(b'{');
            if typed == Typed::Named || resource.origin == Origin::Custom {
                type_fields(buffer, &resource.kind, &resource.api_version());
                buffer.push(b',');
            }
            buffer.extend_from_slice(stored.tail());
        }
    }
}

/// Appends `"kind":…,"apiVersion":…`.
pub(crate) fn type_fields(buffer: &mut Vec<u8>, kind: &str, api_version: &str) {
    buffer.extend_from_slice(b"\"kind\":");
    write(buffer, &Value::from(kind));
    buffer.extend_from_slice(b",\"apiVersion\":");
    write(buffer, &Value::from(api_version));
}

/// The kind and apiVersion of single objects in this form.
pub(crate) fn type_of(resource: &Resource, shape: Shape) -> (String, String) {
    match shape {
        Shape::Full => (resource.kind.clone(), resource.api_version()),
        Shape::Metadata => ("PartialObjectMetadata".into(), "meta.k8s.io/v1".into()),
        Shape::Table => ("Table".into(), "meta.k8s.io/v1".into()),
    }
}

/// The kind and apiVersion of collections in this form.
pub(crate) fn list_type_of(resource: &Resource, shape: Shape) -> (String, String) {
    match shape {
        Shape::Full => (resource.list_kind.clone(), resource.api_version()),
        Shape::Metadata => ("PartialObjectMetadataList".into(), "meta.k8s.io/v1".into()),
        Shape::Table => ("Table".into(), "meta.k8s.io/v1".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(accept: &str, expected: Option<Shape>) {
        assert_eq!(Shape::negotiate(accept).ok(), expected, "{accept}");
    }

    #[test]
    fn the_first_form_that_can_be_served_wins() {
        check("", Some(Shape::Full));
        check("*/*", Some(Shape::Full));
        check(
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            Some(Shape::Metadata),
        );
        check(
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
            Some(Shape::Table),
        );
        check(
            "application/json;as=Table;v=v2;g=meta.k8s.io,application/json",
            Some(Shape::Full),
        );
        check(
            "application/vnd.kubernetes.protobuf,application/json",
            Some(Shape::Full),
        );
        check("application/vnd.kubernetes.protobuf", None);
    }
}
