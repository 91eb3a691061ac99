//! The options of one handler.

use std::time::Duration;

use crate::sync::Offload;

/// Options of one handler.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HandlerOptions {
    /// The name in `status()` and in logs. Default: the handler's type.
    pub name: Option<String>,
    /// How often the handler receives every object again. Default: the informer's setting.
    pub resync: HandlerResync,
    /// The number of events that may wait for the handler before `on_overflow` takes effect. Default:
    /// 65,536.
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
    /// As often as the informer's own setting.
    #[default]
    Inherit,
    /// Never.
    Never,
    /// At this period, which is at least one second and at least the informer's check period (see
    /// `SharedInformerBuilder::resync`).
    Every(Duration),
}

/// What happens to the events of a handler that is too slow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overflow {
    /// Events past the limit are folded per object: the newest state, delivered as one correct addition,
    /// update or deletion. Memory is bounded by the number of objects. The default.
    #[default]
    Coalesce,
    /// Every event is kept; memory grows while the handler lags. This is client-go's behaviour.
    Grow,
    /// The handler is disconnected: it receives no more events, and its registration and `status()` report
    /// it. The initial state and resyncs do not count: they arrive in one piece, however fast the handler
    /// is.
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

    /// Sets the number of events that may wait before `on_overflow` takes effect; at least 1.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Every method changes its own option and keeps the others.
    #[test]
    fn options_can_be_set_in_any_order() {
        let period = Some(Duration::from_secs(60));
        let one = HandlerOptions::default()
            .name("a")
            .buffer(7)
            .resync(period)
            .on_overflow(Overflow::Disconnect)
            .run_on(Offload::Inline);
        let other = HandlerOptions::default()
            .run_on(Offload::Inline)
            .on_overflow(Overflow::Disconnect)
            .resync(period)
            .buffer(7)
            .name("a");
        for options in [one, other] {
            assert_eq!(options.name.as_deref(), Some("a"));
            assert_eq!(options.buffer, 7);
            assert_eq!(options.resync, HandlerResync::Every(Duration::from_secs(60)));
            assert_eq!(options.on_overflow, Overflow::Disconnect);
            assert_eq!(options.run_on, Offload::Inline);
        }
    }
}
