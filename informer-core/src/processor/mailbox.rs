//! The inbox of one handler: filled by the processor, emptied by the handler's task, closed from anywhere.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::buffer::{Buffer, BufferMode, Item, Pushed};
use super::listener::HandlerState;
use crate::handler::{Event, HandlerOptions, Origin};
use crate::object::Object;
use crate::store::Snapshot;
use crate::sync::{Mutex, simulation};

/// What the handler's task finds in its inbox.
pub(super) enum Taken<K> {
    /// The next event or mark.
    Item(Item<K>),
    /// Nothing at the moment.
    Nothing,
    /// Nothing for ever.
    End,
}

/// A buffer, the state a late handler starts from, and whether anyone still listens.
pub(super) struct Mailbox<K>(Mutex<Inbox<K>>);

struct Inbox<K> {
    replay: Replay<K>,
    buffer: Buffer<K>,
    state: HandlerState,
    waker: Option<Waker>,
}

/// The objects that were there when the handler came, told before anything else.
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

    /// What the handler hears first.
    pub(super) fn replay(&self, snapshot: Snapshot<K>) {
        let mut inbox = self.0.lock();
        inbox.replay = Replay::Snapshot(snapshot);
        inbox.wake();
    }

    /// Adds an event; tells whether that was one too many, and ended the inbox.
    pub(super) fn push(&self, event: Event<K>) -> Pushed {
        let mut inbox = self.0.lock();
        if inbox.state != HandlerState::Active {
            return Pushed::Kept;
        }
        let before = inbox.buffer.mode();
        let pushed = inbox.buffer.push(event);
        if pushed == Pushed::Overflowed {
            inbox.end(HandlerState::Disconnected);
        }
        simulation::transition("buffer", before.name(), inbox.buffer.mode().name());
        inbox.wake();
        pushed
    }

    pub(super) fn push_initial_end(&self) {
        let mut inbox = self.0.lock();
        if inbox.state != HandlerState::Active {
            return;
        }
        inbox.buffer.push_initial_end();
        inbox.wake();
    }

    /// Ends the inbox; what waits in it is dropped. The first reason stays, except that a removal follows a disconnection.
    pub(super) fn end(&self, state: HandlerState) {
        let mut inbox = self.0.lock();
        inbox.end(state);
        inbox.wake();
    }

    pub(super) fn state(&self) -> HandlerState {
        self.0.lock().state
    }

    pub(super) fn depth(&self) -> (usize, BufferMode) {
        let inbox = self.0.lock();
        let replayed = match &inbox.replay {
            Replay::None => 0,
            Replay::Snapshot(snapshot) => snapshot.len(),
            Replay::Objects(objects) => objects.len(),
        };
        (replayed + inbox.buffer.len(), inbox.buffer.mode())
    }

    /// Takes what comes next, without waiting.
    pub(super) fn take(&self) -> Taken<K> {
        let mut inbox = self.0.lock();
        if let Replay::Snapshot(snapshot) = &inbox.replay {
            let snapshot = snapshot.clone();
            drop(inbox);
            let objects = snapshot.list().into_iter();
            inbox = self.0.lock();
            // The inbox may have ended in between, and must not keep what nobody will hear.
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

    fn end(&mut self, state: HandlerState) {
        simulation::transition("handler", self.state.name(), state.name());
        match (self.state, state) {
            // One that was disconnected stays in sight, so that its owner can learn why it hears nothing, until it is removed.
            (HandlerState::Active, _) | (HandlerState::Disconnected, HandlerState::Removed) => {
                self.state = state
            }
            _ => {}
        }
        self.buffer.clear();
        self.replay = Replay::None;
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

#[cfg(all(test, feature = "__model"))]
mod model;
