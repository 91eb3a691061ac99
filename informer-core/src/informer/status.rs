//! How an informer is doing, as one value.

use tokio::sync::watch;

use super::SharedInformer;
use crate::key::ObjectKey;
use crate::object::Object;
use crate::processor::{EarlyStop, HandlerStatus};
use crate::status::{ScopeStatus, State};
use crate::store::{Freshness, IndexStatus, Versions};

/// How an informer is doing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InformerStatus {
    /// The resource: `pods`, `deployments.apps`; with its type if it is a projection: `pods (PodOnNode)`.
    pub resource: String,
    /// What it is doing; of several scopes, the one that is worst off.
    pub state: State,
    /// Whether the whole initial state has been in the cache.
    pub synced: bool,
    /// Whether readers get current answers, early ones, or the last there will be.
    pub freshness: Freshness,
    /// How many objects the cache holds.
    pub objects: usize,
    /// The version of the cache in each scope.
    pub versions: Versions,
    /// Objects whose newest state could not be used, so that the cache has an older one or none, and why.
    pub stale: Vec<(ObjectKey, String)>,
    /// How many objects a transform failed for, panicked at or took the name from.
    pub transform_failures: u64,
    /// Each scope: one, or one per namespace.
    pub scopes: Vec<ScopeStatus>,
    /// Each handler.
    pub handlers: Vec<HandlerStatus>,
    /// Each secondary index.
    pub indexes: Vec<IndexStatus>,
}

impl<K: Object> SharedInformer<K> {
    /// How the informer is doing now.
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

    /// Waits for changes of the informer's state.
    pub fn status_changes(&self) -> StatusWatch {
        StatusWatch {
            changes: self.shared.board.subscribe(),
            early_stop: self.early_stop(),
        }
    }
}

/// Notifies of changes of an informer's state; several changes in a row may be reported as one.
#[derive(Clone, Debug)]
pub struct StatusWatch {
    changes: watch::Receiver<u64>,
    early_stop: EarlyStop,
}

impl StatusWatch {
    /// Waits for the next change since the last call. `false` once the informer was dropped.
    pub async fn changed(&mut self) -> bool {
        tokio::select! {
            biased;
            changed = self.changes.changed() => changed.is_ok(),
            never = self.early_stop.clone().watch() => match never {},
        }
    }
}
