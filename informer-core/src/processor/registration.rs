//! The owner's view of one handler: its state, its sync, its removal.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

pub use super::buffer::BufferMode;
use super::listener::Listener;
use super::unstarted::Unstarted;
use crate::object::Object;
use crate::sync::Latch;

/// Whether a handler still receives events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandlerState {
    /// It does.
    Active,
    /// It was removed.
    Removed,
    /// It was too slow, and its policy was to disconnect.
    Disconnected,
    /// Its informer stopped.
    Stopped,
}

impl HandlerState {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Active => "Active",
            Self::Removed => "Removed",
            Self::Disconnected => "Disconnected",
            Self::Stopped => "Stopped",
        }
    }
}

/// One handler, as `status()` shows it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HandlerStatus {
    /// The handler's name.
    pub name: String,
    /// Whether it still receives events.
    pub state: HandlerState,
    /// How many events wait for it.
    pub depth: usize,
    /// Whether it lags so far that events are being folded.
    pub mode: BufferMode,
    /// Whether it has received the whole initial state.
    pub synced: bool,
    /// How long it has been inside its present call. Always `None` for a stream: its reader decides when to
    /// read on.
    pub busy_for: Option<Duration>,
    /// How often it receives every object again; `None` if never.
    pub resync: Option<Duration>,
    /// How many of its calls panicked.
    pub panics: u64,
    /// The message of the last panic.
    pub last_panic: Option<String>,
}

/// Why a handler will never be in sync.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ListenerEnded {
    /// It was removed first.
    #[error("the handler was removed before it had received the initial state")]
    Removed,
    /// It was disconnected first.
    #[error("the handler fell behind and was disconnected before it had received the initial state")]
    Disconnected,
    /// The informer stopped first.
    #[error("the informer stopped before the handler had received the initial state")]
    Stopped,
}

crate::__debug_is_the_message!(ListenerEnded);

/// What a registration can do, whatever the kind.
pub(super) trait Control: Send + Sync {
    fn status(&self) -> HandlerStatus;
    fn synced(&self) -> &Latch;
    fn ended(&self) -> &Latch;
    fn remove(&self) -> Removing;
}

/// What a removal still has to wait for.
pub(super) enum Removing {
    /// The handler is inside a call, or its task has not noticed yet.
    Running,
    /// This is the handler's own code: waiting for it to return would never end.
    Inside,
    /// No task serves it: it is a stream, or its informer never started, or has stopped.
    NotServed,
}

/// A registered handler. Dropping it does not unregister: the handler stays until it is
/// [removed](Self::remove) or its informer stops.
#[derive(Clone)]
pub struct Registration {
    control: Arc<dyn Control>,
    unstarted: Unstarted,
}

impl Registration {
    pub(crate) fn new<K: Object>(listener: Arc<Listener<K>>) -> Self {
        Self {
            control: listener,
            unstarted: Unstarted::never(),
        }
    }

    /// Its waits also end when the informer's token is cancelled before the informer was started.
    pub(crate) fn of_unstarted(mut self, unstarted: Unstarted) -> Self {
        self.unstarted = unstarted;
        self
    }

    /// Whether the handler has returned from its calls for the whole initial state.
    pub fn has_synced(&self) -> bool {
        self.control.synced().is_set()
    }

    /// Waits until the handler has returned from its calls for the whole initial state. Any number of tasks
    /// may wait.
    pub async fn synced(&self) -> Result<(), ListenerEnded> {
        tokio::select! {
            biased;
            () = self.control.synced().wait() => Ok(()),
            never = self.unstarted.clone().watch() => match never {},
            () = self.control.ended().wait() => match self.status().state {
                _ if self.has_synced() => Ok(()),
                HandlerState::Removed => Err(ListenerEnded::Removed),
                HandlerState::Disconnected => Err(ListenerEnded::Disconnected),
                HandlerState::Active | HandlerState::Stopped => Err(ListenerEnded::Stopped),
            },
        }
    }

    /// The handler's state, depth, resync period and panics: what the informer's `status()` shows of it.
    pub fn status(&self) -> HandlerStatus {
        self.control.status()
    }

    /// Removes the handler. It takes effect at this call, awaited or not: no further event reaches the
    /// handler. Awaited, it returns once the handler has returned from the call it may be in; from inside
    /// that very call it returns at once.
    ///
    /// Removing twice, or after the informer stopped, does nothing.
    pub fn remove(&self) -> Removal {
        let removing = self.control.remove();
        let ended = self.control.ended().clone();
        Removal(Box::pin(async move {
            match removing {
                Removing::Running => ended.wait().await,
                Removing::Inside | Removing::NotServed => {}
            }
        }))
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registration").field(&self.status()).finish()
    }
}

/// Waits for a removed handler to return from its last call.
pub struct Removal(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Future for Removal {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Removal")
    }
}
