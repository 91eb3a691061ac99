//! The state of one listener: whether it delivers, what its task does, and the events that wait.

use std::task::Waker;
use std::time::Duration;

use tokio::time::Instant;

use super::buffer::{Buffer, Item};
use super::registration::{HandlerEnded, HandlerState};
use super::resync::Schedule;
use crate::handler::HandlerOptions;
use crate::object::Object;
use crate::sync::{CALLS, MutexGuard, Recorder, simulation};

/// The state of one listener, behind its lock.
pub(super) struct ListenerState<K> {
    pub(super) handler: HandlerState,
    pub(super) task: Task,
    pub(super) buffer: Buffer<K>,
    /// Wakes the task or reader that found the buffer empty.
    pub(super) waker: Option<Waker>,
    /// Kept here and not in a table of the processor, so that it is dropped with the listener and read
    /// without the processor's lock.
    pub(super) schedule: Schedule,
    pub(super) calls: Calls,
    pub(super) panics: u64,
    pub(super) last_panic: Option<String>,
    /// How long calls of the handler took.
    pub(super) durations: Recorder,
}

/// The calls of a handler.
#[derive(Clone, Copy, Default)]
pub(super) struct Calls {
    /// How many have returned.
    pub(super) returned: u64,
    /// How long the slowest of them took.
    pub(super) slowest: Option<Duration>,
}

impl Calls {
    pub(super) fn count(&mut self, took: Duration) {
        self.returned += 1;
        self.slowest = self.slowest.max(Some(took));
    }
}

/// The task or reader that takes a listener's events.
#[derive(Clone, Copy)]
pub(super) enum Task {
    /// The informer has not started: the task exists, but was never polled.
    NotStarted,
    Running {
        /// When the current call began. Always `None` for a reader: between two polls of its stream it is
        /// not busy, because no one waits for it, and it may never poll again.
        busy_since: Option<Instant>,
    },
    Ended,
}

impl<K: Object> ListenerState<K> {
    pub(super) fn new(options: &HandlerOptions) -> Self {
        Self {
            handler: HandlerState::Active,
            task: Task::NotStarted,
            buffer: Buffer::new(options.buffer, options.on_overflow),
            waker: None,
            schedule: Schedule::default(),
            calls: Calls::default(),
            panics: 0,
            last_panic: None,
            durations: Recorder::new(CALLS),
        }
    }

    pub(super) fn pop(&mut self) -> Option<Item<K>> {
        let before = self.buffer.mode();
        let item = self.buffer.pop();
        simulation::transition("buffer", before.name(), self.buffer.mode().name());
        item
    }

    /// Ends delivery, and returns the events that waited, to be dropped without the lock.
    pub(super) fn end(&mut self, reason: HandlerEnded) -> Buffer<K> {
        let ended = HandlerState::Ended(reason);
        simulation::transition("handler", self.handler.name(), ended.name());
        match (self.handler, reason) {
            // A disconnected handler stays in `status()` until it is removed, so that its owner can learn why
            // it receives nothing. Otherwise the first reason stays.
            (HandlerState::Active, _)
            | (HandlerState::Ended(HandlerEnded::Disconnected), HandlerEnded::Removed) => {
                self.handler = ended;
            }
            (HandlerState::Ended(_), _) => {}
        }
        self.buffer.take_all()
    }
}

impl Task {
    pub(super) fn busy_since(self) -> Option<Instant> {
        match self {
            Self::Running { busy_since } => busy_since,
            Self::NotStarted | Self::Ended => None,
        }
    }
}

/// Unlocks the state, then wakes the task. In this order, because a waker is code of the reader's executor.
pub(super) fn wake<K>(mut state: MutexGuard<'_, ListenerState<K>>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}
