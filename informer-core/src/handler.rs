//! Events, and the handlers that receive them.

mod event;
mod filter;
mod functions;
mod notification;
mod options;

use std::future::Future;

pub use event::{Deleted, Event, Origin, UpdateCause};
pub use filter::Filtered;
pub use functions::Handlers;
pub(crate) use notification::{Departure, Notification};
pub use options::{HandlerOptions, HandlerResync, Overflow};

/// Receives the events of one informer, one after the other, in the order of the store's commits.
///
/// Implemented for closures (`
/// event: Event<Pod>
///  ..`), [`Handlers`] and [`Filtered`]. A handler runs on tokio's blocking pool, so it may block: it
/// delays only its own events. (The pool has 512 threads by default, and a handler occupies one while it
/// has events.) A handler that panics loses that event, is reported, and continues with the next.
///
/// When a handler receives a change, the store already contains it, or a newer one.
pub trait EventHandler<K>: Send + 'static {
    /// Called once per event.
    fn on_event(&mut self, event: Event<K>);
}

impl<K, F: FnMut(Event<K>) + Send + 'static> EventHandler<K> for F {
    fn on_event(&mut self, event: Event<K>) {
        self(event);
    }
}

impl<K: 'static> EventHandler<K> for Box<dyn EventHandler<K>> {
    fn on_event(&mut self, event: Event<K>) {
        self.as_mut().on_event(event);
    }
}

/// Receives the events of one informer in async code; the next event waits until the future has completed.
///
/// Implemented for closures that return a future. A closure with state clones it for each event:
/// `move |event| { let state = state.clone(); async move { .. } }`. (`async |event| ..` works if it captures
/// nothing.) It runs on an async worker, so it must not block; use an [`EventHandler`] for blocking work.
pub trait AsyncEventHandler<K>: Send + 'static {
    /// Called once per event.
    fn on_event(&mut self, event: Event<K>) -> impl Future<Output = ()> + Send;
}

impl<K, F, Fut> AsyncEventHandler<K> for F
where
    F: FnMut(Event<K>) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send,
{
    fn on_event(&mut self, event: Event<K>) -> impl Future<Output = ()> + Send {
        self(event)
    }
}
