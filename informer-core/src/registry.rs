//! The informers of one factory: at most one per kind; started, awaited and stopped together.

mod changes;
mod health;
mod lease;
mod progress;
mod wait;

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use kube::core::GroupVersionResource;
use tokio::sync::watch;

use crate::informer::{DynInformer, SharedInformer, ShutdownTimeout, StartError};
use crate::object::{Content, Object};
use crate::scope::Scope;
use crate::sync::Mutex;

pub use changes::RegistryChanges;
pub use health::{NoProgress, NotCurrent, ProgressCheck, ProgressLimits, Stall};
pub use lease::Released;
use lease::{Others, Uses};
pub use progress::{InformerProgress, SyncProgress, SyncReport};
pub use wait::{SyncError, Unsynced, WaitLimits, WaitingFor};

/// A set of informers, at most one for each type and resource.
///
/// The core of a factory; the `informers` crate adds an accessor for each built-in kind. Dropping the
/// registry stops its informers, even if other handles to them exist.
#[derive(Default)]
pub struct Registry {
    inner: Arc<RegistryInner>,
}

#[derive(Default)]
struct RegistryInner {
    contents: Mutex<Contents>,
    /// Incremented when informers are requested or started, or all are stopped.
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct Contents {
    entries: Vec<Registered>,
    closing: Closing,
}

/// Whether informers may still be started.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Closing {
    #[default]
    Open,
    Closed,
}

/// One informer, identified by the type of its objects and by their resource.
struct Registered {
    kind: TypeId,
    resource: GroupVersionResource,
    content: Content,
    informer: DynInformer,
    stage: Stage,
    start_warning: StartWarning,
    uses: Uses,
    namespaces: NamespacesOf,
    options: OptionsOf,
}

/// Whether the log warned that the informer is not started although others are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StartWarning {
    Pending,
    Logged,
}

/// Whose namespaces an informer covers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NamespacesOf {
    /// Those of all informers, which may change.
    Registry,
    /// Its own.
    Informer,
}

/// Whose options an informer was built with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OptionsOf {
    /// Those of all informers: another one can be built.
    Registry,
    /// Its own, which are used up.
    Informer,
}

/// What the registry has done with an informer.
#[derive(Clone, Copy)]
enum Stage {
    /// Built with its own options, and not requested yet.
    Prepared,
    /// Requested.
    Created,
    Started,
    /// `start` failed.
    Failed(StartError),
}

impl Registry {
    /// Creates an empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores an informer until it is requested. Until then it is neither started nor listed.
    ///
    /// # Errors
    /// Returns the informer if the registry already has one of this type and resource.
    pub fn prepare<K: Object>(
        &self,
        resource: GroupVersionResource,
        informer: SharedInformer<K>,
    ) -> Result<(), SharedInformer<K>> {
        let mut contents = self.inner.contents.lock();
        let kind = TypeId::of::<K>();
        let is_it = |entry: &Registered| entry.kind == kind && entry.resource == resource;
        if contents.entries.iter().any(is_it) {
            return Err(informer);
        }
        let mut entry = Registered::new(resource, &informer, Stage::Prepared);
        entry.options = OptionsOf::Informer;
        contents.entries.push(entry);
        Ok(())
    }

    /// Records that an informer has namespaces of its own: [`following`](Self::following) leaves it out.
    pub fn keep_namespaces<K: Object>(&self, resource: &GroupVersionResource) {
        let kind = TypeId::of::<K>();
        for entry in &mut self.inner.contents.lock().entries {
            if entry.kind == kind && entry.resource == *resource {
                entry.namespaces = NamespacesOf::Informer;
            }
        }
    }

    /// Returns the informer of this type and resource, and creates it first if necessary. After a shutdown
    /// the informer is a stopped one.
    ///
    /// `make` is called under the registry's lock; building an informer runs no user code.
    ///
    /// # Errors
    /// The errors of `make`.
    pub fn get_or_make<K: Object, E>(
        &self,
        resource: &GroupVersionResource,
        make: impl FnOnce() -> Result<SharedInformer<K>, E>,
    ) -> Result<SharedInformer<K>, E> {
        let kind = TypeId::of::<K>();
        let mut contents = self.inner.contents.lock();
        let is_it = |entry: &Registered| entry.kind == kind && entry.resource == *resource;
        if let Some(present) = contents.take(is_it) {
            contents.used_without_lease(is_it);
            return Ok(present.typed().expect("entries are found by their type"));
        }
        let informer = contents.make(resource, make)?;
        contents.used_without_lease(is_it);
        drop(contents);
        self.inner.announce();
        Ok(informer)
    }

    /// Returns the informer of this resource, of any type that holds whole objects, and creates it first if
    /// necessary. A prepared informer is used before a new one is made, so its options apply here too.
    ///
    /// # Errors
    /// The errors of `make`.
    pub fn find_or_make<K: Object, E>(
        &self,
        resource: &GroupVersionResource,
        make: impl FnOnce() -> Result<SharedInformer<K>, E>,
    ) -> Result<DynInformer, E> {
        let mut contents = self.inner.contents.lock();
        let is_it = |entry: &Registered| entry.content == Content::Objects && entry.resource == *resource;
        if let Some(present) = contents.take(is_it) {
            contents.used_without_lease(is_it);
            return Ok(present);
        }
        let informer = contents.make(resource, make)?;
        contents.used_without_lease(is_it);
        drop(contents);
        self.inner.announce();
        Ok(DynInformer::new(informer))
    }

    /// The requested informers, in request order.
    pub fn informers(&self) -> Vec<DynInformer> {
        let contents = self.inner.contents.lock();
        contents.requested().map(|entry| entry.informer.clone()).collect()
    }

    /// The resource of each requested informer, and its scopes.
    pub fn resources(&self) -> Vec<(GroupVersionResource, Vec<Scope>)> {
        let contents = self.inner.contents.lock();
        let resources = contents.requested().map(|entry| {
            let scopes = entry.informer.status().scopes.into_iter();
            let scopes = scopes
                .map(|scope| scope.scope)
                .filter(|scope| !scope.is_awaited());
            (entry.resource.clone(), scopes.collect())
        });
        resources.collect()
    }

    /// The requested informers with what identifies each, for metrics.
    #[cfg(feature = "metrics")]
    pub fn identified(&self) -> Vec<Identified> {
        let contents = self.inner.contents.lock();
        let requested = contents.requested().map(|entry| Identified {
            resource: entry.resource.clone(),
            view: entry.view(),
            informer: entry.informer.clone(),
        });
        requested.collect()
    }

    /// Starts every requested informer that is not started. Call it again after more were requested.
    ///
    /// An informer that cannot be started is logged, and reported by [`wait_for_sync`](Self::wait_for_sync).
    /// Calling this again retries it.
    pub fn start(&self) {
        let mut contents = self.inner.contents.lock();
        let closing = contents.closing;
        for entry in &mut contents.entries {
            match entry.stage {
                Stage::Created | Stage::Failed(_) if closing == Closing::Open => entry.start(),
                _ => {}
            }
        }
        drop(contents);
        self.inner.announce();
    }

    /// Waits until every started informer and each of its handlers is in sync. If informers were created but
    /// none was started, the error names them as not started.
    ///
    /// Does not wait for streams ([`SharedInformer::events`]), whose readers set the pace, nor, as in
    /// client-go, for informers created after the last [`start`](Self::start): each of those is logged once,
    /// as a warning.
    ///
    /// # Errors
    /// [`SyncError`] names each informer that is not in sync, with the reason. It is returned when every one
    /// of them has stopped or has failed for as long as [`WaitLimits`] allows, and at the deadline.
    pub async fn wait_for_sync(&self, limits: WaitLimits) -> Result<(), SyncError> {
        wait::run(&self.inner, limits).await
    }

    /// Returns the sync progress of each informer, for display while waiting.
    pub fn progress(&self) -> SyncProgress {
        SyncProgress::new(&self.inner)
    }

    /// Returns a watch that waits for changes of the status of any informer.
    pub fn changes(&self) -> RegistryChanges {
        RegistryChanges::new(&self.inner)
    }

    /// Waits until the registry is shut down or dropped. The future does not keep the registry alive.
    pub fn closed(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut changed = self.inner.changed.subscribe();
        let inner = Arc::downgrade(&self.inner);
        async move {
            let is_open = || {
                let inner = inner.upgrade();
                inner.is_some_and(|inner| inner.contents.lock().closing == Closing::Open)
            };
            while is_open() && changed.changed().await.is_ok() {}
        }
    }

    /// Stops every informer; see [`SharedInformer::shutdown`]. Informers requested afterwards are stopped
    /// ones. May be called repeatedly and concurrently.
    pub async fn shutdown(&self) {
        let informers = self.inner.close();
        join_all(informers.iter().map(DynInformer::shutdown)).await;
    }

    /// Like [`shutdown`](Self::shutdown), but stops waiting after `time`.
    ///
    /// # Errors
    /// The informers that have not stopped, each with its busy handlers. They still finish by themselves.
    pub async fn shutdown_timeout(&self, time: Duration) -> Result<(), RegistryShutdownTimeout> {
        let informers = self.inner.close();
        let ends = informers.iter().map(async |informer| {
            let error = informer.shutdown_timeout(time).await.err()?;
            Some((informer.resource().to_owned(), error))
        });
        let stuck: Vec<_> = join_all(ends).await.into_iter().flatten().collect();
        match stuck.is_empty() {
            true => Ok(()),
            false => Err(RegistryShutdownTimeout { stuck }),
        }
    }
}

/// An informer of a registry, and what distinguishes it from the others.
#[cfg(feature = "metrics")]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Identified {
    /// The resource of its objects.
    pub resource: GroupVersionResource,
    /// The part of each object that it holds: `objects`, `metadata`, or the type of a projection.
    pub view: String,
    /// The informer.
    pub informer: DynInformer,
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.inner.close();
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("informers", &self.informers())
            .finish()
    }
}

impl RegistryInner {
    /// Prevents further starts, and begins to stop what runs.
    fn close(&self) -> Vec<DynInformer> {
        let mut contents = self.contents.lock();
        contents.closing = Closing::Closed;
        let informers: Vec<DynInformer> = contents
            .entries
            .iter()
            .map(|entry| entry.informer.clone())
            .collect();
        drop(contents);
        for informer in &informers {
            informer.stop();
        }
        self.announce();
        informers
    }

    fn announce(&self) {
        self.changed.send_modify(|count| *count = count.wrapping_add(1));
    }
}

impl Contents {
    /// Returns an existing informer and marks it as requested.
    fn take(&mut self, is_it: impl Fn(&Registered) -> bool) -> Option<DynInformer> {
        // A requested informer comes before one that is only prepared.
        let is_requested = |entry: &&Registered| !matches!(entry.stage, Stage::Prepared) && is_it(entry);
        if let Some(present) = self.entries.iter().find(is_requested) {
            return Some(present.informer.clone());
        }
        let at = self.entries.iter().position(is_it)?;
        let mut entry = self.entries.remove(at);
        entry.stage = Stage::Created;
        let informer = entry.informer.clone();
        // At the end: `informers` returns them in request order.
        self.add(entry);
        Some(informer)
    }

    fn make<K: Object, E>(
        &mut self,
        resource: &GroupVersionResource,
        make: impl FnOnce() -> Result<SharedInformer<K>, E>,
    ) -> Result<SharedInformer<K>, E> {
        let informer = make()?;
        self.add(Registered::new(resource.clone(), &informer, Stage::Created));
        Ok(informer)
    }

    /// Records that an informer was requested without a lease.
    fn used_without_lease(&mut self, is_it: impl Fn(&Registered) -> bool) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| is_it(entry)) {
            entry.uses.others = Others::Unknown;
        }
    }

    fn add(&mut self, entry: Registered) {
        if self.closing == Closing::Closed {
            entry.informer.stop();
        }
        self.entries.push(entry);
    }

    /// The informers that were created and not started, each only in the first call.
    fn take_unstarted(&mut self) -> Vec<String> {
        let mut resources = Vec::new();
        for entry in &mut self.entries {
            if matches!(entry.stage, Stage::Created)
                && entry.start_warning == StartWarning::Pending
                && !entry.informer.was_started()
            {
                entry.start_warning = StartWarning::Logged;
                resources.push(entry.informer.resource().to_owned());
            }
        }
        resources
    }

    fn requested(&self) -> impl Iterator<Item = &Registered> {
        self.entries
            .iter()
            .filter(|entry| !matches!(entry.stage, Stage::Prepared))
    }
}

impl Registered {
    fn new<K: Object>(resource: GroupVersionResource, informer: &SharedInformer<K>, stage: Stage) -> Self {
        Self {
            kind: TypeId::of::<K>(),
            resource,
            content: Content::of::<K>(),
            informer: DynInformer::new(informer.clone()),
            stage,
            start_warning: StartWarning::Pending,
            uses: Uses::default(),
            namespaces: NamespacesOf::Registry,
            options: OptionsOf::Registry,
        }
    }

    #[cfg(feature = "metrics")]
    fn view(&self) -> String {
        match self.content {
            Content::Objects => "objects".to_owned(),
            Content::Metadata => "metadata".to_owned(),
            // The name of its resource ends with the type: `pods (PodOnNode)`.
            Content::Projection => {
                let name = self.informer.resource();
                let ends = name.split_once(" (").and_then(|(_, rest)| rest.strip_suffix(')'));
                ends.unwrap_or("projection").to_owned()
            }
        }
    }

    fn was_started(&self) -> bool {
        matches!(self.stage, Stage::Started | Stage::Failed(_))
    }

    fn start(&mut self) {
        self.stage = match self.informer.start() {
            // The user may have started it directly.
            Ok(()) | Err(StartError::AlreadyStarted) => Stage::Started,
            Err(error) => {
                tracing::error!(resource = %self.informer.resource(), %error, "failed to start an informer");
                Stage::Failed(error)
            }
        };
    }
}

/// Informers that did not stop in time.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.describe())]
#[non_exhaustive]
pub struct RegistryShutdownTimeout {
    /// The resource of each informer, and its busy handlers.
    pub stuck: Vec<(String, ShutdownTimeout)>,
}

crate::__debug_is_the_message!(RegistryShutdownTimeout);

impl RegistryShutdownTimeout {
    fn describe(&self) -> String {
        let each: Vec<String> = self
            .stuck
            .iter()
            .map(|(resource, error)| format!("{resource}: {error}"))
            .collect();
        each.join("; ")
    }
}

#[cfg(all(test, not(feature = "__model")))]
#[path = "registry_tests.rs"]
mod tests;
