//! Tells handlers: one buffer and one task per handler, so that a slow one holds up nobody else.

mod buffer;
mod listener;
mod mailbox;
mod resync;
mod runner;
mod stream;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::delta::ResyncTicket;
use crate::handler::{Event, HandlerOptions, HandlerResync};
use crate::mutant;
use crate::object::Object;
use crate::store::Snapshot;
use crate::sync::{Mutex, MutexGuard};

use listener::Bell;
pub use listener::{BufferMode, HandlerState, HandlerStatus, ListenerEnded, Registration, Removal};
pub(crate) use listener::{Listener, Served};
pub(crate) use runner::{run_async, run_blocking};
pub use stream::EventStream;

use resync::ResyncPlan;

/// The handlers of one informer.
pub(crate) struct Processor<K> {
    inner: Mutex<Inner<K>>,
    next_id: AtomicU64,
    bell: Bell,
}

struct Inner<K> {
    listeners: Vec<Arc<Listener<K>>>,
    resync: ResyncPlan,
    /// Whether the initial state has been told to everyone who was there.
    synced: bool,
    /// Whether nothing more will be told to anyone.
    stopped: bool,
}

impl<K: Object> Inner<K> {
    fn sweep(&mut self) {
        let Self {
            listeners, resync, ..
        } = self;
        listeners.retain(|listener| {
            // One that is still inside its last call is kept until it has returned, so that a shutdown can name it.
            let keep = !listener.is_removed() || listener.is_busy();
            if !keep {
                resync.remove(listener.id());
            }
            keep
        });
    }
}

/// Whom an event is for.
pub(crate) enum Audience<'a> {
    /// Everyone.
    All,
    /// Those who asked for resyncs at all: an unchanged object in a relist.
    Resyncing,
    /// Those a resync is due for.
    Due(&'a ResyncTicket),
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

    /// Adds a listener; `None` if nothing more will be told. `snapshot` is called while nothing can be distributed, so that the
    /// listener hears exactly what that snapshot does not hold.
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

    /// Adds a listener, one that has ended if nothing more will be told.
    pub(crate) fn add_or_ended(
        &self,
        name: String,
        options: &HandlerOptions,
        served: Served,
        snapshot: impl FnOnce() -> Snapshot<K>,
    ) -> Arc<Listener<K>> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut inner = self.inner.lock();
        let listener = Arc::new(Listener::new(id, name, options, served, self.bell.clone()));
        if inner.stopped {
            listener.stop();
            return listener;
        }
        // Without this, handlers that come and go while nothing changes would pile up.
        inner.sweep();
        let requested = match options.resync {
            HandlerResync::Inherit => inner.resync.default_period(),
            HandlerResync::Never => None,
            HandlerResync::Every(period) => Some(period),
        };
        inner.resync.add(id, requested, Instant::now());
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

    /// Keeps everyone from being added or told while a commit becomes visible: see [`Distribution`].
    pub(crate) fn distribution(&self) -> Distribution<'_, K> {
        Distribution {
            inner: self.inner.lock(),
            bell: &self.bell,
        }
    }

    /// No handler added from now on can make the informer check for resyncs more often.
    pub(crate) fn freeze_resync(&self) -> Option<Duration> {
        let mut inner = self.inner.lock();
        inner.resync.freeze(Instant::now());
        inner.resync.check_period()
    }

    /// The handlers that are to hear of every object again now.
    pub(crate) fn due(&self, now: Instant) -> Option<ResyncTicket> {
        let due = self.inner.lock().resync.due(now);
        (!due.is_empty()).then(|| ResyncTicket::new(due))
    }

    pub(crate) fn status(&self) -> Vec<HandlerStatus> {
        let inner = self.inner.lock();
        inner
            .listeners
            .iter()
            .filter(|listener| !listener.is_removed())
            .map(|listener| listener.status(inner.resync.period(listener.id())))
            .collect()
    }

    /// The handlers that have not returned from the whole initial state. A stream is not among them: it is its reader who decides
    /// when to go on.
    pub(crate) fn missing(&self) -> Vec<(String, HandlerState)> {
        let inner = self.inner.lock();
        inner
            .listeners
            .iter()
            .filter(|listener| listener.is_missing())
            .map(|listener| (listener.name().to_owned(), listener.status(None).state))
            .collect()
    }

    /// Changes when a handler comes into sync, ends, or is new, and when the cache comes into sync.
    pub(crate) fn sync_changes(&self) -> watch::Receiver<u64> {
        self.bell.subscribe()
    }

    /// Tells every listener that nothing more will come.
    pub(crate) fn stop(&self) {
        let mut inner = self.inner.lock();
        inner.stopped = true;
        for listener in &inner.listeners {
            listener.stop();
        }
    }

    /// The names of the handlers that are inside a call right now.
    pub(crate) fn busy(&self) -> Vec<String> {
        let inner = self.inner.lock();
        inner
            .listeners
            .iter()
            .filter(|listener| listener.is_busy())
            .map(|listener| listener.name().to_owned())
            .collect()
    }
}

/// The right to tell handlers. While it is held no handler can be added, so a commit published and distributed under one
/// `Distribution` is either in a late handler's snapshot or told to it, never both.
pub(crate) struct Distribution<'a, K> {
    inner: MutexGuard<'a, Inner<K>>,
    bell: &'a Bell,
}

impl<K: Object> Distribution<'_, K> {
    /// Puts an event into the buffers of its audience. Never waits.
    pub(crate) fn tell(&mut self, audience: &Audience<'_>, event: &Event<K>) {
        let Inner {
            listeners, resync, ..
        } = &mut *self.inner;
        for listener in listeners {
            let hears = match audience {
                Audience::All => true,
                Audience::Resyncing => resync.period(listener.id()).is_some(),
                Audience::Due(ticket) => ticket.0.contains(&listener.id()),
            };
            if hears {
                listener.push(event.clone());
            }
        }
    }

    /// The initial state is complete: everyone who has heard all so far is in sync.
    pub(crate) fn initial_end(&mut self) {
        self.inner.synced = true;
        for listener in &self.inner.listeners {
            listener.mark_initial_end();
        }
        self.bell.ring();
    }

    /// Forgets listeners that were removed.
    pub(crate) fn sweep(&mut self) {
        self.inner.sweep();
    }
}
