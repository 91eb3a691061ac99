//! The events of an informer as a stream.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::Stream;

use super::listener::{Listener, Serving};
use super::registration::{EarlyStop, Registration};
use crate::handler::Event;
use crate::object::Object;

/// The events of a handler, as a stream for async code. Ends when the informer stops; dropping it
/// unregisters.
///
/// It has the same buffer as a handler: exact up to the limit, folded per object past it. Polling for the
/// next event acknowledges the last one, which counts for the sync of its registration. A shutdown does not
/// wait for the reader, and never reports it as busy.
pub struct EventStream<K: Object> {
    listener: Arc<Listener<K>>,
    _serving: Serving<K>,
    registration: Registration,
    /// Stops the informer if its token is cancelled before it was started.
    early_stop: Pin<Box<dyn Future<Output = Infallible> + Send + Sync>>,
}

impl<K: Object> EventStream<K> {
    pub(crate) fn new(listener: Arc<Listener<K>>) -> Self {
        let serving = listener.serve();
        let registration = Registration::new(listener.clone());
        Self {
            listener,
            _serving: serving,
            registration,
            early_stop: Box::pin(EarlyStop::none().watch()),
        }
    }

    /// Also ends when the informer's token is cancelled before the informer was started.
    pub(crate) fn with_early_stop(mut self, early_stop: EarlyStop) -> Self {
        self.registration = self.registration.clone().with_early_stop(early_stop.clone());
        self.early_stop = Box::pin(early_stop.watch());
        self
    }

    /// The stream's registration: whether it has yielded the initial state, and how many events wait.
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
            // May end the listener, so it comes before the check of its state.
            let Poll::Pending = self.early_stop.as_mut().poll(cx);
            if !self.listener.is_active() {
                return Poll::Ready(None);
            }
            // A take that found only a mark leaves an empty buffer. One that raced with a push finds it
            // ready again.
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
