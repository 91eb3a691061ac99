//! What happens to each object once, on its way into the queue: its key is read and its transform runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::key::ObjectKey;
use crate::mutant;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::sync::panic_text;

/// Changes each object before the store, indexes and handlers see it: runs exactly once per object received.
///
/// Use it to drop what is not needed. It must leave `metadata.name`, `namespace`, `uid` and `resourceVersion` alone: identity and
/// freshness are judged by them. An object whose transform fails, panics or changes its name counts as one that could not be decoded:
/// its last good state stays in the cache, marked stale.
pub type Transform<K> = Arc<dyn Fn(&mut K) -> Result<(), String> + Send + Sync>;

/// An object that has passed the intake.
pub(crate) struct Admitted<K> {
    pub(crate) key: ObjectKey,
    pub(crate) version: Option<ResourceVersion>,
    /// The object, or why its transform failed.
    pub(crate) object: Result<Arc<K>, String>,
}

/// Reads keys, sharing namespace strings between neighbours, and runs the transform.
pub(crate) struct Intake<K> {
    transform: Option<Transform<K>>,
    /// How many transforms failed, over all intakes of a queue.
    failures: Arc<AtomicU64>,
    neighbour: Option<ObjectKey>,
}

impl<K: Object> Intake<K> {
    pub(crate) fn new(transform: Option<Transform<K>>, failures: Arc<AtomicU64>) -> Self {
        Self {
            transform,
            failures,
            neighbour: None,
        }
    }

    /// Another intake for the same queue.
    pub(crate) fn fork(&self) -> Self {
        Self::new(self.transform.clone(), self.failures.clone())
    }

    /// Takes an object in; `None` if it has no name, which no server sends.
    pub(crate) fn admit(&mut self, object: Arc<K>) -> Option<Admitted<K>> {
        let (key, version) = self.identify(&object)?;
        let object = match &self.transform {
            Some(transform) => run(transform, object).and_then(|object| keeps_key(object, &key)),
            None => Ok(object),
        };
        if object.is_err() {
            self.failures.fetch_add(1, Ordering::Relaxed);
            // The reason may quote the object: it is in `status()`, not in the log.
            tracing::warn!(%key, "a transform failed; the last good state of the object stays, marked stale");
        }
        Some(Admitted { key, version, object })
    }

    fn identify(&mut self, object: &K) -> Option<(ObjectKey, Option<ResourceVersion>)> {
        let key = ObjectKey::of_sharing(object.meta(), self.neighbour.as_ref())?;
        self.neighbour = Some(key.clone());
        Some((key, ResourceVersion::of(object.meta())))
    }
}

/// An object must come out of its transform under its own key: store, filters and buffers know it by that.
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
