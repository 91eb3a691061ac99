//! The forms in which objects are sent: complete, metadata only, or as rows of a table.

use jiff::Timestamp;
use serde_json::Value;

use crate::error::ApiError;
use crate::object::{Stored, write};
use crate::registry::{Origin, Resource};
use crate::table;

pub(crate) use crate::table::IncludeObject;

/// The form that a client requested in `Accept`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Full,
    /// PartialObjectMetadata.
    Metadata,
    /// A Table, as kubectl requests.
    Table(IncludeObject),
}

impl Shape {
    /// Returns the first form in `Accept` that this server supports.
    pub(crate) fn negotiate(accept: &str) -> Result<Self, ApiError> {
        if accept.trim().is_empty() {
            return Ok(Self::Full);
        }
        accept
            .split(',')
            .find_map(Self::offered)
            .ok_or_else(ApiError::not_acceptable)
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
                ("as", "Table") => form = Self::Table(IncludeObject::Metadata),
                ("as", _) => known = false,
                ("g", group) => known &= group == "meta.k8s.io",
                ("v", version) => known &= version == "v1",
                _ => {}
            }
        }
        known.then_some(form)
    }
}

/// Whether an object is encoded with its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    Named,
    /// As an item of a list of a built-in kind, for which upstream omits the type.
    AsItem,
}

/// One version of a resource, in one form, at one time (tables show ages).
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) resource: &'a Resource,
    pub(crate) shape: Shape,
    pub(crate) now: Timestamp,
}

impl View<'_> {
    /// Appends an object.
    pub(crate) fn object(&self, buffer: &mut Vec<u8>, stored: &Stored, typed: Typed) {
        match self.shape {
            Shape::Full => whole(buffer, self.resource, stored, typed),
            Shape::Metadata => metadata(buffer, stored),
            Shape::Table(include) => table::single(buffer, self.resource, stored, include, self.now),
        }
    }

    /// An item of a list: an object, or a row of a table.
    pub(crate) fn item(&self, stored: &Stored) -> Vec<u8> {
        let mut buffer = Vec::new();
        match self.shape {
            Shape::Table(include) => table::row(&mut buffer, self.resource, stored, include, self.now),
            _ => self.object(&mut buffer, stored, Typed::AsItem),
        }
        buffer
    }

    /// Builds a list from its parts.
    pub(crate) fn list(&self, metadata: &Value, items: &[Vec<u8>]) -> Vec<u8> {
        let (kind, api_version) = match self.shape {
            Shape::Full => (self.resource.list_kind.clone(), self.resource.api_version()),
            Shape::Metadata => ("PartialObjectMetadataList".into(), META.into()),
            Shape::Table(_) => ("Table".into(), META.into()),
        };
        let mut buffer = Vec::with_capacity(256 + items.iter().map(|item| item.len() + 1).sum::<usize>());
        buffer.push(b'{');
        type_fields(&mut buffer, &kind, &api_version);
        buffer.extend_from_slice(b",\"metadata\":");
        write(&mut buffer, metadata);
        match self.shape {
            Shape::Table(_) => {
                buffer.extend_from_slice(b",\"columnDefinitions\":");
                write(&mut buffer, &table::columns(self.resource));
                buffer.extend_from_slice(b",\"rows\":[");
            }
            _ => buffer.extend_from_slice(b",\"items\":["),
        }
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                buffer.push(b',');
            }
            buffer.extend_from_slice(item);
        }
        buffer.extend_from_slice(b"]}\n");
        buffer
    }

    /// Appends an object that has only metadata: a bookmark.
    pub(crate) fn bare(&self, buffer: &mut Vec<u8>, metadata: &Value) {
        let (kind, api_version) = match self.shape {
            Shape::Full => (self.resource.kind.clone(), self.resource.api_version()),
            Shape::Metadata => ("PartialObjectMetadata".into(), META.into()),
            Shape::Table(_) => ("Table".into(), META.into()),
        };
        buffer.push(b'{');
        type_fields(buffer, &kind, &api_version);
        buffer.extend_from_slice(b",\"metadata\":");
        write(buffer, metadata);
        if matches!(self.shape, Shape::Table(_)) {
            buffer.extend_from_slice(b",\"columnDefinitions\":null,\"rows\":[]");
        }
        buffer.push(b'}');
    }
}

const META: &str = "meta.k8s.io/v1";

/// Appends a complete object.
pub(crate) fn whole(buffer: &mut Vec<u8>, resource: &Resource, stored: &Stored, typed: Typed) {
    buffer.push(b'{');
    if typed == Typed::Named || resource.origin == Origin::Custom {
        type_fields(buffer, &resource.kind, &resource.api_version());
        buffer.push(b',');
    }
    buffer.extend_from_slice(stored.tail());
}

/// Appends the metadata of an object as PartialObjectMetadata.
pub(crate) fn metadata(buffer: &mut Vec<u8>, stored: &Stored) {
    buffer.extend_from_slice(br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":"#);
    buffer.extend_from_slice(stored.metadata());
    buffer.push(b'}');
}

/// Appends `"kind":…,"apiVersion":…`.
fn type_fields(buffer: &mut Vec<u8>, kind: &str, api_version: &str) {
    buffer.extend_from_slice(b"\"kind\":");
    write(buffer, &Value::from(kind));
    buffer.extend_from_slice(b",\"apiVersion\":");
    write(buffer, &Value::from(api_version));
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
            Some(Shape::Table(IncludeObject::Metadata)),
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
