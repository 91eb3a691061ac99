//! What happens to each object once, on its way through the queue: its key is read and checked, and its
//! transform runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::time::Instant;

use crate::key::ObjectKey;
use crate::mutant;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::source::Undecodable;
use crate::status::Reporter;
use crate::sync::{LogLimit, Mutex, Offload, panic_text};

/// Changes each object before the store, indexes and handlers see it: runs exactly once per object received.
///
/// Use it to drop what is not needed. It must leave `metadata.name`, `namespace`, `uid` and `resourceVersion` alone: identity and
/// freshness are judged by them. An object whose transform fails, panics or changes its name counts as one that could not be decoded:
/// its last good state stays in the cache, marked stale.
///
/// It runs on separate threads (see [`Offload`]), for several objects in a row: one that blocks delays its
/// own informer only.
pub type Transform<K> = Arc<dyn Fn(&mut K) -> Result<(), String> + Send + Sync>;

/// Why an object that exists cannot be used, and what is known of it besides.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unusable {
    /// Why. It may quote the object: never logged.
    pub reason: String,
    /// The UID of this state of the object, if it could be read: another one than the cache's is another
    /// object.
    pub uid: Option<String>,
    /// The version of this state, if it could be read.
    pub version: Option<ResourceVersion>,
}

impl Unusable {
    /// An object that cannot be used for this reason, and of which nothing else is known.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            uid: None,
            version: None,
        }
    }
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

/// Whether a key belongs to the scope it came for.
pub(crate) enum Admission {
    Granted,
    /// No server that honours the request sends it: nothing would ever delete it again, because lists of this
    /// scope lack it.
    Refused,
}

/// What identifies an object on its way in.
pub(crate) struct Arrival<K> {
    pub(crate) key: ObjectKey,
    pub(crate) version: Option<ResourceVersion>,
    pub(crate) object: Arc<K>,
}

/// An object as it came in.
pub(crate) enum Identified<K> {
    Known(Arrival<K>),
    /// It has no name, which no server sends.
    Nameless,
    /// It belongs to another scope, and was reported.
    Elsewhere,
}

/// Reads keys, sharing namespace strings between neighbours, and refuses those of other scopes.
pub(crate) struct Intake {
    scope: Scope,
    reporter: Option<Reporter>,
    neighbour: Option<ObjectKey>,
}

impl Intake {
    pub(crate) fn new(scope: Scope) -> Self {
        Self {
            scope,
            reporter: None,
            neighbour: None,
        }
    }

    /// Another intake of the same scope.
    pub(crate) fn fork(&self) -> Self {
        Self {
            scope: self.scope.clone(),
            reporter: self.reporter.clone(),
            neighbour: None,
        }
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Refused objects are reported here from now on.
    pub(crate) fn report_to(&mut self, reporter: Reporter) {
        self.reporter = Some(reporter);
    }

    /// Identifies an object.
    pub(crate) fn identify<K: Object>(&mut self, object: Arc<K>) -> Identified<K> {
        let Some(key) = ObjectKey::of_sharing(object.meta(), self.neighbour.as_ref()) else {
            return Identified::Nameless;
        };
        if let Admission::Refused = self.admit(&key) {
            return Identified::Elsewhere;
        }
        self.neighbour = Some(key.clone());
        let version = ResourceVersion::of(object.meta());
        Identified::Known(Arrival { key, version, object })
    }

    /// Whether something under this key may go on.
    pub(crate) fn admit(&self, key: &ObjectKey) -> Admission {
        if self.scope.contains(key) {
            return Admission::Granted;
        }
        if let Some(reporter) = &self.reporter {
            reporter.out_of_scope(key);
        }
        Admission::Refused
    }
}

/// The transform of a queue, if it has one, with the count of its failures and where it runs.
pub(crate) struct Transformer<K> {
    transform: Option<Transform<K>>,
    failures: Arc<Failures>,
    offload: Offload,
}

/// The failed transforms of all scopes of a queue.
#[derive(Default)]
struct Failures {
    count: AtomicU64,
    log: Mutex<LogLimit>,
}

impl Failures {
    /// Counts a failure and logs it. A transform that fails for one object may fail for all, so the log is limited.
    fn record(&self, key: &ObjectKey) {
        let failures = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        // The reason may quote the object: it is in `status()`, not in the log.
        if let Some(suppressed) = self.log.lock().news(Instant::now()) {
            tracing::warn!(
                %key, failures, suppressed,
                "a transform failed; the last good state of the object stays, marked stale"
            );
        }
    }
}

impl<K> Transformer<K> {
    pub(crate) fn new(transform: Option<Transform<K>>, offload: Offload) -> Self {
        Self {
            transform,
            failures: Arc::default(),
            offload,
        }
    }

    /// Where [`apply`](Self::apply) may be called.
    pub(crate) fn runs_on(&self) -> Offload {
        match &self.transform {
            Some(_) => self.offload,
            None => Offload::Inline,
        }
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
            offload: self.offload,
        }
    }
}

impl<K: Object> Transformer<K> {
    /// Transforms one object. Call it exactly once for each, and where user code may run.
    pub(crate) fn apply(&self, key: &ObjectKey, object: Arc<K>) -> Result<Arc<K>, Unusable> {
        let Some(transform) = &self.transform else {
            return Ok(object);
        };
        // Read before: a transform that failed may have changed them.
        let uid = object.meta().uid.clone();
        let version = ResourceVersion::of(object.meta());
        run(transform, object)
            .and_then(|object| keeps_key(object, key))
            .map_err(|reason| {
                self.failures.record(key);
                Unusable { reason, uid, version }
            })
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
