//! From bytes to objects: the decoder, what it says about an object it cannot decode, and where it runs.

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kube::core::TypeMeta;
use serde::de::DeserializeOwned;

use super::field_path::FieldPath;
use super::managed_fields::{ExpectedType, Filtered, Policy, TypeNames};
use super::sketch::Sketch;
use super::{ManagedFields, SourceError, Undecodable};
use crate::key::ObjectKey;
use crate::object::Object;
use crate::printable::Printable;
use crate::resource_version::ResourceVersion;
use crate::sync::offload;

/// Turns the bytes of one object into the object.
///
/// [`JsonDecoder`] is the default; [`KubeSource::decoder`](super::KubeSource::decoder) sets another for a kind. A decoder that panics makes its object undecodable; it stops nothing else.
pub trait Decode<K>: Send + Sync + 'static {
    /// Decodes one object.
    fn decode(&self, bytes: &[u8]) -> Result<K, DecodeError>;

    /// Decodes one item of a list. `types` is the type the list gives its items: those of built-in kinds do
    /// not carry theirs, while the objects of a watch do. Calls [`decode`](Self::decode) unless overridden.
    fn decode_item(&self, bytes: &[u8], types: &TypeMeta) -> Result<K, DecodeError> {
        let _ = types;
        self.decode(bytes)
    }

    /// Reads what can be read of an object that could not be decoded. Reads JSON unless overridden.
    fn identify(&self, bytes: &[u8]) -> Identity {
        Sketch::read(bytes).identity()
    }
}

/// Which object something is, as far as that could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Its namespace and name. `None` unless both are certain.
    pub key: Option<ObjectKey>,
    /// Its version.
    pub version: Option<ResourceVersion>,
    /// Its UID.
    pub uid: Option<String>,
}

/// Why an object could not be decoded. Its text goes to logs and to `status()`.
#[derive(Clone, PartialEq, Eq)]
pub struct DecodeError {
    reason: String,
}

crate::__debug_is_the_message!(DecodeError);

impl DecodeError {
    /// An error with this text, which must not quote values of the object: it may be a Secret.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }

    /// Says what serde says without the values it quotes: kind of error, field and position.
    fn of_json(error: &serde_json::Error, path: Option<String>) -> Self {
        let what = describe(error);
        match path {
            Some(path) => Self::new(format!(
                "{what} at {path} (line {}, column {})",
                error.line(),
                error.column()
            )),
            None if error.line() == 0 => Self::new(what),
            None => Self::new(format!(
                "{what} (line {}, column {})",
                error.line(),
                error.column()
            )),
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for DecodeError {}

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
        let object = K::deserialize(Filtered::root(&mut json, &policy));
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
                let _ = K::deserialize(path.track(Filtered::root(&mut json, &policy)));
                DecodeError::of_json(&error, path.print())
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

/// Where objects are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeOn {
    /// In the task that reads the response. A simulation with a paused clock wants this.
    Worker,
    /// On a thread that no handler occupies (see [`Offload`](crate::Offload)), as soon as more than `threshold`
    /// bytes of whole objects are at hand; less than that in the task. Objects are gathered across the pieces of
    /// a body: a list waits for more of it, a watch takes what is available without waiting. One response has at
    /// most one batch away at a time, so order is kept.
    BlockingPool {
        /// In bytes.
        threshold: usize,
    },
}

impl Default for DecodeOn {
    /// On another thread, past 64 KiB.
    fn default() -> Self {
        Self::BlockingPool { threshold: 64 * 1024 }
    }
}

impl DecodeOn {
    /// Past how many bytes work is done elsewhere; `None` if it never is.
    pub(super) fn threshold(self) -> Option<usize> {
        match self {
            Self::Worker => None,
            Self::BlockingPool { threshold } => Some(threshold),
        }
    }

    /// Runs `work`, over so many bytes, where it belongs.
    pub(super) async fn run<T, F>(self, bytes: usize, work: F) -> Result<T, SourceError>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        match self {
            Self::BlockingPool { threshold } if bytes > threshold => Ok(offload::run(work).await),
            Self::Worker | Self::BlockingPool { .. } => Ok(work()),
        }
    }
}

/// Decodes one object into its `Arc`, or says what is known of it. One without a name cannot be cached, so it counts
/// as undecodable.
pub(super) fn decode_object<K: Object>(
    decoder: &dyn Decode<K>,
    bytes: &[u8],
    types: Option<&TypeMeta>,
) -> Result<Arc<K>, Undecodable> {
    let decode = || match types {
        Some(types) => decoder.decode_item(bytes, types),
        None => decoder.decode(bytes),
    };
    let reason = match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(Ok(object)) if object.meta().name.as_deref().is_none_or(str::is_empty) => {
            "it has no name".to_owned()
        }
        // A version that is absent is none; one that cannot be used must not become part of a request.
        Ok(Ok(object)) if !has_version_or_none(&object) => "its resourceVersion is not acceptable".to_owned(),
        Ok(Ok(object)) => return Ok(Arc::new(object)),
        Ok(Err(error)) => Printable::message(&error.reason).into_cow().into_owned(),
        Err(_) => "its decoder panicked".to_owned(),
    };
    let Identity { key, version, uid } =
        catch_unwind(AssertUnwindSafe(|| decoder.identify(bytes))).unwrap_or_default();
    Err(Undecodable {
        key,
        version,
        uid,
        reason,
    })
}

fn has_version_or_none<K: Object>(object: &K) -> bool {
    let meta = object.meta();
    meta.resource_version.as_deref().is_none_or(str::is_empty) || ResourceVersion::of(meta).is_some()
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
