//! One registered handler: its inbox, its progress, and what its owner can do with it.

use std::cell::Cell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

pub use super::buffer::BufferMode;
use super::buffer::{Item, Pushed};
use super::mailbox::{Mailbox, Taken};
use crate::handler::{Event, HandlerOptions};
use crate::mutant;
use crate::object::Object;
use crate::store::Snapshot;
use crate::sync::{Latch, Mutex};

/// Whether a handler still hears events.
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
    /// Whether it still hears events.
    pub state: HandlerState,
    /// How many events wait for it.
    pub depth: usize,
    /// Whether it lags so far that events are being folded.
    pub mode: BufferMode,
    /// Whether it has heard the whole initial state.
    pub synced: bool,
    /// How long it has been inside its present call.
    pub busy_for: Option<Duration>,
    /// How often it is told everything again.
    pub resync: Option<Duration>,
    /// How many of its calls panicked.
    pub panics: u64,
    /// What the last panic said.
    pub last_panic: Option<String>,
}

/// Why a handler will never be in sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ListenerEnded {
    /// It was removed first.
    #[error("the handler was removed before it had heard the initial state")]
    Removed,
    /// It was disconnected first.
    #[error("the handler fell behind and was disconnected before it had heard the initial state")]
    Disconnected,
    /// The informer stopped first.
    #[error("the informer stopped before the handler had heard the initial state")]
    Stopped,
}

/// Tells whoever waits for the handlers of an informer that one of them came into sync, ended, or is new.
#[derive(Clone)]
pub(crate) struct Bell(watch::Sender<u64>);

impl Bell {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(0))
    }

    pub(super) fn ring(&self) {
        self.0.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}

/// Who takes a listener's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    /// A task of the informer's, which calls a handler.
    ByTask,
    /// Whoever holds the stream, in their own time.
    ByReader,
}

pub(crate) struct Listener<K> {
    id: u64,
    name: String,
    served: Served,
    /// Rung when the handler comes into sync, or never will.
    bell: Bell,
    mailbox: Mailbox<K>,
    synced: Latch,
    /// Set when the handler has returned from its last call.
    ended: Latch,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    run: Run,
    busy_since: Option<Instant>,
    panics: u64,
    last_panic: Option<String>,
}

/// Whether a task serves the handler.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Run {
    #[default]
    NotYet,
    Running,
    Ended,
}

thread_local! {
    /// The handler whose code this thread is running, so that removing it from inside does not wait for itself.
    static INSIDE: Cell<usize> = const { Cell::new(0) };
}

impl<K: Object> Listener<K> {
    pub(super) fn new(id: u64, name: String, options: &HandlerOptions, served: Served, bell: Bell) -> Self {
        Self {
            id,
            name,
            served,
            bell,
            mailbox: Mailbox::new(options),
            synced: Latch::new(),
            ended: Latch::new(),
            progress: Mutex::new(Progress::default()),
        }
    }

    pub(super) fn replay(&self, snapshot: Snapshot<K>) {
        self.mailbox.replay(snapshot);
    }

    pub(super) fn push(&self, event: Event<K>) {
        if self.mailbox.push(event) == Pushed::Overflowed {
            self.bell.ring();
        }
    }

    pub(super) fn mark_initial_end(&self) {
        if mutant::is("I9") {
            self.synced.set();
        }
        self.mailbox.push_initial_end();
    }

    pub(super) fn stop(&self) {
        self.mailbox.end(HandlerState::Stopped);
        self.bell.ring();
        if self.progress.lock().run == Run::NotYet {
            // No task serves the handler, and one that begins now finds the inbox ended: it will never be called.
            self.ended.set();
        }
    }

    pub(super) fn is_active(&self) -> bool {
        self.mailbox.state() == HandlerState::Active
    }

    /// Whether a handler has not come through the initial state, and nobody took it back.
    pub(super) fn is_missing(&self) -> bool {
        self.served == Served::ByTask && !self.is_removed() && !self.synced.is_set()
    }

    pub(super) fn is_removed(&self) -> bool {
        matches!(self.mailbox.state(), HandlerState::Removed)
    }

    /// The next event for the handler, without waiting. Marks are dealt with on the way.
    pub(super) fn take(&self) -> Option<Event<K>> {
        loop {
            match self.mailbox.take() {
                Taken::Item(Item::Event(event)) => {
                    self.progress.lock().busy_since = Some(Instant::now());
                    return Some(event);
                }
                Taken::Item(Item::InitialEnd) => {
                    self.synced.set();
                    self.bell.ring();
                }
                Taken::Nothing | Taken::End => return None,
            }
        }
    }

    /// The handler has returned from its call.
    pub(super) fn returned(&self, panic: Option<String>) {
        if panic.is_some() {
            // What the panic says may quote an object: it is in `status()`, not in the log.
            tracing::error!(handler = %self.name, "a handler panicked; it goes on with the next event");
        }
        let mut progress = self.progress.lock();
        progress.busy_since = None;
        if panic.is_some() {
            progress.panics += 1;
            progress.last_panic = panic;
        }
    }

    /// Waits for something to take; `false` if nothing ever will be.
    pub(super) async fn ready(&self) -> bool {
        poll_fn(|cx| self.mailbox.poll_ready(cx)).await;
        self.mailbox.state() == HandlerState::Active
    }

    pub(super) fn poll_ready(&self, cx: &std::task::Context<'_>) -> std::task::Poll<()> {
        self.mailbox.poll_ready(cx)
    }

    /// A task begins to serve the handler. The guard tells when it has ended, however it ends.
    pub(super) fn serve(self: &Arc<Self>) -> Serving<K> {
        self.progress.lock().run = Run::Running;
        Serving(self.clone())
    }

    /// Runs handler code, so that [`Registration::remove`] inside it knows where it is.
    pub(super) fn inside<T>(&self, call: impl FnOnce() -> T) -> T {
        struct Restore(usize);
        impl Drop for Restore {
            fn drop(&mut self) {
                INSIDE.set(self.0);
            }
        }
        let _restore = Restore(INSIDE.replace(self.identity()));
        call()
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self).cast::<()>().addr()
    }
}

impl<K> Listener<K> {
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_busy(&self) -> bool {
        self.progress.lock().busy_since.is_some()
    }
}

/// Held by the task that serves a handler.
pub(super) struct Serving<K>(Arc<Listener<K>>);

impl<K> Drop for Serving<K> {
    fn drop(&mut self) {
        self.0.progress.lock().run = Run::Ended;
        self.0.ended.set();
    }
}

/// What a registration can do, whatever the kind.
trait Control: Send + Sync {
    fn status(&self, resync: Option<Duration>) -> HandlerStatus;
    fn synced(&self) -> &Latch;
    fn ended(&self) -> &Latch;
    fn remove(&self) -> Removing;
}

/// What a removal still has to wait for.
enum Removing {
    /// The handler is inside a call, or its task has not noticed yet.
    Running,
    /// This is the handler's own code: waiting for it to return would never end.
    Inside,
    /// No task serves it, and none ever will.
    NotServed,
}

impl<K: Object> Control for Listener<K> {
    fn status(&self, resync: Option<Duration>) -> HandlerStatus {
        Listener::status(self, resync)
    }

    fn synced(&self) -> &Latch {
        &self.synced
    }

    fn ended(&self) -> &Latch {
        &self.ended
    }

    fn remove(&self) -> Removing {
        self.mailbox.end(HandlerState::Removed);
        self.bell.ring();
        match self.progress.lock().run {
            Run::Running if INSIDE.get() == self.identity() => Removing::Inside,
            Run::Running => Removing::Running,
            Run::NotYet | Run::Ended => {
                self.ended.set();
                Removing::NotServed
            }
        }
    }
}

impl<K: Object> Listener<K> {
    pub(super) fn status(&self, resync: Option<Duration>) -> HandlerStatus {
        let (depth, mode) = self.mailbox.depth();
        let progress = self.progress.lock();
        HandlerStatus {
            name: self.name.clone(),
            state: self.mailbox.state(),
            depth,
            mode,
            synced: self.synced.is_set(),
            busy_for: progress.busy_since.map(|since| since.elapsed()),
            resync,
            panics: progress.panics,
            last_panic: progress.last_panic.clone(),
        }
    }
}

/// A registered handler. Dropping it does not unregister: the handler stays until it is [removed](Self::remove) or its informer
/// stops.
#[derive(Clone)]
pub struct Registration(Arc<dyn Control>);

impl Registration {
    pub(crate) fn new<K: Object>(listener: Arc<Listener<K>>) -> Self {
        Self(listener)
    }

    /// Whether the handler has returned from its calls for the whole initial state.
    pub fn has_synced(&self) -> bool {
        self.0.synced().is_set()
    }

    /// Waits until the handler has returned from its calls for the whole initial state. Any number of tasks may wait.
    pub async fn synced(&self) -> Result<(), ListenerEnded> {
        tokio::select! {
            biased;
            () = self.0.synced().wait() => Ok(()),
            () = self.0.ended().wait() => match self.status().state {
                _ if self.has_synced() => Ok(()),
                HandlerState::Removed => Err(ListenerEnded::Removed),
                HandlerState::Disconnected => Err(ListenerEnded::Disconnected),
                HandlerState::Active | HandlerState::Stopped => Err(ListenerEnded::Stopped),
            },
        }
    }

    /// The handler's state, depth and panics. (Its resync period is shown by the informer's `status()`.)
    pub fn status(&self) -> HandlerStatus {
        self.0.status(None)
    }

    /// Removes the handler. It takes effect at this call, awaited or not: no further event reaches the handler. Awaited, it
    /// returns once the handler has returned from the call it may be in; from inside that very call it returns at once.
    ///
    /// Removing twice, or after the informer stopped, does nothing.
    pub fn remove(&self) -> Removal {
        let removing = self.0.remove();
        let ended = self.0.ended().clone();
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

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Removal")
    }
}
