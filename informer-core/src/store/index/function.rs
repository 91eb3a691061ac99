//! Calls index functions, which are user code: an error or a panic affects only its own index.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use super::{IndexName, IndexValue};
use crate::key::ObjectKey;
use crate::store::key_ref::KeyRef;

/// The user's function: returns the values of an object, or an error message.
pub(in crate::store) type IndexFunction<K, V> = Box<dyn Fn(&K) -> Result<Vec<V>, String> + Send + Sync>;

/// The constant part of an index: its name and function, and the record of failures.
pub(in crate::store) struct IndexSource<K, V> {
    pub(in crate::store) name: IndexName,
    function: IndexFunction<K, V>,
    failures: Mutex<Failures>,
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
        }
    }

    /// The distinct values of an object, in order, or the function's error message.
    pub(super) fn values(&self, object: &K) -> Result<Vec<V>, String> {
        let _inside = Inside::enter();
        // Sorting calls the value's own `Ord`, which is user code too. The function has a shared reference
        // to the object and none to the index, so a panic cannot leave a partial change.
        let call = AssertUnwindSafe(|| {
            let mut values = (self.function)(object)?;
            values.sort_unstable();
            values.dedup();
            Ok(values)
        });
        catch_unwind(call).unwrap_or_else(|panic| Err(message(&*panic)))
    }

    /// Records a failure, and logs the first, the second, the fourth and so on, because a function that
    /// fails for one object may fail for all. The message is not logged: it may quote the object.
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

/// The message of a panic.
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
