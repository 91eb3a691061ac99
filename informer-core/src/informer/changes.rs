//! Changes of a running informer: paused and resumed, with other namespaces, with other selectors.

use super::{ScopeError, SharedInformer};
use crate::object::Object;
use crate::source::ListOptions;

impl<K: Object> SharedInformer<K> {
    /// Stops all requests until [`resume`](Self::resume). Returns at once; requests that are running are
    /// cancelled. Before [`start`](Self::start), the informer starts paused.
    ///
    /// Handlers keep their registrations and the cache its last state; [`status`](Self::status) reports
    /// [`State::Paused`](crate::State::Paused).
    pub fn pause(&self) {
        self.shared.scopes.pause();
    }

    /// Continues after [`pause`](Self::pause). The informer reads the whole state, never an older one than it
    /// had, and handlers receive the difference: additions, updates, and deletions as
    /// [`Deleted::Missed`](crate::Deleted::Missed).
    ///
    /// ```no_run
    /// # fn example(informer: informer_core::SharedInformer<k8s_openapi::api::core::v1::Pod>) {
    /// informer.pause(); // for example while this replica is not the leader
    /// informer.resume();
    /// # }
    /// ```
    pub fn resume(&self) {
        self.shared.scopes.resume();
    }

    /// Adds a namespace to an informer of certain namespaces, also while it runs. Handlers receive its
    /// objects as additions with [`Origin::Live`](crate::Origin::Live), or
    /// [`Origin::Initial`](crate::Origin::Initial) if the informer was not in sync yet: then the sync waits
    /// for the namespace too. Does nothing if the namespace is covered. [`settled`](Self::settled) waits
    /// until its objects are in the cache.
    ///
    /// An informer that covers all namespaces cannot be limited later, and one that is limited covers single
    /// namespaces for its whole life: see [`no_namespaces`](crate::SharedInformerBuilder::no_namespaces).
    ///
    /// # Errors
    /// [`ScopeError`] if the informer covers all namespaces, has custom sources or has stopped, or if the
    /// name is not valid.
    pub fn add_namespace(&self, namespace: &str) -> Result<(), ScopeError> {
        self.shared.scopes.add(namespace)
    }

    /// Removes a namespace from an informer of certain namespaces, also while it runs. Its objects leave the
    /// cache, and handlers receive them as [`Deleted::Missed`](crate::Deleted::Missed). An informer without
    /// any namespace sends no requests and is empty. Does nothing if the namespace is not covered.
    ///
    /// # Errors
    /// Those of [`add_namespace`](Self::add_namespace).
    pub fn remove_namespace(&self, namespace: &str) -> Result<(), ScopeError> {
        self.shared.scopes.remove(namespace)
    }

    /// Changes the selectors and further parameters of every list and watch, also while the informer runs.
    /// The informer reads the whole state with them, and handlers receive the difference: objects that match
    /// now as additions, those that no longer do as [`Deleted::Missed`](crate::Deleted::Missed). Until that
    /// state is read, the cache shows the old selection; [`settled`](Self::settled) waits for it. Does
    /// nothing if the options stay the same. Of two concurrent changes the last one wins.
    ///
    /// A [warm start](crate::WarmStart) saves nothing from then on: its files belong to the selectors before.
    ///
    /// ```no_run
    /// # fn example(
    /// #     informer: informer_core::SharedInformer<k8s_openapi::api::core::v1::Pod>,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// informer.change_list_options(|options| options.labels("tier in (front, back)"))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ScopeError`] if a selector is not valid, or the informer has custom sources or has stopped.
    pub fn change_list_options(
        &self,
        edit: impl FnOnce(ListOptions) -> ListOptions,
    ) -> Result<(), ScopeError> {
        self.shared.scopes.change_list_options(edit)
    }
}
