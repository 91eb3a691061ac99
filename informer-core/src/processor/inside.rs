//! Which handler the current thread runs: a handler that removes itself must not wait for its own return.

use std::cell::Cell;

thread_local! {
    /// The identity of the listener whose handler this thread is running, 0 for none.
    static INSIDE: Cell<usize> = const { Cell::new(0) };
}

/// Runs the code of the handler with this identity.
pub(super) fn call<T>(identity: usize, call: impl FnOnce() -> T) -> T {
    // Restored and not cleared, also by a panic: a handler may drive another one inside its own call, on this
    // thread.
    struct Restore(usize);
    impl Drop for Restore {
        fn drop(&mut self) {
            INSIDE.set(self.0);
        }
    }
    let _restore = Restore(INSIDE.replace(identity));
    call()
}

/// Whether this thread runs the handler with this identity. Of nested handlers, only the innermost counts.
pub(super) fn is_in(identity: usize) -> bool {
    INSIDE.get() == identity
}
