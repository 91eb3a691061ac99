//! The decoder of JSON objects.

use std::cell::Cell;

use kube::core::TypeMeta;
use serde::de::DeserializeOwned;

use super::field_path::FieldPath;
use super::managed_fields::{ExpectedType, Policy, TypeNames};
use super::size_hints::SizeHints;
use crate::object::Object;
use crate::source::{Decode, DecodeError, ManagedFields};

/// Decodes JSON. Drops `metadata.managedFields` by default.
///
/// An object whose `kind` or `apiVersion` is not the expected one is an error. Items of lists often have
/// neither. They get the expected ones, or those that the list implies, so that an object is the same from a
/// list and from a watch. The bytes are checked for UTF-8 once, and the JSON is decoded in one pass.
///
/// A type gets the number of elements of an array before it reads them, as serde's `size_hint`, so a `Vec`
/// has no unused capacity. Unknown are the numbers of arrays that are elements of arrays, that are in a
/// variant of an enum, or whose key has escapes.
///
/// Errors contain the path of the field, such as `spec.containers[1].image`. Keys of maps are printed as `*`,
/// because users choose them and they may be confidential, for example in a Secret.
#[derive(Clone, Debug)]
pub struct JsonDecoder {
    managed_fields: ManagedFields,
    expected: Option<ExpectedType>,
}

impl JsonDecoder {
    /// Creates the decoder of one kind.
    pub fn of<K: Object>(dynamic_type: &K::DynamicType, managed_fields: ManagedFields) -> Self {
        // A server may respond to a request for metadata with PartialObjectMetadata or with whole objects.
        // The kind of a resource of which only the plural is known is unknown.
        let kind = K::kind(dynamic_type);
        let expected = (!K::metadata_api() && !kind.is_empty()).then(|| ExpectedType {
            kind: kind.into_owned(),
            api_version: K::api_version(dynamic_type).into_owned(),
        });
        Self {
            managed_fields,
            expected,
        }
    }

    /// Decodes an object. If it has no type, it gets the expected one, or else `types`.
    fn read<K: DeserializeOwned>(&self, bytes: &[u8], types: Option<&TypeMeta>) -> Result<K, DecodeError> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            DecodeError::new(format!("it is not UTF-8 from byte {}", error.valid_up_to()))
        })?;
        let mut json = serde_json::Deserializer::from_str(text);
        let policy = Policy {
            managed_fields: self.managed_fields,
            expected: self.expected.as_ref(),
            fallback: self
                .expected
                .as_ref()
                .map(TypeNames::of)
                .or(types.map(TypeNames::from)),
            mismatch: Cell::new(false),
        };
        let hints = SizeHints::of(text);
        let object = K::deserialize(policy.filter(hints.add(&mut json)));
        if policy.mismatch.get() {
            return Err(DecodeError::new("its kind or apiVersion is not the expected one"));
        }
        object
            .and_then(|object| json.end().map(|()| object))
            .map_err(|error| {
                // The second pass finds the path: only the type knows which keys are fields and which are
                // users' keys.
                let path = FieldPath::default();
                let mut json = serde_json::Deserializer::from_str(text);
                let _ = K::deserialize(path.track(policy.filter(&mut json)));
                describe_with_place(&error, path.print())
            })
    }
}

impl<K: DeserializeOwned> Decode<K> for JsonDecoder {
    fn decode(&self, bytes: &[u8]) -> Result<K, DecodeError> {
        self.read(bytes, None)
    }

    fn decode_item(&self, bytes: &[u8], types: &TypeMeta) -> Result<K, DecodeError> {
        self.read(bytes, Some(types))
    }
}

/// Describes an error of serde without the values it quotes: kind of error, field and position.
fn describe_with_place(error: &serde_json::Error, path: Option<String>) -> DecodeError {
    let what = describe(error);
    let (line, column) = (error.line(), error.column());
    DecodeError::new(match path {
        Some(path) => format!("{what} at {path} (line {line}, column {column})"),
        None if line == 0 => what,
        None => format!("{what} (line {line}, column {column})"),
    })
}

/// Describes an error of serde without values.
///
/// serde's texts are `<kind of error>: <value>, expected <type>` and `<kind of error> <field>`, but a custom
/// `Deserialize` may write anything. A text that may contain a value is replaced.
fn describe(error: &serde_json::Error) -> String {
    use serde_json::error::Category;
    let text = error.to_string();
    if text.starts_with("recursion limit exceeded") {
        return "it is nested too deeply".to_owned();
    }
    match error.classify() {
        Category::Io | Category::Eof => return "it ends too early".to_owned(),
        Category::Syntax => return "it is not valid JSON".to_owned(),
        Category::Data => {}
    }
    for kind in ["invalid type", "invalid length"] {
        if text.strip_prefix(kind).is_some_and(|rest| rest.starts_with(':')) {
            return kind.to_owned();
        }
    }
    for kind in ["missing field", "duplicate field"] {
        let name = text
            .strip_prefix(kind)
            .and_then(|rest| rest.strip_prefix(" `")?.split('`').next());
        if let Some(name) = name.filter(|name| name.len() <= 64 && name.bytes().all(is_name)) {
            return format!("{kind} `{name}`");
        }
    }
    "invalid value".to_owned()
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.$".contains(&byte)
}

#[cfg(test)]
#[path = "decoder_tests.rs"]
mod tests;
