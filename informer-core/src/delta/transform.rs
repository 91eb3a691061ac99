//! Transforms: user code that changes each object once, on its way through the queue.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::time::Instant;

use super::{Delta, Departed};
use crate::key::ObjectKey;
use crate::mutant;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::source::Undecodable;
use crate::storage::{Arrival, Packing, Stored};
use crate::sync::{LogLimit, Mutex, Offload, panic_text};

/// A function that changes each object before the store, indexes and handlers see it. Runs exactly once per
/// received object. An object that a relist shows unchanged is taken from the store and not transformed
/// again.
///
/// Use it to drop fields that are not needed. It must not change `metadata.name`, `namespace`, `uid` or
/// `resourceVersion`: they identify the object and its version. An object whose transform fails, panics or
/// changes its name is treated as one that could not be decoded: the cache keeps its last good state, marked
/// stale.
///
/// It runs on separate threads (see [`Offload`]), for several objects in a row. A transform that blocks
/// delays only its own informer.
pub type Transform<K> = Arc<dyn Fn(&mut K) -> Result<(), String> + Send + Sync>;

/// An object that exists but cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unusable {
    /// Why not. May quote the object, so it is never logged.
    pub reason: String,
    /// The UID in this state of the object, if it could be read. If the cached object has a different one, it
    /// is a different object.
    pub uid: Option<String>,
    /// The version of this state, if it could be read.
    pub version: Option<ResourceVersion>,
}

impl From<Undecodable> for Unusable {
    fn from(object: Undecodable) -> Self {
        Self {
            reason: object.reason,
            uid: object.uid,
            version: object.version,
        }
    }
}

/// The transform of a queue, if it has one, where it runs, and how often it failed.
pub(crate) struct Transformer<K> {
    transform: Option<Transform<K>>,
    failures: Arc<TransformFailures>,
    packing: Packing<K>,
    offload: Offload,
}

/// The failed transforms of all scopes of a queue.
#[derive(Default)]
struct TransformFailures {
    count: AtomicU64,
    log: Mutex<LogLimit>,
}

impl TransformFailures {
    /// Counts and logs a failure. A transform that fails for one object may fail for all, so the log is
    /// limited.
    fn record(&self, key: &ObjectKey) {
        let failures = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        // The reason may quote the object, so it is in `status()` and not in the log.
        if let Some(suppressed) = self.log.lock().news(Instant::now()) {
            tracing::warn!(
                %key, failures, suppressed,
                "a transform failed; the cache keeps the last good state of the object, marked stale"
            );
        }
    }
}

impl<K> Transformer<K> {
    pub(crate) fn new(transform: Option<Transform<K>>, packing: Packing<K>, offload: Offload) -> Self {
        Self {
            transform,
            failures: Arc::default(),
            packing,
            offload,
        }
    }

    /// The same storage, for objects that were transformed before.
    pub(crate) fn without_transform(&self) -> Self {
        Self {
            transform: None,
            ..self.clone()
        }
    }

    /// Where [`transform`](Self::transform) must be called for many objects.
    pub(crate) fn runs_on(&self) -> Offload {
        match &self.transform {
            None if !self.packing.is_packed() => Offload::Inline,
            _ => self.offload,
        }
    }

    /// Whether user code changes the objects.
    pub(crate) fn is_user_code(&self) -> bool {
        self.transform.is_some()
    }

    pub(crate) fn failures(&self) -> u64 {
        self.failures.count.load(Ordering::Relaxed)
    }
}

impl<K> Clone for Transformer<K> {
    fn clone(&self) -> Self {
        Self {
            transform: self.transform.clone(),
            failures: self.failures.clone(),
            packing: self.packing.clone(),
            offload: self.offload,
        }
    }
}

impl<K: Object> Transformer<K> {
    /// Transforms the object of a delta, and packs it if the informer's storage is packed. Call it once per
    /// delta, where user code may run. An object that is packed already was transformed before.
    ///
    /// `version` is the object's version, if the caller has it.
    pub(crate) fn transform(
        &self,
        key: &ObjectKey,
        version: Option<&ResourceVersion>,
        delta: Delta<K>,
        arrival: Arrival,
    ) -> Delta<K> {
        match delta {
            Delta::Added(object) => self
                .apply(key, version, object, arrival)
                .map_or_else(Delta::Unusable, Delta::Added),
            Delta::Updated(object) => self
                .apply(key, version, object, arrival)
                .map_or_else(Delta::Unusable, Delta::Updated),
            // Handlers receive the last state, so it is transformed too. If that fails, they receive the last
            // state of the cache instead.
            Delta::Deleted(Departed::Observed(object)) => Delta::Deleted(
                self.apply(key, version, object, arrival)
                    .map_or(Departed::KeyOnly, Departed::Observed),
            ),
            Delta::Deleted(Departed::KeyOnly) | Delta::Unusable(_) => delta,
        }
    }

    fn apply(
        &self,
        key: &ObjectKey,
        version: Option<&ResourceVersion>,
        object: Stored<K>,
        arrival: Arrival,
    ) -> Result<Stored<K>, Unusable> {
        if self.transform.is_none() && !self.packing.is_packed() {
            return Ok(object);
        }
        let (object, bytes) = match object.into_decoded() {
            Ok(decoded) => decoded,
            Err(packed) => return Ok(packed),
        };
        let Some(transform) = &self.transform else {
            return Ok(self.packing.store(object, bytes, arrival));
        };
        // Read before the transform runs: one that fails may have changed them.
        let uid = object.meta().uid.clone();
        let version = version.cloned().or_else(|| ResourceVersion::of(object.meta()));
        run(transform, object)
            .and_then(|object| keeps_key(object, key))
            .map(|object| self.packing.store(object, bytes, arrival))
            .map_err(|reason| {
                self.failures.record(key);
                Unusable { reason, uid, version }
            })
    }
}

/// Checks that a transform kept the object's key: store, filters and buffers identify the object by it.
fn keeps_key<K: Object>(object: Arc<K>, key: &ObjectKey) -> Result<Arc<K>, String> {
    if ObjectKey::of(object.meta()).as_ref() == Some(key) {
        return Ok(object);
    }
    Err("the transform changed the object's name or namespace".to_owned())
}

fn run<K>(transform: &Transform<K>, mut object: Arc<K>) -> Result<Arc<K>, String> {
    let Some(inner) = Arc::get_mut(&mut object) else {
        return Err("the source kept a reference to the object, so it cannot be transformed".to_owned());
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        if mutant::is("I15") {
            transform(inner)?;
        }
        transform(inner)
    }));
    match outcome {
        Ok(Ok(())) => Ok(object),
        Ok(Err(reason)) => Err(format!("the transform failed: {reason}")),
        Err(payload) => Err(format!(
            "the transform panicked: {}",
            panic_text(payload.as_ref())
        )),
    }
}
