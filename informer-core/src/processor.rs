//! Delivers events to handlers: one buffer and one task per handler, so that a slow handler delays only
//! itself.

mod arrivals;
mod buffer;
mod distribution;
mod inside;
mod listener;
mod listener_state;
mod registration;
mod resync;
mod runner;
mod shift;
mod stream;

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
use crate::sync::{Mutex, Signal};

use distribution::Then;
pub(crate) use distribution::{Audience, Distribution, Publication};
pub(crate) use listener::{Listener, Served};
use registration::Control;
pub(crate) use registration::EarlyStop;
pub use registration::{BufferMode, HandlerEnded, HandlerState, HandlerStatus, Registration, Removal};
use resync::{ResyncPlan, Schedule};
pub(crate) use runner::{run_async, run_blocking};
pub use stream::EventStream;

/// The handlers of one informer.
///
/// Its lock protects the list of handlers. It is held while a commit becomes visible, but not while the
/// commit's events are delivered, so no caller waits for it longer than a walk over the handlers takes. A
/// listener's lock may be taken while this one is held, never the other way round.
pub(crate) struct Processor<K> {
    /// The resource of the informer, for the spans of calls.
    resource: Arc<str>,
    state: Mutex<ProcessorState<K>>,
    next_id: AtomicU64,
    /// Notified when a handler is added, synced or ended, and when the store is synced.
    signal: Signal,
}

struct ProcessorState<K> {
    listeners: Vec<Arc<Listener<K>>>,
    resync: ResyncPlan,
    delivery: Delivery,
}

/// The progress of delivery.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Delivery {
    /// The initial state is incomplete.
    Initial,
    /// The initial state is complete: a handler added now finds all of it in its snapshot.
    Synced,
    /// No more events are delivered.
    Stopped,
}

impl<K: Object> ProcessorState<K> {
    /// Drops listeners that were removed.
    fn sweep(&mut self) {
        self.listeners.retain(|listener| !listener.is_sweepable());
    }

    /// The resync schedule of a new handler. A request below the check period lowers it before the informer
    /// starts, which restarts the periods of the others.
    fn schedule(&mut self, requested: HandlerResync, now: Instant) -> Schedule {
        let before = self.resync.check_period();
        let schedule = self.resync.admit(requested, now);
        let check_period = self.resync.check_period();
        if check_period != before {
            self.restart_schedules(check_period, now);
        }
        schedule
    }

    fn restart_schedules(&self, check_period: Option<Duration>, now: Instant) {
        for listener in &self.listeners {
            listener.restart_schedule(check_period, now);
        }
    }
}

impl<K: Object> Processor<K> {
    pub(crate) fn new(resource: &str, check_period: Option<Duration>) -> Self {
        Self {
            resource: resource.into(),
            state: Mutex::new(ProcessorState {
                listeners: Vec::new(),
                resync: ResyncPlan::new(check_period),
                delivery: Delivery::Initial,
            }),
            next_id: AtomicU64::new(1),
            signal: Signal::new(),
        }
    }

    /// Adds a listener; `None` if the informer has stopped. `snapshot` is called while no commit can become
    /// visible, so that the listener receives exactly the events that are not part of that snapshot.
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

    /// Like [`add`](Self::add), but returns a listener that has ended if the informer has stopped.
    pub(crate) fn add_or_ended(
        &self,
        name: String,
        options: &HandlerOptions,
        served: Served,
        snapshot: impl FnOnce() -> Snapshot<K>,
    ) -> Arc<Listener<K>> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let resource = self.resource.clone();
        let listener = Listener::new(id, name, resource, options, served, self.signal.clone());
        let listener = Arc::new(listener);
        let mut state = self.state.lock();
        if state.delivery == Delivery::Stopped {
            drop(state);
            listener.stop();
            return listener;
        }
        // Commits sweep too, but without commits removed handlers would accumulate.
        state.sweep();
        listener.set_schedule(state.schedule(options.resync, Instant::now()));
        if !mutant::is("I8") {
            listener.replay(snapshot());
        }
        if state.delivery == Delivery::Synced {
            listener.push_initial_end();
        }
        state.listeners.push(listener.clone());
        drop(state);
        self.signal.notify();
        listener
    }

    /// Keeps handlers from being added while a commit becomes visible, and fixes which of them receive its
    /// events: see [`Publication`].
    pub(crate) fn publication(&self) -> Publication<'_, K> {
        Publication::new(self.state.lock(), &self.signal)
    }

    /// Delivers to the handlers of a ticket only. For events that change nothing in the store.
    pub(crate) fn resync(&self, ticket: &ResyncTicket) -> Distribution<'_, K> {
        let due: std::collections::HashSet<u64> = ticket.0.iter().copied().collect();
        let mut listeners = self.listeners();
        listeners.retain(|listener| due.contains(&listener.id()) && listener.is_active());
        Distribution::new(listeners, Then::Nothing, &self.signal)
    }

    /// Starts all resync periods, and fixes the check period, which is returned: handlers added from now on
    /// cannot shorten it.
    pub(crate) fn freeze_resync(&self) -> Option<Duration> {
        let mut state = self.state.lock();
        let check_period = state.resync.freeze();
        state.restart_schedules(check_period, Instant::now());
        check_period
    }

    /// The handlers whose resync is due.
    pub(crate) fn due(&self, now: Instant) -> Option<ResyncTicket> {
        let due: Vec<u64> = self
            .listeners()
            .iter()
            .filter(|listener| listener.take_due(now))
            .map(|listener| listener.id())
            .collect();
        (!due.is_empty()).then(|| ResyncTicket::new(due))
    }

    pub(crate) fn status(&self) -> Vec<HandlerStatus> {
        self.listeners()
            .iter()
            .map(|listener| listener.status())
            .filter(|status| status.state != HandlerState::Ended(HandlerEnded::Removed))
            .collect()
    }

    /// The handlers that have not returned from the calls for the whole initial state. Streams are not
    /// among them: their readers decide when to continue.
    pub(crate) fn missing(&self) -> Vec<(String, HandlerState)> {
        self.listeners()
            .iter()
            .filter(|listener| listener.is_missing())
            .map(|listener| (listener.name().to_owned(), listener.status().state))
            .collect()
    }

    /// Changes when a handler is added, synced or ended, and when the store is synced.
    pub(crate) fn sync_changes(&self) -> watch::Receiver<u64> {
        self.signal.subscribe()
    }

    /// Ends every listener: no more events are delivered.
    pub(crate) fn stop(&self) {
        self.state.lock().delivery = Delivery::Stopped;
        // Without the lock: this drops what waits in their buffers, which may be much.
        for listener in self.listeners() {
            listener.stop();
        }
    }

    /// The names of the handlers that are inside a call. Streams are never among them: a shutdown does not
    /// wait for a reader.
    pub(crate) fn busy(&self) -> Vec<String> {
        self.listeners()
            .iter()
            .filter(|listener| listener.is_busy())
            .map(|listener| listener.name().to_owned())
            .collect()
    }

    /// The current listeners, to be used without the lock.
    fn listeners(&self) -> Vec<Arc<Listener<K>>> {
        self.state.lock().listeners.clone()
    }
}

#[cfg(any(all(test, not(feature = "__model")), feature = "__internals"))]
impl<K: Object> Processor<K> {
    /// The number of listeners kept, including removed ones, which `status()` does not show.
    pub(crate) fn kept(&self) -> usize {
        self.state.lock().listeners.len()
    }
}

#[cfg(all(test, feature = "__model"))]
#[path = "processor_model.rs"]
mod model;
#[cfg(all(test, not(feature = "__model")))]
#[path = "processor_tests.rs"]
mod tests;
