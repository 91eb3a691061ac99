//! Calls of an index function: user code that may fail or panic, and then hurts only itself.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use super::{IndexName, IndexValue};
use crate::key::ObjectKey;
use crate::store::key_ref::KeyRef;

/// The user's function, with its answer collected: the values of an object, or why there are none.
pub(in crate::store) type IndexFunction<K, V> = Box<dyn Fn(&K) -> Result<Vec<V>, String> + Send + Sync>;

/// What stays the same over the life of an index: name and function, and the record of its failures.
pub(in crate::store) struct IndexSource<K, V> {
    pub(in crate::store) name: IndexName,
    function: IndexFunction<K, V>,
    failures: Mutex<Failures>,
}

/// The failures of one index function so far.
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
        }
    }

    /// The values of an object in order, each once. The error is what the function said.
    pub(super) fn values(&self, object: &K) -> Result<Vec<V>, String> {
        let _inside = Inside::enter();
        // Sorting calls the value's own `Ord`, user code too. The function sees the object by shared reference and
        // nothing of the index, so there is no half-done change a panic could leave behind.
        let call = AssertUnwindSafe(|| {
            let mut values = (self.function)(object)?;
            values.sort_unstable();
            values.dedup();
            Ok(values)
        });
        catch_unwind(call).unwrap_or_else(|panic| Err(message(&*panic)))
    }

    /// Notes a failure and says so in the log: the first, the second, the fourth and so on, because a function that
    /// fails for one object may fail for all. The message stays out of the log: it may quote the object.
    pub(super) fn report(&self, key: KeyRef<'_>, message: String) {
        let mut noted = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        noted.count += 1;
        noted.last_key = Some(key.to_key());
        noted.last_message = Some(message);
        let failures = noted.count;
        drop(noted);
        if failures.is_power_of_two() {
            tracing::error!(
                index = %self.name, %key, failures,
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

/// What a panic was about, as far as it says.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("no message"))
}

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Whether this thread is in an index function now.
pub(in crate::store) fn inside_index_function() -> bool {
    DEPTH.get() > 0
}

/// Marks the thread as being in an index function until dropped.
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
