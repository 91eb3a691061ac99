//! The decoder of JSON objects.

use std::cell::Cell;

use kube::core::TypeMeta;
use serde::de::DeserializeOwned;

use super::field_path::FieldPath;
use super::managed_fields::{ExpectedType, Policy, TypeNames};
use crate::object::Object;
use crate::source::{Decode, DecodeError, ManagedFields};

/// Decodes JSON, without `metadata.managedFields` unless told to keep them.
///
/// An object with another `kind` or `apiVersion` than the expected one is refused. Items of lists often have
/// neither: they get the expected ones, or those the list implies, so that an object is the same from a list
/// and from a watch. The bytes are checked for UTF-8 once, and the JSON is read in one pass.
///
/// Errors give the path of the field, such as `spec.containers[1].image`. Keys of maps are printed as `*`:
/// users choose them, and those of a Secret are nobody's business.
#[derive(Clone, Debug)]
pub struct JsonDecoder {
    managed_fields: ManagedFields,
    expected: Option<ExpectedType>,
}

impl JsonDecoder {
    /// The decoder for one kind.
    pub fn of<K: Object>(dynamic_type: &K::DynamicType, managed_fields: ManagedFields) -> Self {
        // A server may answer a request for metadata with PartialObjectMetadata or with whole objects. Of a resource that is
        // known by its plural only, no kind can be expected.
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

    /// Decodes an object. One without a type is given the expected one, or else `types`.
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
        let object = K::deserialize(policy.filter(&mut json));
        if policy.mismatch.get() {
            return Err(DecodeError::new(
                "its kind or apiVersion is not the one that was asked for",
            ));
        }
        object
            .and_then(|object| json.end().map(|()| object))
            .map_err(|error| {
                // Decoded once more, with care: only the type knows which keys are its own and not a user's.
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

/// serde's texts are `<kind of error>: <value>, expected <type>` and `<kind of error> <field>`, but a type's own code may
/// write anything. What is not known to be free of values is replaced by a word.
fn describe(error: &serde_json::Error) -> String {
    use serde_json::error::Category;
    let text = error.to_string();
    if text.starts_with("recursion limit exceeded") {
        return "it nests deeper than its decoder reads".to_owned();
    }
    match error.classify() {
        Category::Io | Category::Eof => return "it ends too early".to_owned(),
        Category::Syntax => return "it is not sound JSON".to_owned(),
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
