//! Whether what a reader sees is filling up, current, or the last state; reads that come too early, too late,
//! or in the wrong place are logged once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::versions::Versions;

/// How fresh the answers of a store are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Freshness {
    /// No informer fills this store; what is in it was put there by hand.
    Unattended,
    /// The informer was not started: the store is empty, and nothing fills it.
    NotStarted,
    /// The first list is not complete: answers show what has arrived.
    Filling,
    /// An informer keeps the store current.
    Kept,
    /// The informer has stopped: answers show the last state it had.
    Final,
}

/// The freshness of one store, and which warnings were logged.
#[derive(Debug, Default)]
pub(super) struct FreshnessCell {
    /// The resource the informer fills the store with; set once, by the informer.
    resource: OnceLock<String>,
    state: AtomicU8,
    told_not_started: AtomicBool,
    told_filling: AtomicBool,
    told_final: AtomicBool,
    told_elsewhere: AtomicBool,
}

const UNATTENDED: u8 = 0;
const FILLING: u8 = 1;
const KEPT: u8 = 2;
const FINAL: u8 = 3;
const NOT_STARTED: u8 = 4;

impl FreshnessCell {
    pub(super) fn get(&self) -> Freshness {
        match self.state.load(Ordering::Acquire) {
            NOT_STARTED => Freshness::NotStarted,
            FILLING => Freshness::Filling,
            KEPT => Freshness::Kept,
            FINAL => Freshness::Final,
            _ => Freshness::Unattended,
        }
    }

    /// An informer will fill the store once it is started.
    pub(super) fn attend(&self, resource: &str) {
        // An informer attends its store once; were there a second, the first name would do as well.
        let _ = self.resource.set(resource.to_owned());
        self.state.store(NOT_STARTED, Ordering::Release);
    }

    /// The informer was started and begins to fill the store.
    pub(super) fn start(&self) {
        // A list that is complete already, or an end, is not taken back.
        let _ = self
            .state
            .compare_exchange(NOT_STARTED, FILLING, Ordering::AcqRel, Ordering::Acquire);
    }

    /// The resource an informer fills the store with, if one does.
    pub(super) fn resource(&self) -> Option<&str> {
        self.resource.get().map(String::as_str)
    }

    /// The first list is complete.
    pub(super) fn filled(&self) {
        self.state.store(KEPT, Ordering::Release);
    }

    /// No further writes will come.
    pub(super) fn finish(&self) {
        if self.state.load(Ordering::Acquire) != UNATTENDED {
            self.state.store(FINAL, Ordering::Release);
        }
    }

    /// A read happens. Costs one load for a store that is kept current.
    pub(super) fn note_read(&self) {
        let told = match self.state.load(Ordering::Acquire) {
            NOT_STARTED => &self.told_not_started,
            FILLING => &self.told_filling,
            FINAL => &self.told_final,
            _ => return,
        };
        if told.swap(true, Ordering::Relaxed) {
            return;
        }
        let resource = self.resource().unwrap_or_default();
        match self.get() {
            Freshness::Final => {
                tracing::warn!(
                    resource,
                    "read from the cache of an informer that has stopped: the answer is its last state"
                );
            }
            Freshness::NotStarted => {
                tracing::warn!(
                    resource,
                    "read from the cache of an informer that was not started, so the answer is empty: \
                     call `start`, and again after asking a factory for more informers"
                );
            }
            _ => {
                tracing::warn!(
                    resource,
                    "read from a cache before its first list was complete: wait for `synced` first"
                );
            }
        }
    }
}

impl FreshnessCell {
    /// Somebody looked for something in a namespace and found nothing there: said once, if nothing ever can be.
    pub(super) fn note_miss(&self, versions: &Versions, namespace: &str) {
        if self.told_elsewhere.load(Ordering::Relaxed) || namespace.is_empty() || versions.cover(namespace) {
            return;
        }
        if !self.told_elsewhere.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                resource = self.resource().unwrap_or_default(),
                namespace,
                "read from a namespace that the informer does not cover: the answer is always empty"
            );
        }
    }
}

#[cfg(all(test, not(feature = "__model")))]
mod tests {
    use super::*;

    #[test]
    fn a_store_nobody_attends_is_never_final() {
        let cell = FreshnessCell::default();
        cell.finish();
        assert_eq!(cell.get(), Freshness::Unattended);
    }

    #[test]
    fn an_attended_store_fills_is_kept_and_ends() {
        let cell = FreshnessCell::default();
        cell.attend("pods");
        assert_eq!(cell.get(), Freshness::NotStarted);
        cell.note_read();
        assert!(cell.told_not_started.load(Ordering::Relaxed));
        assert!(!cell.told_filling.load(Ordering::Relaxed));
        cell.start();
        assert_eq!(cell.get(), Freshness::Filling);
        cell.note_read();
        assert!(cell.told_filling.load(Ordering::Relaxed));
        cell.filled();
        cell.start();
        assert_eq!(cell.get(), Freshness::Kept);
        cell.note_read();
        assert!(!cell.told_final.load(Ordering::Relaxed));
        cell.finish();
        cell.start();
        assert_eq!(cell.get(), Freshness::Final);
    }
}
