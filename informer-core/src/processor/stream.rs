//! The events of an informer as a stream.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::Stream;

use super::listener::{Listener, Serving};
use super::registration::Registration;
use super::unstarted::Unstarted;
use crate::handler::Event;
use crate::object::Object;

/// The events a handler receives, as a stream for async code. Ends when the informer stops; dropping it
/// unregisters.
///
/// Its buffer is a handler's: exact up to the limit, folded per object past it. Asking for the next event
/// says that the last one is dealt with, which counts for the sync of its registration. A shutdown does not
/// wait for its reader, and never names it as busy.
pub struct EventStream<K: Object> {
    listener: Arc<Listener<K>>,
    _serving: Serving<K>,
    registration: Registration,
    /// Ends the informer if its token is cancelled before it was started.
    unstarted: Pin<Box<dyn Future<Output = Infallible> + Send + Sync>>,
}

impl<K: Object> EventStream<K> {
    pub(crate) fn new(listener: Arc<Listener<K>>) -> Self {
        let serving = listener.serve();
        let registration = Registration::new(listener.clone());
        Self {
            listener,
            _serving: serving,
            registration,
            unstarted: Box::pin(Unstarted::never().watch()),
        }
    }

    /// Also ends when the informer's token is cancelled before the informer was started.
    pub(crate) fn of_unstarted(mut self, unstarted: Unstarted) -> Self {
        self.registration = self.registration.clone().of_unstarted(unstarted.clone());
        self.unstarted = Box::pin(unstarted.watch());
        self
    }

    /// The stream's registration: whether it has yielded the initial state, how many events wait.
    pub fn registration(&self) -> &Registration {
        &self.registration
    }
}

impl<K: Object> Stream for EventStream<K> {
    type Item = Event<K>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event<K>>> {
        loop {
            if let Some(event) = self.listener.take() {
                return Poll::Ready(Some(event));
            }
            // May end the listener, so it comes before the look at its state.
            let Poll::Pending = self.unstarted.as_mut().poll(cx);
            if !self.listener.is_active() {
                return Poll::Ready(None);
            }
            // A take that found only a mark leaves an empty inbox; one that raced with a push finds it ready
            // again.
            std::task::ready!(self.listener.poll_ready(cx));
        }
    }
}

impl<K: Object> Drop for EventStream<K> {
    fn drop(&mut self) {
        // Takes effect at the call: no task serves the stream, so there is nothing to wait for.
        drop(self.registration.remove());
    }
}
