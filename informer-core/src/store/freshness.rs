//! Whether a reader sees an incomplete, a current or a final state. Reads that come too early, too late, or
//! in a namespace that is not covered are logged once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::versions::Versions;

/// How fresh the contents of a store are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Freshness {
    /// No informer fills this store; its contents were inserted by hand.
    Unattended,
    /// The informer was not started: the store is empty.
    NotStarted,
    /// The first list is not complete: reads return the objects received so far.
    Filling,
    /// The store holds the state that an earlier run saved ([`WarmStart`](crate::WarmStart)). The server has
    /// neither confirmed nor replaced it yet.
    Warm,
    /// The informer keeps the store current.
    Kept,
    /// The informer has stopped: reads return its last state.
    Final,
}

/// The freshness of one store, and the warnings that were logged.
#[derive(Debug, Default)]
pub(super) struct FreshnessCell {
    /// The resource of the informer that fills the store; set once.
    resource: OnceLock<String>,
    state: AtomicU8,
    warned_not_started: AtomicBool,
    warned_filling: AtomicBool,
    warned_final: AtomicBool,
    warned_not_covered: AtomicBool,
}

const UNATTENDED: u8 = 0;
const FILLING: u8 = 1;
const KEPT: u8 = 2;
const FINAL: u8 = 3;
const NOT_STARTED: u8 = 4;
const WARM: u8 = 5;

impl FreshnessCell {
    pub(super) fn get(&self) -> Freshness {
        match self.state.load(Ordering::Acquire) {
            NOT_STARTED => Freshness::NotStarted,
            FILLING => Freshness::Filling,
            WARM => Freshness::Warm,
            KEPT => Freshness::Kept,
            FINAL => Freshness::Final,
            _ => Freshness::Unattended,
        }
    }

    /// Records that an informer will fill the store once it is started.
    pub(super) fn attend(&self, resource: &str) {
        // An informer attends its store once. A second call keeps the first name.
        let _ = self.resource.set(resource.to_owned());
        self.state.store(NOT_STARTED, Ordering::Release);
    }

    /// Records that the informer was started.
    pub(super) fn start(&self) {
        // Does not undo a first list that is complete already, or an end.
        let _ = self
            .state
            .compare_exchange(NOT_STARTED, FILLING, Ordering::AcqRel, Ordering::Acquire);
    }

    /// The resource of the informer that fills the store, if any.
    pub(super) fn resource(&self) -> Option<&str> {
        self.resource.get().map(String::as_str)
    }

    /// Records that the store holds the state of a file.
    pub(super) fn seeded(&self) {
        // Of several scopes, another one may be complete already, but not all of them are.
        let _ = self
            .state
            .compare_exchange(FILLING, WARM, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Records that the first list is complete.
    pub(super) fn filled(&self) {
        self.state.store(KEPT, Ordering::Release);
    }

    /// Records that no further writes will come.
    pub(super) fn finish(&self) {
        if self.state.load(Ordering::Acquire) != UNATTENDED {
            self.state.store(FINAL, Ordering::Release);
        }
    }

    /// Records a read, and warns if it is too early or too late. Costs one load if the store is current.
    pub(super) fn note_read(&self) {
        let warned = match self.state.load(Ordering::Acquire) {
            NOT_STARTED => &self.warned_not_started,
            FILLING => &self.warned_filling,
            FINAL => &self.warned_final,
            _ => return,
        };
        if warned.swap(true, Ordering::Relaxed) {
            return;
        }
        let resource = self.resource().unwrap_or_default();
        match self.get() {
            Freshness::Final => {
                tracing::warn!(
                    resource,
                    "read from a stopped informer: the result is its last state"
                );
            }
            Freshness::NotStarted => {
                tracing::warn!(
                    resource,
                    "read from an informer that was not started: the result is empty; call `start`, \
                     and again after requesting more informers from a factory"
                );
            }
            _ => {
                tracing::warn!(
                    resource,
                    "read before the first list was complete: wait for `synced` first"
                );
            }
        }
    }
}

impl FreshnessCell {
    /// Records that a read in a namespace found nothing, and warns once if the informer does not cover the
    /// namespace.
    pub(super) fn note_miss(&self, versions: &Versions, namespace: &str) {
        if self.warned_not_covered.load(Ordering::Relaxed)
            || namespace.is_empty()
            || versions.cover(namespace)
        {
            return;
        }
        if !self.warned_not_covered.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                resource = self.resource().unwrap_or_default(),
                namespace,
                "read in a namespace that the informer does not cover: the result is always empty"
            );
        }
    }
}

#[cfg(all(test, not(feature = "__model")))]
mod tests {
    use super::*;

    #[test]
    fn a_store_without_an_informer_is_never_final() {
        let cell = FreshnessCell::default();
        cell.finish();
        assert_eq!(cell.get(), Freshness::Unattended);
    }

    #[test]
    fn freshness_follows_the_lifetime_of_the_informer() {
        let cell = FreshnessCell::default();
        cell.attend("pods");
        assert_eq!(cell.get(), Freshness::NotStarted);
        cell.note_read();
        assert!(cell.warned_not_started.load(Ordering::Relaxed));
        assert!(!cell.warned_filling.load(Ordering::Relaxed));
        cell.start();
        assert_eq!(cell.get(), Freshness::Filling);
        cell.note_read();
        assert!(cell.warned_filling.load(Ordering::Relaxed));
        cell.filled();
        cell.start();
        assert_eq!(cell.get(), Freshness::Kept);
        cell.note_read();
        assert!(!cell.warned_final.load(Ordering::Relaxed));
        cell.finish();
        cell.start();
        assert_eq!(cell.get(), Freshness::Final);
    }
}
