//! Changes of the status of any informer of a registry.

use std::fmt;
use std::sync::{Arc, Weak};

use futures::future::select_all;
use tokio::sync::watch;

use super::RegistryInner;
use crate::informer::{DynInformer, StatusWatch};

/// Waits for changes of the status of any informer, and of the set of informers. Several changes in a row may
/// be reported as one, so nothing is queued.
pub struct RegistryChanges {
    registry: Weak<RegistryInner>,
    /// Changes when informers are requested or started, or all are stopped.
    changed: watch::Receiver<u64>,
    informers: Vec<Watched>,
}

/// The changes of one informer. Both receivers remember what they reported.
struct Watched {
    state: StatusWatch,
    sync: watch::Receiver<u64>,
}

impl Watched {
    fn new(informer: &DynInformer) -> Self {
        Self {
            state: informer.status_changes(),
            sync: informer.sync_changes(),
        }
    }

    async fn changed(&mut self) {
        tokio::select! {
            true = self.state.changed() => {}
            Ok(()) = self.sync.changed() => {}
            else => std::future::pending().await,
        }
    }
}

impl RegistryChanges {
    pub(super) fn new(registry: &Arc<RegistryInner>) -> Self {
        let mut changes = Self {
            registry: Arc::downgrade(registry),
            changed: registry.changed.subscribe(),
            informers: Vec::new(),
        };
        changes.refresh();
        changes
    }

    /// Waits for the next change since the last call: of the state of an informer, of its errors and the
    /// progress of its list, of the sync of its handlers, and of the set of informers. Counts and ages change
    /// all the time and are not reported.
    ///
    /// Returns `false` once the registry was dropped. Cancel safe.
    pub async fn changed(&mut self) -> bool {
        tokio::select! {
            () = any_change(&mut self.informers) => true,
            changed = self.changed.changed() => changed.is_ok() && self.refresh(),
        }
    }

    /// Reads again which informers exist; `false` if the registry was dropped.
    fn refresh(&mut self) -> bool {
        let Some(registry) = self.registry.upgrade() else {
            return false;
        };
        let contents = registry.contents.lock();
        self.informers = contents
            .requested()
            .map(|entry| Watched::new(&entry.informer))
            .collect();
        true
    }
}

async fn any_change(informers: &mut [Watched]) {
    if informers.is_empty() {
        return std::future::pending().await;
    }
    select_all(informers.iter_mut().map(|watched| Box::pin(watched.changed()))).await;
}

impl fmt::Debug for RegistryChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistryChanges")
            .field("informers", &self.informers.len())
            .finish_non_exhaustive()
    }
}
