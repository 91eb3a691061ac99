//! Delivers events to handlers: one buffer and one task per handler, so that a slow one delays only itself.

mod buffer;
mod distribution;
mod listener;
mod mailbox;
mod registration;
mod resync;
mod runner;
mod stream;
mod unstarted;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::delta::ResyncTicket;
use crate::handler::{HandlerOptions, HandlerResync};
use crate::mutant;
use crate::object::Object;
use crate::store::Snapshot;
use crate::sync::Mutex;

pub(crate) use distribution::{Audience, Distribution};
use distribution::{Publication, Then};
use listener::Bell;
pub(crate) use listener::{Listener, Served};
pub use registration::{BufferMode, HandlerState, HandlerStatus, ListenerEnded, Registration, Removal};
use resync::ResyncPlan;
pub(crate) use runner::{run_async, run_blocking};
pub use stream::EventStream;
pub(crate) use unstarted::Unstarted;

/// The handlers of one informer.
///
/// Its lock is for the list of handlers. It is held while a commit becomes visible, but not while the
/// commit's events are delivered: nobody waits for it longer than a walk over the handlers takes.
pub(crate) struct Processor<K> {
    inner: Mutex<Inner<K>>,
    next_id: AtomicU64,
    bell: Bell,
}

struct Inner<K> {
    listeners: Vec<Arc<Listener<K>>>,
    resync: ResyncPlan,
    /// Whether the initial state is complete, and those added from now on find all of it in their snapshot.
    synced: bool,
    /// Whether nothing more will be delivered.
    stopped: bool,
}

impl<K: Object> Inner<K> {
    /// Forgets listeners that were removed. One that is still inside its last call is kept until it has
    /// returned, so that a shutdown can name it.
    fn sweep(&mut self) {
        self.listeners
            .retain(|listener| !listener.is_removed() || listener.is_busy());
    }
}

impl<K: Object> Processor<K> {
    pub(crate) fn new(check_period: Option<Duration>) -> Self {
        Self {
            inner: Mutex::new(Inner {
                listeners: Vec::new(),
                resync: ResyncPlan::new(check_period),
                synced: false,
                stopped: false,
            }),
            next_id: AtomicU64::new(1),
            bell: Bell::new(),
        }
    }

    /// Adds a listener; `None` if nothing more will be delivered. `snapshot` is called while no commit can
    /// become visible, so that the listener receives exactly the events that are not part of that snapshot.
    pub(crate) fn add(
        &self,
        name: String,
        options: &HandlerOptions,
        served: Served,
        snapshot: impl FnOnce() -> Snapshot<K>,
    ) -> Option<Arc<Listener<K>>> {
        let listener = self.add_or_ended(name, options, served, snapshot);
        listener.is_active().then_some(listener)
    }

    /// Adds a listener, one that has ended if nothing more will be delivered.
    pub(crate) fn add_or_ended(
        &self,
        name: String,
        options: &HandlerOptions,
        served: Served,
        snapshot: impl FnOnce() -> Snapshot<K>,
    ) -> Arc<Listener<K>> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let listener = Arc::new(Listener::new(id, name, options, served, self.bell.clone()));
        let mut inner = self.inner.lock();
        if inner.stopped {
            drop(inner);
            listener.stop();
            return listener;
        }
        // Without this, handlers that come and go while nothing changes would pile up.
        inner.sweep();
        let Inner {
            listeners, resync, ..
        } = &mut *inner;
        let requested = match options.resync {
            HandlerResync::Inherit => resync.default_period(),
            HandlerResync::Never => None,
            HandlerResync::Every(period) => Some(period),
        };
        let others = listeners.iter().map(|other| other.schedule());
        *listener.schedule().lock() = resync.admit(requested, Instant::now(), others);
        if !mutant::is("I8") {
            listener.replay(snapshot());
        }
        if inner.synced {
            listener.mark_initial_end();
        }
        inner.listeners.push(listener.clone());
        drop(inner);
        self.bell.ring();
        listener
    }

    /// Keeps handlers from being added while a commit becomes visible, and fixes who receives its events: see
    /// [`Publication`].
    pub(crate) fn publication(&self) -> Publication<'_, K> {
        Publication::new(self.inner.lock(), &self.bell)
    }

    /// Delivers to the handlers of a ticket only. For events that change nothing in the store.
    pub(crate) fn resync(&self, ticket: &ResyncTicket) -> Distribution<'_, K> {
        let due: std::collections::HashSet<u64> = ticket.0.iter().copied().collect();
        let mut listeners = self.listeners();
        listeners.retain(|listener| due.contains(&listener.id()) && listener.is_active());
        Distribution::new(listeners, Then::Nothing, &self.bell)
    }

    /// No handler added from now on can make the informer check for resyncs more often.
    pub(crate) fn freeze_resync(&self) -> Option<Duration> {
        let mut inner = self.inner.lock();
        let Inner {
            listeners, resync, ..
        } = &mut *inner;
        resync.freeze(
            Instant::now(),
            listeners.iter().map(|listener| listener.schedule()),
        );
        resync.check_period()
    }

    /// The handlers that are to receive every object again now.
    pub(crate) fn due(&self, now: Instant) -> Option<ResyncTicket> {
        let due: Vec<u64> = self
            .listeners()
            .iter()
            .filter(|listener| listener.is_active() && listener.schedule().lock().take_due(now))
            .map(|listener| listener.id())
            .collect();
        (!due.is_empty()).then(|| ResyncTicket::new(due))
    }

    pub(crate) fn status(&self) -> Vec<HandlerStatus> {
        self.listeners()
            .iter()
            .map(|listener| listener.status())
            .filter(|status| status.state != HandlerState::Removed)
            .collect()
    }

    /// The handlers that have not returned from the whole initial state. A stream is not among them: its
    /// reader decides when to read on.
    pub(crate) fn missing(&self) -> Vec<(String, HandlerState)> {
        self.listeners()
            .iter()
            .filter(|listener| listener.is_missing())
            .map(|listener| (listener.name().to_owned(), listener.status().state))
            .collect()
    }

    /// Changes when a handler comes into sync, ends, or is new, and when the cache comes into sync.
    pub(crate) fn sync_changes(&self) -> watch::Receiver<u64> {
        self.bell.subscribe()
    }

    /// Ends every listener: nothing more will be delivered.
    pub(crate) fn stop(&self) {
        self.inner.lock().stopped = true;
        // What waits in their buffers ends with them, and that may be much: not under the lock.
        for listener in self.listeners() {
            listener.stop();
        }
    }

    /// The names of the handlers that are inside a call right now. A stream never is: a shutdown does not
    /// wait for its reader.
    pub(crate) fn busy(&self) -> Vec<String> {
        self.listeners()
            .iter()
            .filter(|listener| listener.is_busy())
            .map(|listener| listener.name().to_owned())
            .collect()
    }

    /// The handlers of this moment, to look at without the lock.
    fn listeners(&self) -> Vec<Arc<Listener<K>>> {
        self.inner.lock().listeners.clone()
    }
}

#[cfg(any(all(test, not(feature = "__model")), feature = "__internals"))]
impl<K: Object> Processor<K> {
    /// How many listeners are kept, removed ones included: `status()` shows only the others.
    pub(crate) fn kept(&self) -> usize {
        self.inner.lock().listeners.len()
    }
}

#[cfg(all(test, feature = "__model"))]
#[path = "processor_model.rs"]
mod model;
#[cfg(all(test, not(feature = "__model")))]
#[path = "processor_tests.rs"]
mod tests;
