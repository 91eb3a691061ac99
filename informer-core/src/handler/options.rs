//! What can be chosen for one handler.

use std::time::Duration;

use crate::sync::Offload;

/// Choices for one handler; `HandlerOptions::default()` for none.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HandlerOptions {
    /// The name in `status()` and in logs. Default: the handler's type.
    pub name: Option<String>,
    /// How often the handler receives every object again. Default: as the informer.
    pub resync: HandlerResync,
    /// How many events may wait for the handler before `on_overflow` takes effect. Default 65,536.
    pub buffer: usize,
    /// What happens when more events wait. Default: [`Overflow::Coalesce`].
    pub on_overflow: Overflow,
    /// Where the handler runs. Default: the blocking pool, so that it may block. Async handlers always run on
    /// an async task.
    pub run_on: Offload,
}

/// How often a handler receives every object again, changed or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandlerResync {
    /// As often as the informer's own setting says.
    #[default]
    Inherit,
    /// Never.
    Never,
    /// At least this far apart; less than one second counts as one second, and it cannot be more often than
    /// the informer checks (see `SharedInformerBuilder::resync`).
    Every(Duration),
}

/// What happens to the events of a handler that is too slow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overflow {
    /// Events past the limit are folded per object: the newest state, delivered as one truthful addition,
    /// update or deletion. Memory is bounded by the number of objects. The default.
    #[default]
    Coalesce,
    /// Every event is kept; memory grows as long as the handler lags. This is what client-go does.
    Grow,
    /// The handler is disconnected: it receives nothing more, and its registration and `status()` say so. The
    /// initial state and resyncs do not count: they come in one piece, however quick the handler is.
    Disconnect,
}

impl HandlerOptions {
    /// The default limit of a handler's buffer.
    pub const DEFAULT_BUFFER: usize = 65_536;

    /// Names the handler.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets how often the handler receives every object again; `None` for never.
    #[must_use]
    pub fn resync(mut self, period: Option<Duration>) -> Self {
        self.resync = period.map_or(HandlerResync::Never, HandlerResync::Every);
        self
    }

    /// Sets how many events may wait before `on_overflow` takes effect. At least 1.
    #[must_use]
    pub fn buffer(mut self, events: usize) -> Self {
        self.buffer = events.max(1);
        self
    }

    /// Sets what happens when more events wait.
    #[must_use]
    pub fn on_overflow(mut self, overflow: Overflow) -> Self {
        self.on_overflow = overflow;
        self
    }

    /// Sets where the handler runs.
    #[must_use]
    pub fn run_on(mut self, offload: Offload) -> Self {
        self.run_on = offload;
        self
    }
}

impl Default for HandlerOptions {
    fn default() -> Self {
        Self {
            name: None,
            resync: HandlerResync::default(),
            buffer: Self::DEFAULT_BUFFER,
            on_overflow: Overflow::default(),
            run_on: Offload::default(),
        }
    }
}
