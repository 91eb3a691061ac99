//! An informer without its type, for code that handles many kinds alike: a factory, a garbage collector, a
//! dashboard.

use std::any::Any;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tokio::sync::watch;

use super::{
    AddHandlerError, InformerStatus, NotSynced, ScopeError, SharedInformer, ShutdownTimeout, StartError,
    StatusWatch, Vitals, WaitError, WaitForError,
};
use crate::handler::{Event, HandlerOptions};
use crate::key::ObjectKey;
use crate::object::{AnyObject, Object};
use crate::processor::{HandlerState, Registration};
use crate::resource_version::ResourceVersion;
use crate::selector::Selector;
use crate::source::ListOptions;
use crate::status::{PendingScope, State};
use crate::store::Freshness;

/// A [`SharedInformer`] whose kind is known only at run time.
///
/// It is another handle to the same informer: handlers, cache and lifetime are shared with the typed handles.
/// Objects are [`AnyObject`]s, which give access to their metadata and can be downcast;
/// [`typed`](Self::typed) downcasts the informer.
#[derive(Clone)]
pub struct DynInformer(Arc<dyn Erased>);

impl DynInformer {
    /// Erases the kind of an informer.
    pub fn new<K: Object>(informer: SharedInformer<K>) -> Self {
        Self(Arc::new(informer))
    }

    /// Returns the typed informer if its objects are of type `K`.
    pub fn typed<K: Object>(&self) -> Option<SharedInformer<K>> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref::<SharedInformer<K>>().cloned()
    }

    /// The resource: `pods`, `deployments.apps`; with the type if it is a projection: `pods (PodOnNode)`.
    pub fn resource(&self) -> &str {
        self.0.resource()
    }

    /// Adds a handler: see [`SharedInformer::add_handler`].
    pub fn add_handler(
        &self,
        handler: impl FnMut(Event<dyn AnyObject>) + Send + 'static,
    ) -> Result<Registration, AddHandlerError> {
        let options = self.0.handler_defaults();
        self.add_handler_with(options, handler)
    }

    /// Adds a handler with its own options.
    pub fn add_handler_with(
        &self,
        mut options: HandlerOptions,
        handler: impl FnMut(Event<dyn AnyObject>) + Send + 'static,
    ) -> Result<Registration, AddHandlerError> {
        let name = || std::any::type_name_of_val(&handler).to_owned();
        options.name = Some(options.name.take().unwrap_or_else(name));
        self.0.add_boxed_handler(options, Box::new(handler))
    }

    /// Returns the object with this key.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<dyn AnyObject>> {
        self.0.get(key)
    }

    /// Returns the objects that match a selector, ordered by namespace, then name.
    pub fn list(&self, selector: &Selector) -> Vec<Arc<dyn AnyObject>> {
        self.0.list(selector)
    }

    /// Returns all keys in order.
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.0.keys()
    }

    /// Returns at most `limit` keys in order, the first ones from `start` on: one page of
    /// [`keys`](Self::keys). It costs one search and the page, however many objects there are, and does not
    /// count as an early read.
    pub fn keys_from(&self, start: Bound<&ObjectKey>, limit: usize) -> Vec<ObjectKey> {
        self.0.keys_from(start, limit)
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// See [`SharedInformer::has_synced`].
    pub fn has_synced(&self) -> bool {
        self.0.has_synced()
    }

    /// See [`SharedInformer::synced`].
    pub async fn synced(&self) -> Result<(), NotSynced> {
        self.0.synced().await
    }

    /// See [`SharedInformer::synced_within`].
    pub async fn synced_within(&self, time: Duration) -> Result<(), NotSynced> {
        self.0.synced_within(time).await
    }

    /// See [`SharedInformer::wait_until`].
    pub async fn wait_until(&self, version: &ResourceVersion) -> Result<(), WaitError> {
        self.0.wait_until(version).await
    }

    /// See [`SharedInformer::wait_until_within`].
    pub async fn wait_until_within(
        &self,
        version: &ResourceVersion,
        time: Duration,
    ) -> Result<(), WaitError> {
        self.0.wait_until_within(version, time).await
    }

    /// See [`SharedInformer::wait_for`].
    pub async fn wait_for(&self, object: &dyn AnyObject) -> Result<(), WaitForError> {
        self.0.wait_for(object.metadata()).await
    }

    /// See [`SharedInformer::wait_for_within`].
    pub async fn wait_for_within(&self, object: &dyn AnyObject, time: Duration) -> Result<(), WaitForError> {
        self.0.wait_for_within(object.metadata(), time).await
    }

    /// See [`SharedInformer::wait_for_deletion`].
    pub async fn wait_for_deletion(&self, key: &ObjectKey, uid: &str) -> Result<(), WaitForError> {
        self.0.wait_for_deletion(key, uid).await
    }

    /// See [`SharedInformer::wait_for_deletion_within`].
    pub async fn wait_for_deletion_within(
        &self,
        key: &ObjectKey,
        uid: &str,
        time: Duration,
    ) -> Result<(), WaitForError> {
        self.0.wait_for_deletion_within(key, uid, time).await
    }

    /// The events as a stream, for async code: see [`SharedInformer::events`].
    pub fn events(&self) -> BoxStream<'static, Event<dyn AnyObject>> {
        self.0.events()
    }

    /// See [`SharedInformer::last_sync_resource_version`].
    pub fn last_sync_resource_version(&self) -> Option<ResourceVersion> {
        self.0.last_sync_resource_version()
    }

    /// See [`SharedInformer::status`].
    pub fn status(&self) -> InformerStatus {
        self.0.status()
    }

    /// See [`SharedInformer::status_changes`].
    pub fn status_changes(&self) -> StatusWatch {
        self.0.status_changes()
    }

    /// See [`SharedInformer::start`].
    pub fn start(&self) -> Result<(), StartError> {
        self.0.start()
    }

    /// See [`SharedInformer::pause`].
    pub fn pause(&self) {
        self.0.pause();
    }

    /// See [`SharedInformer::resume`].
    pub fn resume(&self) {
        self.0.resume();
    }

    /// See [`SharedInformer::add_namespace`].
    pub fn add_namespace(&self, namespace: &str) -> Result<(), ScopeError> {
        self.0.add_namespace(namespace)
    }

    /// See [`SharedInformer::remove_namespace`].
    pub fn remove_namespace(&self, namespace: &str) -> Result<(), ScopeError> {
        self.0.remove_namespace(namespace)
    }

    /// See [`SharedInformer::change_list_options`].
    pub fn change_list_options(
        &self,
        edit: impl FnOnce(ListOptions) -> ListOptions,
    ) -> Result<(), ScopeError> {
        let mut edit = Some(edit);
        self.0.change_list_options(&mut |options| match edit.take() {
            Some(edit) => edit(options),
            None => options,
        })
    }

    /// See [`SharedInformer::settled`].
    pub async fn settled(&self) -> Result<(), WaitError> {
        self.0.settled().await
    }

    /// See [`SharedInformer::stop`].
    pub fn stop(&self) {
        self.0.stop();
    }

    /// See [`SharedInformer::is_stopped`].
    pub fn is_stopped(&self) -> bool {
        self.0.is_stopped()
    }

    /// See [`SharedInformer::shutdown`].
    pub async fn shutdown(&self) {
        self.0.shutdown().await;
    }

    /// See [`SharedInformer::shutdown_timeout`].
    pub async fn shutdown_timeout(&self, time: Duration) -> Result<(), ShutdownTimeout> {
        self.0.shutdown_timeout(time).await
    }

    /// The number of objects, for the registry itself: does not count as an early or late read.
    pub(crate) fn objects(&self) -> usize {
        self.0.objects()
    }

    /// Whether the informer was started, by a factory or directly.
    pub(crate) fn was_started(&self) -> bool {
        self.0.was_started()
    }

    pub(crate) fn sync_state(&self) -> SyncState {
        self.0.sync_state()
    }

    pub(crate) fn vitals(&self) -> Vitals {
        self.0.vitals()
    }

    /// Changes when the cache or a handler becomes in sync, or a handler is added or ends.
    pub(crate) fn sync_changes(&self) -> watch::Receiver<u64> {
        self.0.sync_changes()
    }
}

impl<K: Object> From<SharedInformer<K>> for DynInformer {
    fn from(informer: SharedInformer<K>) -> Self {
        Self::new(informer)
    }
}

impl fmt::Debug for DynInformer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynInformer")
            .field("resource", &self.resource())
            .finish_non_exhaustive()
    }
}

/// How far an informer and its handlers are from being in sync.
pub(crate) enum SyncState {
    Synced,
    /// The cache is complete; these handlers have not processed all of it.
    Handlers {
        names: Vec<String>,
        outlook: SyncOutlook,
    },
    /// The cache is not complete.
    Cache {
        outlook: SyncOutlook,
        scopes: Vec<PendingScope>,
    },
}

/// Whether the cache or the handlers can still become in sync.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SyncOutlook {
    Possible,
    /// The informer has stopped, or the handlers were disconnected.
    Impossible,
}

/// The methods of [`SharedInformer`] that [`DynInformer`] needs, without the type parameter.
trait Erased: Any + Send + Sync {
    fn resource(&self) -> &str;
    fn handler_defaults(&self) -> HandlerOptions;
    fn add_boxed_handler(
        &self,
        options: HandlerOptions,
        handler: BoxedHandler,
    ) -> Result<Registration, AddHandlerError>;
    fn get(&self, key: &ObjectKey) -> Option<Arc<dyn AnyObject>>;
    fn list(&self, selector: &Selector) -> Vec<Arc<dyn AnyObject>>;
    fn keys(&self) -> Vec<ObjectKey>;
    fn keys_from(&self, start: Bound<&ObjectKey>, limit: usize) -> Vec<ObjectKey>;
    fn len(&self) -> usize;
    fn objects(&self) -> usize;
    fn has_synced(&self) -> bool;
    fn synced(&self) -> BoxFuture<'_, Result<(), NotSynced>>;
    fn synced_within(&self, time: Duration) -> BoxFuture<'_, Result<(), NotSynced>>;
    fn wait_until<'a>(&'a self, version: &'a ResourceVersion) -> BoxFuture<'a, Result<(), WaitError>>;
    fn wait_until_within<'a>(
        &'a self,
        version: &'a ResourceVersion,
        time: Duration,
    ) -> BoxFuture<'a, Result<(), WaitError>>;
    fn wait_for<'a>(&'a self, object: &'a ObjectMeta) -> BoxFuture<'a, Result<(), WaitForError>>;
    fn wait_for_within<'a>(
        &'a self,
        object: &'a ObjectMeta,
        time: Duration,
    ) -> BoxFuture<'a, Result<(), WaitForError>>;
    fn wait_for_deletion<'a>(
        &'a self,
        key: &'a ObjectKey,
        uid: &'a str,
    ) -> BoxFuture<'a, Result<(), WaitForError>>;
    fn wait_for_deletion_within<'a>(
        &'a self,
        key: &'a ObjectKey,
        uid: &'a str,
        time: Duration,
    ) -> BoxFuture<'a, Result<(), WaitForError>>;
    fn events(&self) -> BoxStream<'static, Event<dyn AnyObject>>;
    fn last_sync_resource_version(&self) -> Option<ResourceVersion>;
    fn status(&self) -> InformerStatus;
    fn status_changes(&self) -> StatusWatch;
    fn start(&self) -> Result<(), StartError>;
    fn stop(&self);
    fn pause(&self);
    fn resume(&self);
    fn add_namespace(&self, namespace: &str) -> Result<(), ScopeError>;
    fn remove_namespace(&self, namespace: &str) -> Result<(), ScopeError>;
    fn change_list_options(&self, edit: EditOptions<'_>) -> Result<(), ScopeError>;
    fn settled(&self) -> BoxFuture<'_, Result<(), WaitError>>;
    fn is_stopped(&self) -> bool;
    fn shutdown(&self) -> BoxFuture<'_, ()>;
    fn shutdown_timeout(&self, time: Duration) -> BoxFuture<'_, Result<(), ShutdownTimeout>>;
    fn was_started(&self) -> bool;
    fn sync_state(&self) -> SyncState;
    fn vitals(&self) -> Vitals;
    fn sync_changes(&self) -> watch::Receiver<u64>;
}

type EditOptions<'a> = &'a mut dyn FnMut(ListOptions) -> ListOptions;

type BoxedHandler = Box<dyn FnMut(Event<dyn AnyObject>) + Send>;

impl<K: Object> Erased for SharedInformer<K> {
    fn resource(&self) -> &str {
        self.shared.board.resource()
    }

    fn handler_defaults(&self) -> HandlerOptions {
        self.shared.handler_defaults.clone()
    }

    fn add_boxed_handler(
        &self,
        options: HandlerOptions,
        mut handler: BoxedHandler,
    ) -> Result<Registration, AddHandlerError> {
        self.add_handler_with(options, move |event: Event<K>| handler(event.erase()))
    }

    fn get(&self, key: &ObjectKey) -> Option<Arc<dyn AnyObject>> {
        let object = self.shared.indexer.get(key)?;
        Some(object)
    }

    fn list(&self, selector: &Selector) -> Vec<Arc<dyn AnyObject>> {
        let selected = self.shared.indexer.select(selector).into_iter();
        selected.map(|object| object as Arc<dyn AnyObject>).collect()
    }

    fn keys(&self) -> Vec<ObjectKey> {
        self.shared.indexer.keys()
    }

    fn keys_from(&self, start: Bound<&ObjectKey>, limit: usize) -> Vec<ObjectKey> {
        self.shared.indexer.peek().keys_from(start, limit)
    }

    fn len(&self) -> usize {
        self.shared.indexer.len()
    }

    fn objects(&self) -> usize {
        self.shared.indexer.peek().len()
    }

    fn has_synced(&self) -> bool {
        self.has_synced()
    }

    fn synced(&self) -> BoxFuture<'_, Result<(), NotSynced>> {
        Box::pin(self.synced())
    }

    fn synced_within(&self, time: Duration) -> BoxFuture<'_, Result<(), NotSynced>> {
        Box::pin(self.synced_within(time))
    }

    fn wait_until<'a>(&'a self, version: &'a ResourceVersion) -> BoxFuture<'a, Result<(), WaitError>> {
        Box::pin(self.wait_until(version))
    }

    fn wait_until_within<'a>(
        &'a self,
        version: &'a ResourceVersion,
        time: Duration,
    ) -> BoxFuture<'a, Result<(), WaitError>> {
        Box::pin(self.wait_until_within(version, time))
    }

    fn wait_for<'a>(&'a self, object: &'a ObjectMeta) -> BoxFuture<'a, Result<(), WaitForError>> {
        Box::pin(self.wait_for_write(object))
    }

    fn wait_for_within<'a>(
        &'a self,
        object: &'a ObjectMeta,
        time: Duration,
    ) -> BoxFuture<'a, Result<(), WaitForError>> {
        Box::pin(self.wait_for_write_within(object, time))
    }

    fn wait_for_deletion<'a>(
        &'a self,
        key: &'a ObjectKey,
        uid: &'a str,
    ) -> BoxFuture<'a, Result<(), WaitForError>> {
        Box::pin(self.wait_for_deletion(key, uid))
    }

    fn wait_for_deletion_within<'a>(
        &'a self,
        key: &'a ObjectKey,
        uid: &'a str,
        time: Duration,
    ) -> BoxFuture<'a, Result<(), WaitForError>> {
        Box::pin(self.wait_for_deletion_within(key, uid, time))
    }

    fn events(&self) -> BoxStream<'static, Event<dyn AnyObject>> {
        self.events().map(Event::erase).boxed()
    }

    fn last_sync_resource_version(&self) -> Option<ResourceVersion> {
        self.last_sync_resource_version()
    }

    fn status(&self) -> InformerStatus {
        self.status()
    }

    fn status_changes(&self) -> StatusWatch {
        self.status_changes()
    }

    fn start(&self) -> Result<(), StartError> {
        self.start()
    }

    fn stop(&self) {
        self.stop();
    }

    fn pause(&self) {
        self.pause();
    }

    fn resume(&self) {
        self.resume();
    }

    fn add_namespace(&self, namespace: &str) -> Result<(), ScopeError> {
        self.add_namespace(namespace)
    }

    fn remove_namespace(&self, namespace: &str) -> Result<(), ScopeError> {
        self.remove_namespace(namespace)
    }

    fn change_list_options(&self, edit: EditOptions<'_>) -> Result<(), ScopeError> {
        self.change_list_options(edit)
    }

    fn settled(&self) -> BoxFuture<'_, Result<(), WaitError>> {
        Box::pin(self.settled())
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped()
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.shutdown())
    }

    fn shutdown_timeout(&self, time: Duration) -> BoxFuture<'_, Result<(), ShutdownTimeout>> {
        Box::pin(self.shutdown_timeout(time))
    }

    fn was_started(&self) -> bool {
        self.shared.indexer.freshness() != Freshness::NotStarted
    }

    fn sync_state(&self) -> SyncState {
        if !self.has_synced() {
            let mut scopes = self.shared.board.pending();
            let outlook = match self.is_stopped() {
                true => SyncOutlook::Impossible,
                false => SyncOutlook::Possible,
            };
            if outlook == SyncOutlook::Impossible {
                // The tasks may not have noticed yet that the token was cancelled.
                for scope in &mut scopes {
                    scope.state = State::Stopped;
                }
            }
            return SyncState::Cache { outlook, scopes };
        }
        let missing = self.shared.processor.missing();
        if missing.is_empty() {
            return SyncState::Synced;
        }
        let can_finish = |(_, state): &(String, HandlerState)| *state == HandlerState::Active;
        SyncState::Handlers {
            outlook: match missing.iter().any(can_finish) && !self.is_stopped() {
                true => SyncOutlook::Possible,
                false => SyncOutlook::Impossible,
            },
            names: missing.into_iter().map(|(name, _)| name).collect(),
        }
    }

    fn vitals(&self) -> Vitals {
        SharedInformer::vitals(self)
    }

    fn sync_changes(&self) -> watch::Receiver<u64> {
        self.shared.processor.sync_changes()
    }
}
