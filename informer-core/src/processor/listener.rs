//! One registered handler: the events that wait for it, its state, and its resync schedule.
//!
//! All of that is one value behind one lock. The processor pushes events, the handler's task (or the reader
//! of a stream) takes them, and the informer or the owner of the registration ends the listener.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Instant;

use super::buffer::{Item, Pushed};
use super::distribution::Audience;
use super::inside;
use super::listener_state::{ListenerState, Task, wake};
use super::registration::{Control, HandlerEnded, HandlerState, HandlerStatus};
use super::resync::Schedule;
use crate::handler::{Event, HandlerOptions, Notification};
use crate::mutant;
use crate::object::Object;
use crate::store::Snapshot;
use crate::sync::{Latch, Mutex, MutexGuard, Signal, simulation};

/// Who takes a listener's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    /// A task of the informer, which calls a handler.
    ByTask,
    /// The owner of a stream, at any pace.
    ByReader,
}

pub(crate) struct Listener<K> {
    id: u64,
    name: String,
    resource: Arc<str>,
    served: Served,
    state: Mutex<ListenerState<K>>,
    /// Whether events wait. Changes with the buffer, under the lock, and is read without it: a thread that
    /// looks for the next event must not keep the lock from the thread that delivers it.
    waits: AtomicBool,
    /// Set when the handler has returned from its calls for the whole initial state.
    synced: Latch,
    /// Set when the handler has returned from its last call.
    ended: Latch,
    /// Shared by all listeners of a processor; notified when this one is synced or never will be.
    signal: Signal,
}

impl<K: Object> Listener<K> {
    pub(super) fn new(
        id: u64,
        name: String,
        resource: Arc<str>,
        options: &HandlerOptions,
        served: Served,
        signal: Signal,
    ) -> Self {
        Self {
            id,
            name,
            resource,
            served,
            state: Mutex::new(ListenerState::new(options)),
            waits: AtomicBool::new(false),
            synced: Latch::new(),
            ended: Latch::new(),
            signal,
        }
    }

    /// Sets the objects that the handler receives before anything else.
    pub(super) fn replay(&self, snapshot: Snapshot<K>) {
        let mut state = self.state.lock();
        state.buffer.replay(snapshot, Instant::now());
        self.note_waiting(&state);
        wake(state);
    }

    /// Appends events under one lock. Never waits for the handler. A handler whose buffer overflows is
    /// disconnected, and the events after that one are dropped.
    pub(super) fn push_all(
        &self,
        events: impl IntoIterator<Item = (Audience, Notification<K>)>,
        now: Instant,
    ) {
        let mut state = self.state.lock();
        if state.handler != HandlerState::Active {
            return;
        }
        state.buffer.arrive(now);
        let is_resynced = state.schedule.period().is_some();
        let before = state.buffer.mode();
        for (audience, event) in events {
            match audience {
                Audience::Resyncing if !is_resynced => continue,
                Audience::Resyncing | Audience::All => {}
            }
            if state.buffer.push(event) == Pushed::Overflowed {
                self.end(state, HandlerEnded::Disconnected);
                return;
            }
        }
        simulation::transition("buffer", before.name(), state.buffer.mode().name());
        if !state.buffer.is_empty() {
            self.note_waiting(&state);
            wake(state);
        }
    }

    /// Appends the mark after the last event of the initial state. The handler is synced when its task takes
    /// the mark, which is after the handler has returned from the event before it (I9).
    pub(super) fn push_initial_end(&self) {
        if mutant::is("I9") {
            self.synced.set();
        }
        let mut state = self.state.lock();
        if state.handler == HandlerState::Active {
            state.buffer.push_initial_end();
            self.note_waiting(&state);
            wake(state);
        }
    }

    /// Takes the next event for the handler, without waiting. `None` if none waits, or none ever will.
    pub(super) fn take(&self) -> Option<Event<K>> {
        self.take_at(None)
    }

    /// Like [`take`](Self::take), at a time that the caller knows: directly after a call that
    /// [returned](Self::returned). Reading the clock twice for each event would be noticeable.
    pub(super) fn take_at(&self, now: Option<Instant>) -> Option<Event<K>> {
        loop {
            let mut state = self.lock_listed();
            let popped = state.pop();
            self.note_waiting(&state);
            match popped? {
                Item::Event(event) => {
                    // In the same critical section as the pop: a shutdown or a removal in between would
                    // otherwise miss the call that is about to begin.
                    if let (Served::ByTask, Task::Running { busy_since }) = (self.served, &mut state.task) {
                        *busy_since = Some(now.unwrap_or_else(Instant::now));
                    }
                    drop(state);
                    // Decodes packed objects, which takes long: not under the lock.
                    match event.into_event() {
                        Some(event) => return Some(event),
                        None => drop(self.returned(None)),
                    }
                }
                Item::InitialEnd => {
                    // Both wake tasks, which is foreign code: not under the lock.
                    drop(state);
                    self.synced.set();
                    self.signal.notify();
                }
            }
        }
    }

    /// Locks the state, with the objects of a replay listed.
    ///
    /// A snapshot of many objects takes long to list, and the processor may wait for this lock while it holds
    /// its own, so it is listed without the lock.
    fn lock_listed(&self) -> MutexGuard<'_, ListenerState<K>> {
        let mut state = self.state.lock();
        if let Some(snapshot) = state.buffer.unlisted() {
            drop(state);
            let objects = snapshot.list_stored();
            state = self.state.lock();
            state.buffer.set_listed(objects);
        }
        state
    }

    /// Records that the handler has returned from its call, with the message of its panic if it panicked.
    /// Returns the time.
    pub(super) fn returned(&self, panic: Option<String>) -> Instant {
        if panic.is_some() {
            // The message, if it is a literal, is in `status()`.
            tracing::error!(handler = %self.name, "handler panicked; continuing with the next event");
        }
        let now = Instant::now();
        let mut state = self.state.lock();
        if let Task::Running { busy_since } = &mut state.task
            && let Some(began) = busy_since.take()
        {
            let took = now.saturating_duration_since(began);
            state.calls.count(took);
            state.durations.record(|| took);
        }
        if panic.is_some() {
            state.panics += 1;
            state.last_panic = panic;
        }
        now
    }

    /// Waits until an event can be taken; `false` if none ever will.
    pub(super) async fn ready(&self) -> bool {
        poll_fn(|cx| self.poll_ready(cx)).await;
        self.is_active()
    }

    /// Whether an event can be taken. Takes no lock.
    pub(super) fn has_event(&self) -> bool {
        self.waits.load(Ordering::Acquire)
    }

    /// Called after each change of the buffer, under the lock.
    fn note_waiting(&self, state: &ListenerState<K>) {
        self.waits.store(!state.buffer.is_empty(), Ordering::Release);
    }

    /// Ready if an event can be taken, or none ever will.
    pub(super) fn poll_ready(&self, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.state.lock();
        if state.handler != HandlerState::Active || !state.buffer.is_empty() {
            return Poll::Ready(());
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Ends the listener because its informer stopped.
    pub(super) fn stop(&self) {
        self.end(self.state.lock(), HandlerEnded::Stopped);
    }

    /// Ends the listener: no event is taken after this. Returns what its task was doing at that moment.
    fn end(&self, mut state: MutexGuard<'_, ListenerState<K>>, reason: HandlerEnded) -> Task {
        let dropped = state.end(reason);
        self.note_waiting(&state);
        let task = state.task;
        wake(state);
        // Tens of thousands of objects may be dropped here: not under the lock.
        drop(dropped);
        self.signal.notify();
        match (self.served, task) {
            // The task may be inside a call, and sets the latch when it has returned from it.
            (Served::ByTask, Task::Running { .. }) => {}
            // A task that starts later finds the listener ended and calls nothing. A reader is never inside a
            // call, and may hold its stream forever.
            _ => self.ended.set(),
        }
        task
    }

    pub(super) fn is_active(&self) -> bool {
        self.state.lock().handler == HandlerState::Active
    }

    /// Whether the handler was removed and has returned from its last call. Until then the listener is kept,
    /// so that a shutdown can name it as busy.
    pub(super) fn is_sweepable(&self) -> bool {
        let state = self.state.lock();
        state.handler == HandlerState::Ended(HandlerEnded::Removed) && state.task.busy_since().is_none()
    }

    /// Whether a wait for all handlers still waits for this one. A disconnected handler counts: its owner
    /// waits for a sync that never happens, and must learn why.
    pub(super) fn is_missing(&self) -> bool {
        let is_removed = || self.state.lock().handler == HandlerState::Ended(HandlerEnded::Removed);
        self.served == Served::ByTask && !self.synced.is_set() && !is_removed()
    }

    /// Marks the listener as served by the caller, until the guard is dropped.
    pub(super) fn serve(self: &Arc<Self>) -> Serving<K> {
        self.state.lock().task = Task::Running { busy_since: None };
        Serving(self.clone())
    }

    /// Runs handler code, so that [`Registration::remove`](super::Registration::remove) inside it does not
    /// wait for itself.
    pub(super) fn inside<T>(&self, call: impl FnOnce() -> T) -> T {
        inside::call(self.identity(), call)
    }

    /// Its address. Addresses do not collide: a listener outlives its calls.
    fn identity(&self) -> usize {
        std::ptr::from_ref(self).cast::<()>().addr()
    }
}

impl<K> Listener<K> {
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The resource of the informer.
    pub(super) fn resource(&self) -> &str {
        &self.resource
    }

    pub(super) fn is_busy(&self) -> bool {
        self.state.lock().task.busy_since().is_some()
    }

    pub(super) fn set_schedule(&self, schedule: Schedule) {
        self.state.lock().schedule = schedule;
    }

    /// Begins a new resync period, no shorter than the check period.
    pub(super) fn restart_schedule(&self, check_period: Option<Duration>, now: Instant) {
        self.state.lock().schedule.restart(check_period, now);
    }

    /// Whether a resync is due. If so, the next period begins now.
    pub(super) fn take_due(&self, now: Instant) -> bool {
        let mut state = self.state.lock();
        state.handler == HandlerState::Active && state.schedule.take_due(now)
    }
}

/// Held by the task or the reader that takes a listener's events.
pub(super) struct Serving<K>(Arc<Listener<K>>);

impl<K> Drop for Serving<K> {
    fn drop(&mut self) {
        // Also clears `busy_since`: a task that is dropped inside a call (its runtime ended) never returns
        // from it, and a busy listener is never swept.
        self.0.state.lock().task = Task::Ended;
        self.0.ended.set();
    }
}

impl<K: Object> Control for Listener<K> {
    fn status(&self) -> HandlerStatus {
        let state = self.state.lock();
        HandlerStatus {
            name: self.name.clone(),
            state: state.handler,
            depth: state.buffer.len(),
            mode: state.buffer.mode(),
            synced: self.synced.is_set(),
            busy_for: state.task.busy_since().map(|since| since.elapsed()),
            oldest: state.buffer.oldest().map(|arrived| arrived.elapsed()),
            calls: state.calls.returned,
            slowest_call: state.calls.slowest,
            resync: state.schedule.period(),
            panics: state.panics,
            last_panic: state.last_panic.clone(),
            #[cfg(feature = "metrics")]
            call_durations: state.durations.histogram(),
        }
    }

    fn synced(&self) -> &Latch {
        &self.synced
    }

    fn ended(&self) -> &Latch {
        &self.ended
    }

    fn remove(&self) -> Option<Latch> {
        match self.end(self.state.lock(), HandlerEnded::Removed) {
            Task::Running { .. } if self.served == Served::ByTask && !inside::is_in(self.identity()) => {
                Some(self.ended.clone())
            }
            _ => None,
        }
    }
}

#[cfg(all(test, feature = "__model"))]
#[path = "listener_model.rs"]
mod model;
