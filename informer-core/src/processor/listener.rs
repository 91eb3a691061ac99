//! One registered handler: its inbox, its progress and its resync schedule.

use std::cell::Cell;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::buffer::{Item, Pushed};
use super::mailbox::{Mailbox, Taken};
use super::registration::{Control, HandlerState, HandlerStatus, Removing};
use super::resync::Schedule;
use crate::handler::{Event, HandlerOptions};
use crate::mutant;
use crate::object::Object;
use crate::store::Snapshot;
use crate::sync::{Latch, Mutex};

/// Wakes those that wait for the handlers of an informer: one of them came into sync, ended, or is new.
#[derive(Clone)]
pub(crate) struct Bell(watch::Sender<u64>);

impl Bell {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(0))
    }

    pub(super) fn ring(&self) {
        self.0.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}

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
    served: Served,
    /// Rung when the handler comes into sync, or never will.
    bell: Bell,
    mailbox: Mailbox<K>,
    /// The processor's plan writes it. It is kept here, and not in a table of the processor, so that it ends
    /// with the listener and is read without the processor's lock.
    schedule: Mutex<Schedule>,
    synced: Latch,
    /// Set when the handler has returned from its last call.
    ended: Latch,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    run: Run,
    /// When the present call began. Only a task makes calls: a reader between two polls of its stream is not
    /// busy, because nothing waits for it, and it may never poll again.
    busy_since: Option<Instant>,
    panics: u64,
    last_panic: Option<String>,
}

/// Whether a task serves the handler.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Run {
    /// Its informer has not started: the task exists, but was never polled.
    #[default]
    NotYet,
    Running,
    Ended,
}

thread_local! {
    /// The handler whose code this thread is running (its address, 0 for none), so that removing it from
    /// inside does not wait for itself. An address is unique enough: the listener is alive as long as its
    /// code runs.
    static INSIDE: Cell<usize> = const { Cell::new(0) };
}

impl<K: Object> Listener<K> {
    pub(super) fn new(id: u64, name: String, options: &HandlerOptions, served: Served, bell: Bell) -> Self {
        Self {
            id,
            name,
            served,
            bell,
            mailbox: Mailbox::new(options),
            schedule: Mutex::default(),
            synced: Latch::new(),
            ended: Latch::new(),
            progress: Mutex::default(),
        }
    }

    pub(super) fn replay(&self, snapshot: Snapshot<K>) {
        self.mailbox.replay(snapshot);
    }

    /// Appends events under one lock. Never waits for the handler.
    pub(super) fn push_all(&self, events: impl Iterator<Item = Event<K>>) {
        if self.mailbox.push_all(events) == Pushed::Overflowed {
            self.inbox_ended();
        }
    }

    /// Appends the mark after the last event of the initial state. The handler is in sync when its task takes
    /// the mark, which is after the handler has returned from the event before it (I9).
    pub(super) fn mark_initial_end(&self) {
        if mutant::is("I9") {
            self.synced.set();
        }
        self.mailbox.push_initial_end();
    }

    pub(super) fn stop(&self) {
        self.mailbox.end(HandlerState::Stopped);
        self.inbox_ended();
    }

    /// The inbox has ended: wakes those that wait for the handler's sync or for its last call.
    fn inbox_ended(&self) -> Run {
        self.bell.ring();
        let run = self.progress.lock().run;
        // A task that runs may be inside a call, and reports its end itself. One that begins later finds the inbox
        // ended and calls nothing. A reader is never inside a call, and may hold its stream for ever.
        if run != Run::Running || self.served == Served::ByReader {
            self.ended.set();
        }
        run
    }

    pub(super) fn is_active(&self) -> bool {
        self.mailbox.state() == HandlerState::Active
    }

    /// Whether a handler has not come through the initial state, and was not removed. One that was
    /// disconnected counts: its owner waits for a sync that will not come, and must learn why.
    pub(super) fn is_missing(&self) -> bool {
        self.served == Served::ByTask && !self.is_removed() && !self.synced.is_set()
    }

    pub(super) fn is_removed(&self) -> bool {
        matches!(self.mailbox.state(), HandlerState::Removed)
    }

    /// Takes the next event for the handler, without waiting. Marks are dealt with on the way.
    pub(super) fn take(&self) -> Option<Event<K>> {
        loop {
            match self.mailbox.take() {
                Taken::Item(Item::Event(event)) => {
                    if self.served == Served::ByTask {
                        self.progress.lock().busy_since = Some(Instant::now());
                    }
                    return Some(event);
                }
                Taken::Item(Item::InitialEnd) => {
                    self.synced.set();
                    self.bell.ring();
                }
                Taken::Nothing | Taken::End => return None,
            }
        }
    }

    /// The handler has returned from its call.
    pub(super) fn returned(&self, panic: Option<String>) {
        if panic.is_some() {
            // The panic's message may quote an object: it is in `status()`, not in the log.
            tracing::error!(handler = %self.name, "a handler panicked; it goes on with the next event");
        }
        let mut progress = self.progress.lock();
        progress.busy_since = None;
        if panic.is_some() {
            progress.panics += 1;
            progress.last_panic = panic;
        }
    }

    /// Waits for something to take; `false` if nothing ever will be.
    pub(super) async fn ready(&self) -> bool {
        poll_fn(|cx| self.mailbox.poll_ready(cx)).await;
        self.mailbox.state() == HandlerState::Active
    }

    pub(super) fn poll_ready(&self, cx: &Context<'_>) -> Poll<()> {
        self.mailbox.poll_ready(cx)
    }

    /// A task or a reader begins to take events. The guard ends that when it is dropped, for whatever reason.
    pub(super) fn serve(self: &Arc<Self>) -> Serving<K> {
        self.progress.lock().run = Run::Running;
        Serving(self.clone())
    }

    /// Runs handler code, so that [`Registration::remove`](super::Registration::remove) inside it does not
    /// wait for itself.
    pub(super) fn inside<T>(&self, call: impl FnOnce() -> T) -> T {
        // Restored and not cleared, also by a panic: a handler may drive another one inside its own call, on
        // this thread.
        struct Restore(usize);
        impl Drop for Restore {
            fn drop(&mut self) {
                INSIDE.set(self.0);
            }
        }
        let _restore = Restore(INSIDE.replace(self.identity()));
        call()
    }

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

    pub(super) fn is_busy(&self) -> bool {
        self.progress.lock().busy_since.is_some()
    }

    pub(super) fn schedule(&self) -> &Mutex<Schedule> {
        &self.schedule
    }

    /// How often the handler receives every object again.
    pub(super) fn resync_period(&self) -> Option<Duration> {
        self.schedule.lock().period()
    }
}

/// Held by the task or the reader that takes a listener's events.
pub(super) struct Serving<K>(Arc<Listener<K>>);

impl<K> Drop for Serving<K> {
    fn drop(&mut self) {
        let mut progress = self.0.progress.lock();
        progress.run = Run::Ended;
        // A task that was dropped inside a call (its runtime ended) never returns from it. Without this the
        // listener would stay busy, and a busy listener is never forgotten.
        progress.busy_since = None;
        drop(progress);
        self.0.ended.set();
    }
}

impl<K: Object> Control for Listener<K> {
    fn status(&self) -> HandlerStatus {
        Listener::status(self)
    }

    fn synced(&self) -> &Latch {
        &self.synced
    }

    fn ended(&self) -> &Latch {
        &self.ended
    }

    fn remove(&self) -> Removing {
        // The inbox first: a task that begins to run between the two steps finds it ended, so no call starts
        // after this one.
        self.mailbox.end(HandlerState::Removed);
        match self.inbox_ended() {
            Run::Running if self.served == Served::ByReader => Removing::NotServed,
            Run::Running if INSIDE.get() == self.identity() => Removing::Inside,
            Run::Running => Removing::Running,
            Run::NotYet | Run::Ended => Removing::NotServed,
        }
    }
}

impl<K: Object> Listener<K> {
    pub(super) fn status(&self) -> HandlerStatus {
        let (state, depth, mode) = self.mailbox.overview();
        let resync = self.resync_period();
        let progress = self.progress.lock();
        HandlerStatus {
            name: self.name.clone(),
            state,
            depth,
            mode,
            synced: self.synced.is_set(),
            busy_for: progress.busy_since.map(|since| since.elapsed()),
            resync,
            panics: progress.panics,
            last_panic: progress.last_panic.clone(),
        }
    }
}
