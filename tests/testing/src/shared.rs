//! State shared by the server, its service and its open watches.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::RunningClock;
use crate::encode::{Format, MediaTypes};
use crate::faults::{FaultId, Script};
use crate::list::WatchCache;
use crate::log::RequestLog;
use crate::pulse::{Heart, Listener};
use crate::request::WatchList;
use crate::state::State;
use crate::watch::ExpiredWatch;

/// Any error, as tower and hyper pass it.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The settings from the builder.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) media_types: MediaTypes,
    pub(crate) watch_cache: WatchCache,
    pub(crate) watch_list: WatchList,
    pub(crate) expired_watch: ExpiredWatch,
    pub(crate) bookmark_interval: Duration,
    pub(crate) min_request_timeout: Duration,
    pub(crate) watch_buffer: usize,
}

/// The shared state of a server.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) clock: RunningClock,
    state: Mutex<State>,
    log: Mutex<RequestLog>,
    script: Mutex<Script>,
    heart: Heart,
    watchers: AtomicUsize,
}

impl Shared {
    pub(crate) fn new(settings: Settings, state: State) -> Self {
        Self {
            settings,
            clock: state.clock,
            state: Mutex::new(state),
            log: Mutex::new(RequestLog::default()),
            script: Mutex::new(Script::default()),
            heart: Heart::default(),
            watchers: AtomicUsize::new(0),
        }
    }

    /// Locks the state. A panic while it was locked is a bug of this crate and must not fail every later step
    /// of a test.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, RequestLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the encoding of errors for a client with this `Accept`.
    pub(crate) fn error_format(&self, accept: &str) -> Format {
        Format::of_errors(accept, self.settings.media_types)
    }

    /// Whether a fault rule has not been removed.
    pub(crate) fn holds(&self, id: FaultId) -> bool {
        self.script().holds(id)
    }

    /// Changes the state and wakes the watches if anything was written.
    pub(crate) fn write<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let (result, changed) = {
            let mut state = self.state();
            let before = state.storage.revision();
            let result = change(&mut state);
            if state.storage.revision() != before {
                state.collect_garbage(before);
            }
            (result, state.storage.revision() != before)
        };
        if changed {
            self.heart.beat(|pulse| pulse.tick += 1);
        }
        result
    }

    pub(crate) fn subscribe(&self) -> Listener {
        self.heart.subscribe()
    }

    /// Wakes every watch, so that it checks the state again.
    pub(crate) fn wake(&self) {
        self.heart.beat(|pulse| pulse.tick += 1);
    }

    pub(crate) fn close_watches(&self) {
        self.heart.beat(|pulse| pulse.generation += 1);
    }

    pub(crate) fn stop(&self) {
        self.heart.beat(|pulse| pulse.stopped = true);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.heart.pulse().stopped
    }

    pub(crate) fn watchers(&self) -> usize {
        self.watchers.load(Ordering::SeqCst)
    }
}

/// Counts an open watch until it is dropped.
#[derive(Debug)]
pub(crate) struct WatcherGuard(Arc<Shared>);

impl WatcherGuard {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        shared.watchers.fetch_add(1, Ordering::SeqCst);
        Self(shared.clone())
    }
}

impl Drop for WatcherGuard {
    fn drop(&mut self) {
        self.0.watchers.fetch_sub(1, Ordering::SeqCst);
    }
}
