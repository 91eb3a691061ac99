//! Decoding of single objects: the decoder trait, errors, and the thread on which decoding runs.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kube::core::TypeMeta;

use super::{SourceObject, Undecodable, json};
use crate::fast_paths;
use crate::key::ObjectKey;
use crate::object::Object;
use crate::printable::Printable;
use crate::resource_version::{ResourceVersion, is_acceptable};

/// Decodes objects of one kind.
///
/// The default is [`JsonDecoder`](super::JsonDecoder); [`KubeSource::decoder`](super::KubeSource::decoder)
/// sets a custom one. If a decoder panics, the object counts as undecodable and nothing else is affected.
pub trait Decode<K>: Send + Sync + 'static {
    /// Decodes one object.
    fn decode(&self, bytes: &[u8]) -> Result<K, DecodeError>;

    /// Decodes one item of a list. `types` is the type of the items according to the list: items of built-in
    /// kinds have no `kind` and `apiVersion`, objects of a watch do. The default calls
    /// [`decode`](Self::decode).
    fn decode_item(&self, bytes: &[u8], types: &TypeMeta) -> Result<K, DecodeError> {
        let _ = types;
        self.decode(bytes)
    }

    /// Reads key, version and UID of an object that could not be decoded. The default reads JSON.
    fn identify(&self, bytes: &[u8]) -> Identity {
        json::identify(bytes)
    }
}

/// Key, version and UID of an object, as far as they could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Its namespace and name. `None` if either is uncertain.
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
    /// Creates an error with this text. The text must not quote values of the object, which may be a Secret.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for DecodeError {}

/// Whether objects keep their `metadata.managedFields`.
///
/// They record which client wrote which field, make up about half of a typical object, and are useful only to
/// code that computes server-side apply ownership. The server keeps its own copy, so an update without them
/// loses nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ManagedFields {
    /// Leave them out while decoding.
    #[default]
    Drop,
    /// Keep them.
    Keep,
}

/// The encoding that is requested from the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Encoding {
    /// Protobuf for kinds that have a decoder of it, with JSON as the second choice. JSON for all others,
    /// such as custom resources, which servers do not encode as protobuf.
    #[default]
    Protobuf,
    /// JSON for all kinds.
    Json,
}

/// Where objects are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeOn {
    /// In the task that reads the response. Use it for simulations with a paused clock.
    Worker,
    /// On a separate thread (see [`Offload`](crate::Offload)) if a batch of complete objects has more than
    /// `threshold` bytes, else in the task. Batches span chunks of the body: a list waits for more chunks, a
    /// watch takes the chunks that are available without waiting. Up to four batches of a response are
    /// decoded at once, at most one per core; objects are delivered in the order of the response.
    BlockingPool {
        /// The threshold in bytes.
        threshold: usize,
    },
}

impl Default for DecodeOn {
    /// On a separate thread above 64 KiB.
    fn default() -> Self {
        match fast_paths::are_on() {
            true => Self::BlockingPool { threshold: 64 * 1024 },
            false => Self::Worker,
        }
    }
}

impl DecodeOn {
    /// The size in bytes above which batches are decoded on a separate thread; `None` if they never are.
    pub(super) fn threshold(self) -> Option<usize> {
        match self {
            Self::Worker => None,
            Self::BlockingPool { threshold } => Some(threshold),
        }
    }
}

/// Decodes one object. An object without a name cannot be cached, so it counts as undecodable.
pub(super) fn decode_object<K: Object>(
    decoder: &dyn Decode<K>,
    bytes: &[u8],
    types: Option<&TypeMeta>,
) -> Result<SourceObject<K>, Undecodable> {
    let decode = || match types {
        Some(types) => decoder.decode_item(bytes, types),
        None => decoder.decode(bytes),
    };
    let reason = match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(Ok(object)) if object.meta().name.as_deref().is_none_or(str::is_empty) => {
            "it has no name".to_owned()
        }
        // An invalid version must not become part of a request. An absent one is fine.
        Ok(Ok(object)) if has_invalid_version(&object) => "its resourceVersion is invalid".to_owned(),
        Ok(Ok(object)) => return Ok(SourceObject::new(Arc::new(object), bytes.len())),
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

/// Checks the text only: the version is parsed once, where the object enters the queue.
fn has_invalid_version<K: Object>(object: &K) -> bool {
    let version = object.meta().resource_version.as_deref().unwrap_or_default();
    !version.is_empty() && !is_acceptable(version)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    struct Fixed(Option<&'static str>);

    impl Decode<ConfigMap> for Fixed {
        fn decode(&self, _: &[u8]) -> Result<ConfigMap, DecodeError> {
            let mut object = ConfigMap::default();
            object.metadata.name = Some("a".to_owned());
            object.metadata.resource_version = self.0.map(str::to_owned);
            Ok(object)
        }
    }

    /// A version is part of later requests, so one that no server issues must not enter the cache.
    #[test]
    fn an_object_with_an_invalid_version_is_undecodable() {
        for version in [None, Some(""), Some("17"), Some("a-b.c")] {
            assert!(decode_object(&Fixed(version), b"{}", None).is_ok(), "{version:?}");
        }
        for version in ["1\n2", "a b", "\u{1b}[31m"] {
            let error = decode_object(&Fixed(Some(version)), b"{}", None).unwrap_err();
            assert_eq!(error.reason, "its resourceVersion is invalid", "{version:?}");
        }
    }

    #[test]
    fn an_error_of_a_decoder_is_the_reason() {
        struct Failing;
        impl Decode<ConfigMap> for Failing {
            fn decode(&self, _: &[u8]) -> Result<ConfigMap, DecodeError> {
                Err(DecodeError::new("no number"))
            }
        }
        let error = decode_object(&Failing, b"{}", None).unwrap_err();
        assert_eq!(error.reason, "no number");
        assert_eq!(DecodeError::new("no number").to_string(), "no number");
    }
}
