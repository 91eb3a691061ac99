//! Delivers the events of one commit to the handlers, in two steps: the recipients are fixed under the
//! processor's lock, and the events are delivered without it.

use std::sync::Arc;

use tokio::time::Instant;

use super::listener::Listener;
use super::{Delivery, ProcessorState};
use crate::handler::Notification;
use crate::object::Object;
use crate::sync::{MutexGuard, Signal};

/// How many events a handler receives under one lock of its listener. `status()` waits for that lock, so
/// this bounds its wait.
pub(super) const PORTION: usize = 256;

/// The handlers that receive an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Every handler.
    All,
    /// Handlers with a resync period: an unchanged object in a relist.
    Resyncing,
}

/// What follows the last event of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Nothing,
    /// The mark after the initial state.
    InitialEnd,
}

/// The moment at which a commit becomes visible. While it is held no handler can be added, so that a late
/// handler either finds the commit in its snapshot or receives its events, never both (I8).
///
/// [`distribute`](Self::distribute) ends it. From then on handlers can be added again, although the events
/// are not delivered yet: a handler added now finds the commit in its snapshot and is not among the
/// recipients, which are fixed here. Commits come from one committer, one after the other, so each
/// recipient receives their events in commit order (I7).
pub(crate) struct Publication<'a, K> {
    state: MutexGuard<'a, ProcessorState<K>>,
    then: Then,
    signal: &'a Signal,
}

impl<'a, K: Object> Publication<'a, K> {
    pub(super) fn new(state: MutexGuard<'a, ProcessorState<K>>, signal: &'a Signal) -> Self {
        Self {
            state,
            then: Then::Nothing,
            signal,
        }
    }

    /// Records that the commit completes the initial state: a handler that has received all events so far is
    /// synced.
    pub(crate) fn complete_initial_state(&mut self) {
        // A processor that was stopped in the meantime stays stopped.
        if self.state.delivery == Delivery::Initial {
            self.state.delivery = Delivery::Synced;
        }
        self.then = Then::InitialEnd;
    }

    /// Ends the publication, after the commit became visible. The returned value delivers its events.
    pub(crate) fn distribute(mut self) -> Distribution<'a, K> {
        self.state.sweep();
        let listeners = self.state.listeners.iter();
        // A disconnected handler is kept for `status()`, but receives nothing.
        let listeners = listeners
            .filter(|listener| listener.is_active())
            .cloned()
            .collect();
        Distribution::new(listeners, self.then, self.signal)
    }
}

/// Delivers the events of one commit to the handlers that were registered when it became visible. All are
/// delivered when it is dropped.
pub(crate) struct Distribution<'a, K: Object> {
    listeners: Vec<Arc<Listener<K>>>,
    /// Events that are not delivered yet, fewer than a portion.
    pending: Vec<(Audience, Notification<K>)>,
    then: Then,
    signal: &'a Signal,
}

impl<'a, K: Object> Distribution<'a, K> {
    pub(super) fn new(listeners: Vec<Arc<Listener<K>>>, then: Then, signal: &'a Signal) -> Self {
        Self {
            listeners,
            pending: Vec::new(),
            then,
            signal,
        }
    }

    /// Puts an event into the buffers of its audience, at the latest when this is dropped. Never waits for
    /// a handler.
    pub(crate) fn deliver(&mut self, audience: Audience, event: Notification<K>) {
        if self.listeners.is_empty() {
            return;
        }
        self.pending.push((audience, event));
        if self.pending.len() == PORTION {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let now = Instant::now();
        let Some((last, others)) = self.listeners.split_last() else {
            return;
        };
        for listener in others {
            listener.push_all(self.pending.iter().cloned(), now);
        }
        // The last one gets the events themselves: to count references costs more than most else here.
        last.push_all(self.pending.drain(..), now);
    }

    #[cfg(all(test, not(feature = "__model")))]
    pub(super) fn recipients(&self) -> usize {
        self.listeners.len()
    }
}

impl<K: Object> Drop for Distribution<'_, K> {
    fn drop(&mut self) {
        if !self.pending.is_empty() {
            self.flush();
        }
        if self.then == Then::InitialEnd {
            for listener in &self.listeners {
                listener.push_initial_end();
            }
            self.signal.notify();
        }
    }
}
