//! The owner's view of one handler: its state, its sync and its removal.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

pub use super::buffer::BufferMode;
use super::listener::Listener;
use crate::object::Object;
use crate::sync::Latch;

/// Whether a handler still receives events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandlerState {
    /// It receives events.
    Active,
    /// It receives no more events.
    Ended(HandlerEnded),
}

/// Why a handler receives no more events.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandlerEnded {
    /// It was removed.
    #[error("the handler was removed")]
    Removed,
    /// Its buffer was full, and its policy is [`Overflow::Disconnect`](crate::Overflow::Disconnect).
    #[error("the handler fell behind and was disconnected")]
    Disconnected,
    /// Its informer stopped.
    #[error("the informer stopped")]
    Stopped,
}

crate::__debug_is_the_message!(HandlerEnded);

impl HandlerState {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Active => "Active",
            Self::Ended(HandlerEnded::Removed) => "Removed",
            Self::Ended(HandlerEnded::Disconnected) => "Disconnected",
            Self::Ended(HandlerEnded::Stopped) => "Stopped",
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
    /// The number of events that wait for it.
    pub depth: usize,
    /// How long the oldest of them has waited; `None` if none waits. Approximate where many batches wait: it
    /// may be shorter than this, never longer.
    pub oldest: Option<Duration>,
    /// Whether it lags so far that events are being folded.
    pub mode: BufferMode,
    /// Whether it has received the whole initial state.
    pub synced: bool,
    /// How long it has been inside its current call. Always `None` for a stream: its reader decides when to
    /// continue.
    pub busy_for: Option<Duration>,
    /// The number of its calls that have returned, including those that panicked. Always 0 for a stream.
    pub calls: u64,
    /// How long the slowest of them took.
    pub slowest_call: Option<Duration>,
    /// How often it receives every object again; `None` if never.
    pub resync: Option<Duration>,
    /// The number of its calls that panicked.
    pub panics: u64,
    /// The message of the last panic, if it is a literal. A formatted message may quote an object, and is
    /// replaced by a note; the program's panic hook has received it.
    pub last_panic: Option<String>,
    /// How long its calls took. Empty for a stream.
    #[cfg(feature = "metrics")]
    pub call_durations: crate::sync::Histogram,
}

/// The operations of a registration, independent of the kind.
pub(super) trait Control: Send + Sync {
    fn status(&self) -> HandlerStatus;
    fn synced(&self) -> &Latch;
    fn ended(&self) -> &Latch;
    /// Removes the handler. Returns what to wait for if it may be inside a call, unless the caller is that
    /// call.
    fn remove(&self) -> Option<Latch>;
}

/// A registered handler. Dropping it does not unregister: the handler stays until it is
/// [removed](Self::remove) or its informer stops.
#[derive(Clone)]
pub struct Registration {
    control: Arc<dyn Control>,
    early_stop: EarlyStop,
}

impl Registration {
    pub(crate) fn new<K: Object>(listener: Arc<Listener<K>>) -> Self {
        Self {
            control: listener,
            early_stop: EarlyStop::none(),
        }
    }

    /// Also ends its waits when the informer's token is cancelled before the informer was started.
    pub(crate) fn with_early_stop(mut self, early_stop: EarlyStop) -> Self {
        self.early_stop = early_stop;
        self
    }

    /// Whether the handler has returned from its calls for the whole initial state.
    pub fn has_synced(&self) -> bool {
        self.control.synced().is_set()
    }

    /// Waits until the handler has returned from its calls for the whole initial state. Any number of tasks
    /// may wait.
    pub async fn synced(&self) -> Result<(), HandlerEnded> {
        tokio::select! {
            biased;
            () = self.control.synced().wait() => Ok(()),
            never = self.early_stop.clone().watch() => match never {},
            () = self.control.ended().wait() => match self.status().state {
                _ if self.has_synced() => Ok(()),
                HandlerState::Ended(reason) => Err(reason),
                // Its task was dropped with its runtime, before the informer could stop it.
                HandlerState::Active => Err(HandlerEnded::Stopped),
            },
        }
    }

    /// The handler's entry in the informer's `status()`: state, depth, resync period and panics.
    pub fn status(&self) -> HandlerStatus {
        self.control.status()
    }

    /// Removes the handler. It takes effect at this call, awaited or not: the handler receives no further
    /// event. Awaited, it returns when the handler has returned from the call it may be inside of; from
    /// inside that call it returns at once.
    ///
    /// Removing twice, or after the informer stopped, does nothing.
    pub fn remove(&self) -> Removal {
        let last_call = self.control.remove();
        Removal(Box::pin(async move {
            if let Some(last_call) = last_call {
                last_call.wait().await;
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

/// Stops an informer whose token is cancelled before it was started: none of its tasks runs that could.
#[derive(Clone)]
pub(crate) struct EarlyStop {
    token: CancellationToken,
    stop: Arc<dyn Fn() + Send + Sync>,
}

impl EarlyStop {
    /// `stop` stops the informer if it was never started, and does nothing otherwise.
    pub(crate) fn new(token: CancellationToken, stop: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            token,
            stop: Arc::new(stop),
        }
    }

    /// Stops nothing, for listeners without an informer.
    pub(crate) fn none() -> Self {
        Self::new(CancellationToken::new(), || {})
    }

    /// Stops the informer when its token is cancelled. Never returns: callers select between this and their
    /// own wait, which the stop ends.
    pub(crate) async fn watch(self) -> Infallible {
        self.token.cancelled().await;
        (self.stop)();
        std::future::pending().await
    }
}

impl fmt::Debug for EarlyStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EarlyStop").field(&self.token).finish()
    }
}
