//! From bytes to objects: the decoder, what it says about an object it cannot decode, and where it runs.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kube::core::TypeMeta;

use super::{Undecodable, json};
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
        json::identify(bytes)
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
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for DecodeError {}

/// Whether objects keep their `metadata.managedFields`.
///
/// They record which client wrote which field, make up about half of a typical object, and are of use only to code
/// that computes server-side apply ownership. The server keeps its own copy whatever a client sends back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ManagedFields {
    /// Leave them out while decoding.
    #[default]
    Drop,
    /// Keep them.
    Keep,
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
    pub(super) async fn run<T, F>(self, bytes: usize, work: F) -> T
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        match self {
            Self::BlockingPool { threshold } if bytes > threshold => offload::run(work).await,
            Self::Worker | Self::BlockingPool { .. } => work(),
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
