//! From bytes to objects: the decoder, what it says about an object it cannot decode, and where it runs.

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::json_path::path_at;
use super::managed_fields::{ExpectedType, Filtered, Policy};
use super::sketch::Sketch;
use super::{ManagedFields, SourceError, Undecodable};
use crate::key::ObjectKey;
use crate::object::Object;
use crate::resource_version::ResourceVersion;

/// Turns the bytes of one object into the object.
///
/// [`JsonDecoder`] is the one in use unless [`KubeSourceOptions::decoder`](super::KubeSourceOptions::decoder) names
/// another for a kind. A decoder that panics makes its object undecodable; it stops nothing else.
pub trait Decode<K>: Send + Sync + 'static {
    /// Decodes one object.
    fn decode(&self, bytes: &[u8]) -> Result<K, DecodeError>;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    reason: String,
}

impl DecodeError {
    /// An error with this text, which must not quote values of the object: it may be a Secret.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }

    /// Says what serde says without the values it quotes: kind of error, field and position.
    fn of_json(error: &serde_json::Error, json: &str) -> Self {
        let what = describe(error);
        let offset = offset_of(json, error.line(), error.column());
        match offset.and_then(|offset| path_at(json.as_bytes(), offset)) {
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
    match error.classify() {
        Category::Io | Category::Eof => return "it ends too early".to_owned(),
        Category::Syntax => return "it is not sound JSON".to_owned(),
        Category::Data => {}
    }
    let text = error.to_string();
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

/// The offset behind column `column` of line `line`, both counted from 1 as serde_json does.
fn offset_of(json: &str, line: usize, column: usize) -> Option<usize> {
    let mut start = 0;
    for _ in 1..line {
        start += memchr::memchr(b'\n', json.as_bytes().get(start..)?)? + 1;
    }
    (line > 0).then_some(start + column)
}

/// Decodes JSON, without `metadata.managedFields` unless told to keep them.
///
/// An object whose `kind` or `apiVersion` is there and is not the expected one is refused; elements of lists often have
/// neither. The bytes are checked for UTF-8 once, and the JSON is read in one pass.
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
}

impl<K: DeserializeOwned> Decode<K> for JsonDecoder {
    fn decode(&self, bytes: &[u8]) -> Result<K, DecodeError> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            DecodeError::new(format!("it is not UTF-8 from byte {}", error.valid_up_to()))
        })?;
        let mut json = serde_json::Deserializer::from_str(text);
        let policy = Policy {
            managed_fields: self.managed_fields,
            expected: self.expected.as_ref(),
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
            .map_err(|error| DecodeError::of_json(&error, text))
    }
}

/// Where objects are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeOn {
    /// In the task that reads the response. A simulation with a paused clock wants this.
    Worker,
    /// On tokio's blocking pool, as soon as more than `threshold` bytes of whole objects are at hand; smaller pieces
    /// in the task. One response has at most one piece on the pool at a time, so order is kept.
    BlockingPool {
        /// In bytes.
        threshold: usize,
    },
}

impl Default for DecodeOn {
    /// The blocking pool, past 64 KiB.
    fn default() -> Self {
        Self::BlockingPool { threshold: 64 * 1024 }
    }
}

impl DecodeOn {
    /// Runs `work`, over so many bytes, where it belongs.
    pub(super) async fn run<T, F>(self, bytes: usize, work: F) -> Result<T, SourceError>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        match self {
            Self::BlockingPool { threshold } if bytes > threshold => tokio::task::spawn_blocking(work)
                .await
                // A panicking decoder is caught further in, so this is the runtime going down.
                .map_err(|_| {
                    SourceError::Transport("the runtime stopped while objects were decoded".to_owned())
                }),
            Self::Worker | Self::BlockingPool { .. } => Ok(work()),
        }
    }
}

/// Decodes one object into its `Arc`, or says what is known of it. One without a name cannot be cached, so it counts
/// as undecodable.
pub(super) fn decode_object<K: Object>(decoder: &dyn Decode<K>, bytes: &[u8]) -> Result<Arc<K>, Undecodable> {
    let reason = match catch_unwind(AssertUnwindSafe(|| decoder.decode(bytes))) {
        Ok(Ok(object)) if object.meta().name.as_deref().is_none_or(str::is_empty) => {
            "it has no name".to_owned()
        }
        // A version that is absent is none; one that cannot be used must not become part of a request.
        Ok(Ok(object)) if !has_version_or_none(&object) => "its resourceVersion is not acceptable".to_owned(),
        Ok(Ok(object)) => return Ok(Arc::new(object)),
        Ok(Err(error)) => error.reason,
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
mod tests;
