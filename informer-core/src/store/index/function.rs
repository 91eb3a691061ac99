//! Calls index functions, which are user code: an error or a panic affects only its own index.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

use super::{IndexName, IndexValue};
use crate::key::ObjectKey;
use crate::storage::Stored;
use crate::store::key_ref::KeyRef;
use crate::sync::{LogLimit, panic_text};

/// Returns the values of an object, or an error message. A user's function decodes a packed object, an index
/// of labels does not.
pub(in crate::store) type IndexFunction<K, V> =
    Box<dyn Fn(&Stored<K>) -> Result<Vec<V>, String> + Send + Sync>;

/// An [`IndexFunction`] that calls a user's function.
pub(in crate::store) fn of_object<K: 'static, V>(
    values: impl Fn(&K) -> Result<Vec<V>, String> + Send + Sync + 'static,
) -> IndexFunction<K, V> {
    Box::new(move |stored| match stored.peek() {
        Some(object) => values(&object),
        None => Err("the packed object could not be decoded".to_owned()),
    })
}

/// The constant part of an index: its name and function, and the record of failures.
pub(in crate::store) struct IndexSource<K, V> {
    pub(in crate::store) name: IndexName,
    function: IndexFunction<K, V>,
    failures: Mutex<Failures>,
    log: Mutex<LogLimit>,
}

/// The failures of one index function.
#[derive(Clone, Default)]
pub(super) struct Failures {
    pub(super) count: u64,
    pub(super) last_key: Option<ObjectKey>,
    pub(super) last_message: Option<String>,
}

impl<K, V: IndexValue> IndexSource<K, V> {
    pub(in crate::store) fn new(name: IndexName, function: IndexFunction<K, V>) -> Self {
        Self {
            name,
            function,
            failures: Mutex::default(),
            log: Mutex::default(),
        }
    }

    /// The distinct values of an object, in order, or the function's error message.
    pub(super) fn values(&self, object: &Stored<K>) -> Result<Vec<V>, String> {
        let _inside = Inside::enter();
        // Sorting calls the value's own `Ord`, which is user code too. The function has a shared reference
        // to the object and none to the index, so a panic cannot leave a partial change.
        let call = AssertUnwindSafe(|| {
            let mut values = (self.function)(object)?;
            values.sort_unstable();
            values.dedup();
            Ok(values)
        });
        catch_unwind(call).unwrap_or_else(|panic| Err(format!("panicked: {}", panic_text(&*panic))))
    }

    /// Records and logs a failure. A function that fails for one object may fail for all, so the log is
    /// limited. The message is not logged: it may quote the object.
    pub(super) fn report(&self, key: KeyRef<'_>, message: String) {
        let mut noted = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        noted.count += 1;
        noted.last_key = Some(key.to_key());
        noted.last_message = Some(message);
        let failures = noted.count;
        drop(noted);
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(suppressed) = log.news(Instant::now()) {
            tracing::error!(
                index = %self.name, %key, failures, suppressed,
                "index function failed, the object is missing from this index",
            );
        }
    }

    pub(super) fn failures(&self) -> Failures {
        self.failures
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Whether this thread is inside an index function.
pub(in crate::store) fn inside_index_function() -> bool {
    DEPTH.get() > 0
}

/// Marks the thread as inside an index function until it is dropped.
struct Inside;

impl Inside {
    fn enter() -> Self {
        DEPTH.set(DEPTH.get() + 1);
        Self
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}
