//! The inbox of one handler: filled by the processor, emptied by the handler's task or a stream's reader,
//! closed from anywhere.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::buffer::{Buffer, BufferMode, Item, Pushed};
use super::registration::HandlerState;
use crate::handler::{Event, HandlerOptions, Origin};
use crate::object::Object;
use crate::store::Snapshot;
use crate::sync::{Mutex, MutexGuard, simulation};

/// What the handler's task finds in its inbox.
pub(super) enum Taken<K> {
    /// The next event or mark.
    Item(Item<K>),
    /// Nothing at the moment.
    Nothing,
    /// Nothing for ever.
    End,
}

/// A buffer, the state a late handler starts from, and whether the handler still receives events.
pub(super) struct Mailbox<K>(Mutex<Inbox<K>>);

struct Inbox<K> {
    replay: Replay<K>,
    buffer: Buffer<K>,
    state: HandlerState,
    waker: Option<Waker>,
}

/// The objects of the cache at the time the handler was added, delivered before anything else.
enum Replay<K> {
    None,
    /// Not listed yet: a snapshot is cheap to take while others wait, listing it is not.
    Snapshot(Snapshot<K>),
    Objects(std::vec::IntoIter<Arc<K>>),
}

impl<K: Object> Mailbox<K> {
    pub(super) fn new(options: &HandlerOptions) -> Self {
        Self(Mutex::new(Inbox {
            replay: Replay::None,
            buffer: Buffer::new(options.buffer, options.on_overflow),
            state: HandlerState::Active,
            waker: None,
        }))
    }

    /// The objects the handler receives first.
    pub(super) fn replay(&self, snapshot: Snapshot<K>) {
        let mut inbox = self.0.lock();
        inbox.replay = Replay::Snapshot(snapshot);
        wake(inbox);
    }

    /// Appends events in their order, under one lock. Reports whether one was too many: the inbox has then
    /// ended, and the events after that one are dropped.
    pub(super) fn push_all(&self, events: impl Iterator<Item = Event<K>>) -> Pushed {
        let mut inbox = self.0.lock();
        if inbox.state != HandlerState::Active {
            return Pushed::Kept;
        }
        let before = inbox.buffer.mode();
        for event in events {
            if inbox.buffer.push(event) == Pushed::Overflowed {
                let leftovers = inbox.end(HandlerState::Disconnected);
                simulation::transition("buffer", before.name(), inbox.buffer.mode().name());
                wake(inbox);
                drop(leftovers);
                return Pushed::Overflowed;
            }
        }
        simulation::transition("buffer", before.name(), inbox.buffer.mode().name());
        if inbox.has_something() {
            wake(inbox);
        }
        Pushed::Kept
    }

    pub(super) fn push_initial_end(&self) {
        let mut inbox = self.0.lock();
        if inbox.state != HandlerState::Active {
            return;
        }
        inbox.buffer.push_initial_end();
        wake(inbox);
    }

    /// Ends the inbox; what waits in it is dropped. The first reason stays, except that a removal follows a
    /// disconnection.
    pub(super) fn end(&self, state: HandlerState) {
        let mut inbox = self.0.lock();
        let leftovers = inbox.end(state);
        wake(inbox);
        // Tens of thousands of objects may end here: not under the lock, for which the processor may wait.
        drop(leftovers);
    }

    pub(super) fn state(&self) -> HandlerState {
        self.0.lock().state
    }

    /// The state, how many events wait, and how they are kept.
    pub(super) fn overview(&self) -> (HandlerState, usize, BufferMode) {
        let inbox = self.0.lock();
        let replayed = match &inbox.replay {
            Replay::None => 0,
            Replay::Snapshot(snapshot) => snapshot.len(),
            Replay::Objects(objects) => objects.len(),
        };
        (inbox.state, replayed + inbox.buffer.len(), inbox.buffer.mode())
    }

    /// Takes what comes next, without waiting.
    pub(super) fn take(&self) -> Taken<K> {
        let mut inbox = self.0.lock();
        if let Replay::Snapshot(snapshot) = &inbox.replay {
            let snapshot = snapshot.clone();
            drop(inbox);
            let objects = snapshot.list().into_iter();
            inbox = self.0.lock();
            // The inbox may have ended in between, and must not keep what no one will receive.
            if let Replay::Snapshot(_) = inbox.replay {
                inbox.replay = Replay::Objects(objects);
            }
        }
        inbox.take()
    }

    /// Waits until there is something to take, or nothing ever will be.
    pub(super) fn poll_ready(&self, cx: &Context<'_>) -> Poll<()> {
        let mut inbox = self.0.lock();
        if inbox.state != HandlerState::Active || inbox.has_something() {
            return Poll::Ready(());
        }
        inbox.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl<K: Object> Inbox<K> {
    fn has_something(&self) -> bool {
        let replay = match &self.replay {
            Replay::None => false,
            Replay::Snapshot(snapshot) => !snapshot.is_empty(),
            Replay::Objects(objects) => objects.len() > 0,
        };
        replay || !self.buffer.is_empty()
    }

    fn take(&mut self) -> Taken<K> {
        if self.state != HandlerState::Active {
            return Taken::End;
        }
        if let Replay::Objects(objects) = &mut self.replay {
            if let Some(object) = objects.next() {
                return Taken::Item(Item::Event(Event::Added {
                    object,
                    origin: Origin::Initial,
                }));
            }
            self.replay = Replay::None;
        }
        let before = self.buffer.mode();
        let taken = self.buffer.pop().map_or(Taken::Nothing, Taken::Item);
        simulation::transition("buffer", before.name(), self.buffer.mode().name());
        taken
    }

    /// Ends the inbox and returns what waited in it, to be dropped without the lock.
    fn end(&mut self, state: HandlerState) -> (Buffer<K>, Replay<K>) {
        simulation::transition("handler", self.state.name(), state.name());
        match (self.state, state) {
            // A disconnected handler stays visible until it is removed, so that its owner can learn why it
            // receives nothing.
            (HandlerState::Active, _) | (HandlerState::Disconnected, HandlerState::Removed) => {
                self.state = state
            }
            _ => {}
        }
        (
            self.buffer.take_all(),
            std::mem::replace(&mut self.replay, Replay::None),
        )
    }
}

/// Unlocks the inbox, then wakes the handler's task. In this order, because a waker is code of the reader's
/// executor.
fn wake<K>(mut inbox: MutexGuard<'_, Inbox<K>>) {
    let waker = inbox.waker.take();
    drop(inbox);
    if let Some(waker) = waker {
        waker.wake();
    }
}

#[cfg(all(test, feature = "__model"))]
#[path = "mailbox_model.rs"]
mod model;
