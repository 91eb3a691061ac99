//! The status of an informer, as one value.

use std::fmt;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::SharedInformer;
use crate::key::ObjectKey;
use crate::object::Object;
use crate::processor::{EarlyStop, HandlerStatus};
use crate::status::{Counts, LastError, LastList, ScopeStatus, State};
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
    /// How many bytes the objects of the cache have, approximately: see
    /// [`Snapshot::bytes`](crate::store::Snapshot::bytes).
    pub approximate_bytes: u64,
    /// The version of the cache in each scope.
    pub versions: Versions,
    /// How old the data of the cache is; of several scopes, the oldest. `None` until each has been committed.
    /// See [`ScopeStatus::age`].
    pub age: Option<Duration>,
    /// How many changes were received and wait to be committed. A whole state counts as one.
    pub queued: usize,
    /// Objects whose newest state could not be used, with the reason. The cache has an older state or none.
    pub stale: Vec<(ObjectKey, String)>,
    /// The number of objects whose transform failed, panicked or changed the name.
    pub transform_failures: u64,
    /// Each scope: one, or one per namespace. Namespaces may be added and removed while the informer runs.
    pub scopes: Vec<ScopeStatus>,
    /// The label selector of every request, if there is one. That of a custom source is unknown.
    pub label_selector: Option<String>,
    /// The field selector of every request, likewise.
    pub field_selector: Option<String>,
    /// Each handler.
    pub handlers: Vec<HandlerStatus>,
    /// Each secondary index.
    pub indexes: Vec<IndexStatus>,
    /// How long batches of changes took to be committed and handed to the handlers' buffers.
    #[cfg(feature = "metrics")]
    pub processing: crate::sync::Histogram,
    /// What was counted in scopes that were removed.
    departed: Counts,
}

impl fmt::Display for InformerStatus {
    /// Writes one line: resource, state, size and age.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            resource,
            state,
            objects,
            ..
        } = self;
        write!(f, "{resource}: {state}, {objects} objects")?;
        match self.age {
            Some(age) => write!(f, ", {}s old", age.as_secs()),
            None => Ok(()),
        }
    }
}

impl InformerStatus {
    /// Returns what happened since the informer was built, over all scopes and those that were removed.
    pub fn counts(&self) -> Counts {
        let scopes = self.scopes.iter().map(|scope| &scope.counts);
        Counts::sum(scopes.chain([&self.departed]))
    }

    /// Returns the error that lasts, with its count and the time of the first one; of several scopes, that of
    /// the least healthy one. `None` if no scope fails.
    pub fn current_error(&self) -> Option<&LastError> {
        let failing = self.scopes.iter().filter(|scope| scope.current_error().is_some());
        failing
            .max_by_key(|scope| scope.state.severity())
            .and_then(ScopeStatus::current_error)
    }

    /// Returns when the last event other than a bookmark arrived.
    pub fn last_event(&self) -> Option<Instant> {
        self.scopes.iter().filter_map(|scope| scope.last_event).max()
    }

    /// Returns the last complete read of a whole state.
    pub fn last_list(&self) -> Option<&LastList> {
        let lists = self.scopes.iter().filter_map(|scope| scope.last_list.as_ref());
        lists.max_by_key(|list| list.at)
    }
}

impl<K: Object> SharedInformer<K> {
    /// Returns the present status.
    pub fn status(&self) -> InformerStatus {
        let selectors = self.shared.scopes.list_options();
        let departed = self.shared.board.departed();
        let mut scopes = self.shared.board.scopes();
        // After the scopes: what is received and committed in between must not look missing.
        let snapshot = self.shared.indexer.peek();
        let committed = self.shared.board.committed();
        let now = Instant::now();
        for scope in &mut scopes {
            scope.set_age(snapshot.versions().get(&scope.scope), committed, now);
        }
        let ages: Option<Vec<Duration>> = scopes.iter().map(|scope| scope.age).collect();
        InformerStatus {
            resource: self.shared.board.resource().to_owned(),
            state: self.shared.board.worst(),
            synced: self.has_synced(),
            freshness: self.shared.indexer.freshness(),
            objects: snapshot.len(),
            approximate_bytes: snapshot.bytes(),
            versions: snapshot.versions().clone(),
            age: ages.and_then(|ages| ages.into_iter().max()),
            queued: self.shared.queue.depth(),
            stale: snapshot
                .stale()
                .iter()
                .map(|(key, reason)| (key.to_key(), reason.to_owned()))
                .collect(),
            transform_failures: self.shared.board.transform_failures(),
            scopes,
            label_selector: selectors.labels,
            field_selector: selectors.fields,
            handlers: self.shared.processor.status(),
            indexes: self.shared.indexer.index_status(),
            #[cfg(feature = "metrics")]
            processing: self.shared.board.processing(),
            departed,
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
