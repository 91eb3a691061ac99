//! The forms in which objects are sent: complete, metadata only, or as rows of a table; as JSON or protobuf.

use jiff::Timestamp;
use serde_json::Value;

use crate::error::ApiError;
use crate::object::{Stored, write};
use crate::protobuf::{self, TypeNames};
use crate::registry::{Origin, Resource};
use crate::table;

pub(crate) use crate::table::IncludeObject;

/// The encodings that a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MediaTypes {
    /// JSON, and protobuf for built-in kinds. The default, and what real servers speak.
    #[default]
    All,
    /// JSON only. A client that requests nothing else than protobuf gets 406, one that sends it 415.
    JsonOnly,
}

/// What a client requested in `Accept`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) shape: Shape,
    pub(crate) format: Format,
}

/// The parts of objects that are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Full,
    /// PartialObjectMetadata.
    Metadata,
    /// A Table, as kubectl requests.
    Table(IncludeObject),
}

/// The encoding of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Protobuf,
}

impl Format {
    /// Returns the encoding of errors, which every client can read: JSON, unless it prefers protobuf.
    pub(crate) fn of_errors(accept: &str, media_types: MediaTypes) -> Self {
        let mut ranges = accept.split(',').map(|range| range.split(';').next());
        let found = ranges.find_map(|range| Self::offered(range?.trim(), media_types));
        found.unwrap_or(Self::Json)
    }

    fn offered(media_type: &str, media_types: MediaTypes) -> Option<Self> {
        match (media_type, media_types) {
            ("application/json" | "application/*" | "*/*", _) => Some(Self::Json),
            (protobuf::MEDIA_TYPE, MediaTypes::All) => Some(Self::Protobuf),
            _ => None,
        }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => protobuf::MEDIA_TYPE,
        }
    }

    /// Returns the content type of a watch.
    pub(crate) fn stream_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        }
    }

    /// Returns the body of an answer with one object, given as JSON text.
    pub(crate) fn body(self, names: &TypeNames, mut json: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Json => {
                json.push(b'\n');
                json
            }
            Self::Protobuf => names.body(&json),
        }
    }
}

impl Form {
    /// Returns the first form in `Accept` that this server supports for a kind.
    ///
    /// As upstream, custom resources are sent as JSON, but their metadata also as protobuf; Tables are JSON.
    pub(crate) fn negotiate(accept: &str, media_types: MediaTypes, origin: Origin) -> Result<Self, ApiError> {
        if accept.trim().is_empty() {
            return Ok(Self {
                shape: Shape::Full,
                format: Format::Json,
            });
        }
        accept
            .split(',')
            .filter_map(|range| Self::offered(range, media_types))
            .find(|form| match (form.format, form.shape) {
                (Format::Json, _) | (Format::Protobuf, Shape::Metadata) => true,
                (Format::Protobuf, Shape::Full) => origin == Origin::BuiltIn,
                (Format::Protobuf, Shape::Table(_)) => false,
            })
            .ok_or_else(ApiError::not_acceptable)
    }

    fn offered(media_range: &str, media_types: MediaTypes) -> Option<Self> {
        let mut parts = media_range.split(';').map(str::trim);
        let format = Format::offered(parts.next()?, media_types)?;
        let (mut shape, mut known) = (Shape::Full, true);
        for (key, value) in parts.filter_map(|part| part.split_once('=')) {
            match (key, value) {
                ("as", "PartialObjectMetadata" | "PartialObjectMetadataList") => shape = Shape::Metadata,
                ("as", "Table") => shape = Shape::Table(IncludeObject::Metadata),
                ("as", _) => known = false,
                ("g", group) => known &= group == "meta.k8s.io",
                ("v", version) => known &= version == "v1",
                _ => {}
            }
        }
        known.then_some(Self { shape, format })
    }

    /// Returns the form of a fault that sends Tables whatever was requested.
    pub(crate) fn forced_table() -> Self {
        Self {
            shape: Shape::Table(IncludeObject::Metadata),
            format: Format::Json,
        }
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
    pub(crate) form: Form,
    pub(crate) now: Timestamp,
}

impl View<'_> {
    /// Appends an object, as JSON.
    pub(crate) fn object(&self, buffer: &mut Vec<u8>, stored: &Stored, typed: Typed) {
        match self.form.shape {
            Shape::Full => whole(buffer, self.resource, stored, typed),
            Shape::Metadata => metadata(buffer, stored),
            Shape::Table(include) => table::single(buffer, self.resource, stored, include, self.now),
        }
    }

    /// An item of a list, as JSON: an object, or a row of a table.
    pub(crate) fn item(&self, stored: &Stored) -> Vec<u8> {
        let mut buffer = Vec::new();
        match self.form.shape {
            Shape::Table(include) => table::row(&mut buffer, self.resource, stored, include, self.now),
            _ => self.object(&mut buffer, stored, Typed::AsItem),
        }
        buffer
    }

    /// Returns the type of the objects.
    pub(crate) fn names(&self) -> TypeNames {
        match self.form.shape {
            Shape::Full => TypeNames::new(self.resource.api_version(), &self.resource.kind),
            Shape::Metadata => TypeNames::new(META, "PartialObjectMetadata"),
            Shape::Table(_) => TypeNames::new(META, "Table"),
        }
    }

    /// Builds the body of a list from its parts.
    pub(crate) fn list(&self, metadata: &Value, items: &[Vec<u8>]) -> Vec<u8> {
        let (kind, api_version) = match self.form.shape {
            Shape::Full => (self.resource.list_kind.clone(), self.resource.api_version()),
            Shape::Metadata => ("PartialObjectMetadataList".into(), META.into()),
            Shape::Table(_) => ("Table".into(), META.into()),
        };
        if self.form.format == Format::Protobuf {
            let list = TypeNames::new(api_version, kind);
            return self.names().list(&list, metadata, items);
        }
        let mut buffer = Vec::with_capacity(256 + items.iter().map(|item| item.len() + 1).sum::<usize>());
        buffer.push(b'{');
        type_fields(&mut buffer, &kind, &api_version);
        buffer.extend_from_slice(b",\"metadata\":");
        write(&mut buffer, metadata);
        match self.form.shape {
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
        let (kind, api_version) = match self.form.shape {
            Shape::Full => (self.resource.kind.clone(), self.resource.api_version()),
            Shape::Metadata => ("PartialObjectMetadata".into(), META.into()),
            Shape::Table(_) => ("Table".into(), META.into()),
        };
        buffer.push(b'{');
        type_fields(buffer, &kind, &api_version);
        buffer.extend_from_slice(b",\"metadata\":");
        write(buffer, metadata);
        if matches!(self.form.shape, Shape::Table(_)) {
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

    use Format::{Json, Protobuf};
    use Origin::{BuiltIn, Custom};
    use Shape::{Full, Metadata};

    const TABLE: Shape = Shape::Table(IncludeObject::Metadata);

    fn check(accept: &str, origin: Origin, expected: Option<(Shape, Format)>) {
        let found = Form::negotiate(accept, MediaTypes::All, origin);
        let found = found.ok().map(|form| (form.shape, form.format));
        assert_eq!(found, expected, "{accept}");
    }

    #[test]
    fn the_first_form_that_can_be_served_wins() {
        check("", BuiltIn, Some((Full, Json)));
        check("*/*", BuiltIn, Some((Full, Json)));
        let metadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        check(metadata, BuiltIn, Some((Metadata, Json)));
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        check(table, BuiltIn, Some((TABLE, Json)));
        let unknown = "application/json;as=Table;v=v2;g=meta.k8s.io,application/json";
        check(unknown, BuiltIn, Some((Full, Json)));
        check("application/yaml", BuiltIn, None);
    }

    #[test]
    fn protobuf_is_for_built_in_kinds_and_metadata_and_not_for_tables() {
        let protobuf = "application/vnd.kubernetes.protobuf";
        let both = format!("{protobuf},application/json");
        check(protobuf, BuiltIn, Some((Full, Protobuf)));
        check(&both, BuiltIn, Some((Full, Protobuf)));
        check(protobuf, Custom, None);
        check(&both, Custom, Some((Full, Json)));
        let metadata = format!("{protobuf};as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
        check(&metadata, Custom, Some((Metadata, Protobuf)));
        let table = format!("{protobuf};as=Table;g=meta.k8s.io;v=v1,application/json");
        check(&table, BuiltIn, Some((Full, Json)));
    }

    #[test]
    fn a_server_of_json_offers_no_protobuf() {
        let negotiate = |accept| Form::negotiate(accept, MediaTypes::JsonOnly, BuiltIn).ok();
        assert_eq!(negotiate("application/vnd.kubernetes.protobuf"), None);
        let accept = "application/vnd.kubernetes.protobuf,application/json";
        assert_eq!(negotiate(accept).map(|form| form.format), Some(Json));
        assert_eq!(Format::of_errors(accept, MediaTypes::JsonOnly), Json);
        assert_eq!(Format::of_errors(accept, MediaTypes::All), Protobuf);
        assert_eq!(Format::of_errors("application/yaml", MediaTypes::All), Json);
    }
}
