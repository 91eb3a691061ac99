//! Every informer of one factory: one per kind, started, awaited and stopped together.

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
use crate::sync::Mutex;

pub use progress::{InformerProgress, SyncProgress, SyncReport};
pub use wait::{SyncError, Unsynced, WaitLimits, WaitingFor};

/// A set of informers, at most one for each type and resource.
///
/// This is what a factory is made of; the `informers` crate has one with an accessor for each built-in kind. When it is dropped,
/// its informers stop, whoever else holds one.
#[derive(Default)]
pub struct Registry {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    contents: Mutex<Contents>,
    /// Changes when informers are started, or all are stopped.
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct Contents {
    entries: Vec<Entry>,
    closing: Closing,
}

/// Whether informers may still be started.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Closing {
    #[default]
    Open,
    Closed,
}

/// One informer, known by the type of its objects and the resource they come from.
struct Entry {
    kind: TypeId,
    resource: GroupVersionResource,
    content: Content,
    informer: DynInformer,
    life: Life,
    unstarted: Unstarted,
}

/// Whether the log says that an informer is not started while others are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unstarted {
    NotReported,
    Reported,
}

/// How far an informer is in the registry's hands.
#[derive(Clone, Copy)]
enum Life {
    /// Made with options of its own, and not yet asked for.
    Prepared,
    /// Asked for.
    Created,
    Started,
    /// It should run, and does not.
    Failed(StartError),
}

impl Registry {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps an informer for when it is asked for. Until then it is neither started nor shown.
    ///
    /// # Errors
    /// The informer itself, if there is one of this type and resource already.
    pub fn prepare<K: Object>(
        &self,
        resource: GroupVersionResource,
        informer: SharedInformer<K>,
    ) -> Result<(), SharedInformer<K>> {
        let mut contents = self.shared.contents.lock();
        let kind = TypeId::of::<K>();
        let is_it = |entry: &Entry| entry.kind == kind && entry.resource == resource;
        if contents.entries.iter().any(is_it) {
            return Err(informer);
        }
        contents
            .entries
            .push(Entry::new(resource, &informer, Life::Prepared));
        Ok(())
    }

    /// The informer of this type and resource, made if there is none. After a shutdown it is one that has stopped.
    ///
    /// `make` is called under the registry's lock; making an informer runs no user code.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn get_or_make<K: Object, E>(
        &self,
        resource: &GroupVersionResource,
        make: impl FnOnce() -> Result<SharedInformer<K>, E>,
    ) -> Result<SharedInformer<K>, E> {
        let kind = TypeId::of::<K>();
        let mut contents = self.shared.contents.lock();
        let is_it = |entry: &Entry| entry.kind == kind && entry.resource == *resource;
        let informer = match contents.take(is_it) {
            Some(present) => present.typed().expect("entries are found by their type"),
            None => contents.make(resource, make)?,
        };
        Ok(informer)
    }

    /// The informer of this resource, of whichever type, but with whole objects; made if there is none. One that was prepared is
    /// used before another is made, so its options hold here too.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn find_or_make<K: Object, E>(
        &self,
        resource: &GroupVersionResource,
        make: impl FnOnce() -> Result<SharedInformer<K>, E>,
    ) -> Result<DynInformer, E> {
        let mut contents = self.shared.contents.lock();
        let is_it = |entry: &Entry| entry.content == Content::Objects && entry.resource == *resource;
        match contents.take(is_it) {
            Some(present) => Ok(present),
            None => contents.make(resource, make).map(DynInformer::new),
        }
    }

    /// Every informer that was asked for, in that order.
    pub fn informers(&self) -> Vec<DynInformer> {
        let contents = self.shared.contents.lock();
        contents.asked_for().map(|entry| entry.informer.clone()).collect()
    }

    /// Starts every informer that was asked for and is not started. May be called again after more were asked for.
    ///
    /// One that cannot be started is told in the log and by [`wait_for_sync`](Self::wait_for_sync); calling this again tries
    /// again.
    pub fn start(&self) {
        let mut contents = self.shared.contents.lock();
        let closing = contents.closing;
        for entry in &mut contents.entries {
            match entry.life {
                Life::Created | Life::Failed(_) if closing == Closing::Open => entry.start(),
                _ => {}
            }
        }
        drop(contents);
        self.shared.announce();
    }

    /// Waits until every started informer, and every handler it has, is in sync. If none was started, but
    /// some were created, the error names them as not started.
    ///
    /// Streams ([`SharedInformer::events`]) are not waited for: their readers decide when to go on. Nor are
    /// informers that were created after the last [`start`](Self::start), as in client-go: each is logged
    /// once, as a warning.
    ///
    /// # Errors
    /// [`SyncError`] names each informer that is not in sync and why. It is returned when every one of them
    /// has failed for as long as [`WaitLimits`] allows or has stopped, and at the deadline.
    pub async fn wait_for_sync(&self, limits: WaitLimits) -> Result<(), SyncError> {
        wait::run(&self.shared, limits).await
    }

    /// The way to being in sync, to be shown to somebody who waits.
    pub fn progress(&self) -> SyncProgress {
        SyncProgress::new(&self.shared)
    }

    /// Stops every informer; see [`SharedInformer::shutdown`]. Informers asked for afterwards have stopped already. May be
    /// called again, and at the same time.
    pub async fn shutdown(&self) {
        let informers = self.shared.close();
        join_all(informers.iter().map(DynInformer::shutdown)).await;
    }

    /// Like [`shutdown`](Self::shutdown), but gives up waiting after a time.
    ///
    /// # Errors
    /// The informers that have not stopped, each with the handlers that are still busy. They finish on their own.
    pub async fn shutdown_timeout(&self, time: Duration) -> Result<(), RegistryShutdownTimeout> {
        let informers = self.shared.close();
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

impl Drop for Registry {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("informers", &self.informers())
            .finish()
    }
}

impl Shared {
    /// Lets nothing start any more, and begins to stop what runs.
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
    /// An informer that is there, which counts as asked for from now on.
    fn take(&mut self, is_it: impl Fn(&Entry) -> bool) -> Option<DynInformer> {
        // One that was asked for before comes before one that is only prepared.
        let is_asked_for = |entry: &&Entry| !matches!(entry.life, Life::Prepared) && is_it(entry);
        if let Some(present) = self.entries.iter().find(is_asked_for) {
            return Some(present.informer.clone());
        }
        let at = self.entries.iter().position(is_it)?;
        let mut entry = self.entries.remove(at);
        entry.life = Life::Created;
        let informer = entry.informer.clone();
        // At the end, among those that were asked for.
        self.add(entry);
        Some(informer)
    }

    fn make<K: Object, E>(
        &mut self,
        resource: &GroupVersionResource,
        make: impl FnOnce() -> Result<SharedInformer<K>, E>,
    ) -> Result<SharedInformer<K>, E> {
        let informer = make()?;
        self.add(Entry::new(resource.clone(), &informer, Life::Created));
        Ok(informer)
    }

    fn add(&mut self, entry: Entry) {
        if self.closing == Closing::Closed {
            entry.informer.stop();
        }
        self.entries.push(entry);
    }

    /// The informers that were created and not started, each the first time only.
    fn report_unstarted(&mut self) -> Vec<String> {
        let mut resources = Vec::new();
        for entry in &mut self.entries {
            if matches!(entry.life, Life::Created)
                && entry.unstarted == Unstarted::NotReported
                && !entry.informer.was_started()
            {
                entry.unstarted = Unstarted::Reported;
                resources.push(entry.informer.resource().to_owned());
            }
        }
        resources
    }

    fn asked_for(&self) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .filter(|entry| !matches!(entry.life, Life::Prepared))
    }
}

impl Entry {
    fn new<K: Object>(resource: GroupVersionResource, informer: &SharedInformer<K>, life: Life) -> Self {
        Self {
            kind: TypeId::of::<K>(),
            resource,
            content: Content::of::<K>(),
            informer: DynInformer::new(informer.clone()),
            life,
            unstarted: Unstarted::NotReported,
        }
    }

    fn was_started(&self) -> bool {
        matches!(self.life, Life::Started | Life::Failed(_))
    }

    fn start(&mut self) {
        self.life = match self.informer.start() {
            // Its owner may have started it by hand.
            Ok(()) | Err(StartError::AlreadyStarted) => Life::Started,
            Err(error) => {
                tracing::error!(resource = %self.informer.resource(), %error, "could not start an informer");
                Life::Failed(error)
            }
        };
    }
}

/// Informers that took too long to stop.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.describe())]
#[non_exhaustive]
pub struct RegistryShutdownTimeout {
    /// The resource of each, and what it is busy with.
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
