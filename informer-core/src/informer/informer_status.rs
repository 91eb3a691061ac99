//! The status of an informer, as one value.

use tokio::sync::watch;

use super::SharedInformer;
use crate::key::ObjectKey;
use crate::object::Object;
use crate::processor::{EarlyStop, HandlerStatus};
use crate::status::{ScopeStatus, State};
use crate::store::{Freshness, IndexStatus, Versions};

/// The status of an informer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InformerStatus {
    /// The resource: `pods`, `deployments.apps`; with its type if it is a projection: `pods (PodOnNode)`.
    pub resource: String,
    /// What the informer is doing; of several scopes, the least healthy one.
    pub state: State,
    /// Whether the initial state of every scope was committed to the cache.
    pub synced: bool,
    /// Whether reads return current data, data from before the first list, or the final state.
    pub freshness: Freshness,
    /// How many objects the cache holds.
    pub objects: usize,
    /// The version of the cache in each scope.
    pub versions: Versions,
    /// Objects whose newest state could not be used, with the reason. The cache has an older state or none.
    pub stale: Vec<(ObjectKey, String)>,
    /// The number of objects whose transform failed, panicked or changed the name.
    pub transform_failures: u64,
    /// Each scope: one, or one per namespace.
    pub scopes: Vec<ScopeStatus>,
    /// Each handler.
    pub handlers: Vec<HandlerStatus>,
    /// Each secondary index.
    pub indexes: Vec<IndexStatus>,
}

impl<K: Object> SharedInformer<K> {
    /// Returns the present status.
    pub fn status(&self) -> InformerStatus {
        let snapshot = self.shared.indexer.peek();
        InformerStatus {
            resource: self.shared.board.resource().to_owned(),
            state: self.shared.board.worst(),
            synced: self.has_synced(),
            freshness: self.shared.indexer.freshness(),
            objects: snapshot.len(),
            versions: snapshot.versions().clone(),
            stale: snapshot
                .stale()
                .iter()
                .map(|(key, reason)| (key.to_key(), reason.to_owned()))
                .collect(),
            transform_failures: self.shared.board.transform_failures(),
            scopes: self.shared.board.scopes(),
            handlers: self.shared.processor.status(),
            indexes: self.shared.indexer.index_status(),
        }
    }

    /// Returns a watch that waits for changes of the status.
    pub fn status_changes(&self) -> StatusWatch {
        StatusWatch {
            changes: self.shared.board.subscribe(),
            early_stop: self.early_stop(),
        }
    }
}

/// Waits for changes of an informer's status. Several changes in a row may be reported as one.
#[derive(Clone, Debug)]
pub struct StatusWatch {
    changes: watch::Receiver<u64>,
    early_stop: EarlyStop,
}

impl StatusWatch {
    /// Waits for the next change since the last call. Returns `false` once the informer was dropped.
    pub async fn changed(&mut self) -> bool {
        tokio::select! {
            biased;
            changed = self.changes.changed() => changed.is_ok(),
            never = self.early_stop.clone().watch() => match never {},
        }
    }
}
