//! WATCH: a stream that reads the history as fast as its client, and ends by timeout, closing, or lagging too
//! far behind.

mod frame;
mod start;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, Stream};
use tokio::time::{Instant, sleep_until};

use crate::encode::Form;
use crate::error::ApiError;
use crate::faults::{Ending, Fault, FaultId, Passage, Plan, StreamFaults, progress_bookmark};
use crate::pulse::Listener;
use crate::registry::Resource;
use crate::request::ListOptions;
use crate::shared::{BoxError, Shared, WatcherGuard};
use crate::state::State;
use crate::storage::Change;

pub use frame::EventType;
pub(crate) use frame::{Compression, Frame, Framing, gzip};

/// How a watch from a compacted revision is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpiredWatch {
    /// As an ERROR event in a stream with status 200. The default, and the behaviour of the watch cache.
    #[default]
    InStream,
    /// As an answer with HTTP status 410.
    Response,
}

/// A bookmark is also sent this long before the end of a watch, as upstream.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);

/// The number of changes read under one lock.
const BATCH: usize = 512;

/// A flush is split after this many bytes, so that a large batch does not become one large chunk.
const FLUSH: usize = 64 * 1024;

/// The collection to watch.
#[derive(Debug)]
pub(crate) struct WatchRequest {
    pub(crate) resource: Arc<Resource>,
    /// Empty for all namespaces and for cluster-scoped resources.
    pub(crate) namespace: String,
    pub(crate) options: ListOptions,
    pub(crate) form: Form,
    /// Whether the client accepts gzip.
    pub(crate) accepts_gzip: bool,
}

/// An open watch.
#[derive(Debug)]
pub(crate) struct Watch {
    shared: Arc<Shared>,
    request: WatchRequest,
    framing: Framing,
    faults: StreamFaults,
    /// Everything up to this revision was read.
    cursor: u64,
    /// The revision at which the watch started.
    start: u64,
    pending: VecDeque<Frame>,
    /// Chunks of a flush that a fault has split.
    pieces: VecDeque<Bytes>,
    bytes_sent: usize,
    phase: Phase,
    deadline: Instant,
    next_bookmark: Option<Instant>,
    pulse: Listener,
    /// Streams of an older generation must close.
    generation: u64,
    _guard: WatcherGuard,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// Pending events are still sent, and nothing after them.
    Ending,
    /// The connection breaks next.
    Breaking,
    Closed,
}

impl Watch {
    /// Opens a watch, or refuses it.
    pub(crate) fn open(shared: &Arc<Shared>, request: WatchRequest, plan: Plan) -> Result<Self, ApiError> {
        let mut pulse = shared.subscribe();
        let generation = pulse.pulse().generation;
        let initial = start::Initial::of(&request.options, shared.settings.watch_list);
        let compressed = request.accepts_gzip && initial == start::Initial::WithEnd;
        let framing = Framing {
            resource: request.resource.clone(),
            form: request.form,
            compression: if compressed {
                Compression::GzipMembers
            } else {
                Compression::Plain
            },
            clock: shared.clock,
        };
        let mut state = shared.state();
        let start = start::Opening {
            state: &state,
            shared,
            request: &request,
            framing: &framing,
            plan: &plan,
        };
        let start = start.run(initial)?;
        let timeout = request.options.timeout.unwrap_or_else(|| {
            // Without a timeout the real server picks one between its minimum and twice that.
            let minimum = shared.settings.min_request_timeout;
            minimum + Duration::from_secs(state.rng.below(minimum.as_secs().max(1)))
        });
        drop(state);
        let (now, interval) = (Instant::now(), shared.settings.bookmark_interval);
        let deadline = now + timeout;
        Ok(Self {
            shared: shared.clone(),
            framing,
            faults: plan.into_stream_faults(),
            cursor: start.cursor,
            start: start.cursor,
            pending: start.frames,
            pieces: VecDeque::new(),
            bytes_sent: 0,
            phase: start.phase,
            deadline,
            next_bookmark: request
                .options
                .bookmarks
                .then(|| next_bookmark(now, deadline, interval))
                .flatten(),
            pulse,
            generation,
            _guard: WatcherGuard::new(shared),
            request,
        })
    }

    /// Whether the body is gzip.
    pub(crate) fn is_compressed(&self) -> bool {
        self.framing.compression == Compression::GzipMembers
    }

    pub(crate) fn content_type(&self) -> &'static str {
        self.request.form.format.stream_type()
    }

    /// Returns the body. Dropping it ends the watch; there is no background task.
    pub(crate) fn into_stream(self) -> impl Stream<Item = Result<Bytes, BoxError>> + Send + 'static {
        stream::unfold(self, |mut watch| async move {
            let chunk = watch.next().await?;
            Some((chunk, watch))
        })
    }

    /// Returns the next chunk: all events that are ready, unless a fault changes that.
    async fn next(&mut self) -> Option<Result<Bytes, BoxError>> {
        loop {
            if let Some(piece) = self.pieces.pop_front() {
                return Some(Ok(piece));
            }
            match self.phase {
                Phase::Closed => return None,
                Phase::Breaking => {
                    self.phase = Phase::Closed;
                    return Some(Err(broken()));
                }
                Phase::Open => {
                    if let Some(ending) = self.faults.due() {
                        self.end_by(ending).await;
                        continue;
                    }
                }
                Phase::Ending => {}
            }
            if !self.pending.is_empty() {
                self.flush();
                continue;
            }
            // Marked as seen before the state is read, so that a change in between wakes the stream again.
            let pulse = self.pulse.pulse();
            let closed = pulse.stopped || pulse.generation != self.generation;
            if self.phase == Phase::Ending || closed || self.collect() == Collected::End {
                return None;
            }
            if self.pending.is_empty() {
                self.wait().await?;
            }
        }
    }

    /// Ends the stream as a fault requires.
    async fn end_by(&mut self, ending: Ending) {
        let name = match &ending {
            Ending::Close => Fault::CloseWatch { after: 0 }.name(),
            Ending::Break(cut) => Fault::Cut(*cut).name(),
            Ending::Hold(_) => Fault::HalfOpen { after: 0 }.name(),
            Ending::Error(error) => format!("ErrorEvent {}", error.code()),
        };
        self.shared.script().count([name]);
        match ending {
            Ending::Close => self.phase = Phase::Closed,
            Ending::Break(_) => self.phase = Phase::Breaking,
            Ending::Hold(id) => {
                self.shared.held_by(id).await;
                self.phase = Phase::Breaking;
            }
            Ending::Error(error) => {
                self.pending.clear();
                self.pending.push_back(self.framing.error(&error));
                self.phase = Phase::Ending;
            }
        }
    }

    /// Packs pending events into chunks.
    fn flush(&mut self) {
        self.pack_pending();
        let struck = std::mem::take(&mut self.faults.struck);
        if !struck.is_empty() {
            self.shared.script().count(struck);
        }
    }

    fn pack_pending(&mut self) {
        let mut plain = Vec::new();
        while let Some(mut frame) = self.pending.pop_front() {
            match self.faults.pass(&mut frame) {
                Passage::Whole => {
                    self.framing.write(&mut plain, &frame);
                    self.add_foreign(&mut plain, frame);
                }
                Passage::Lost => {}
                Passage::Torn(cut) => {
                    self.send(plain);
                    let torn = self.framing.torn(&frame, cut);
                    self.send_packed(torn);
                    self.phase = Phase::Breaking;
                    return;
                }
            }
            // Faults that end the stream count events, so each must be able to be the last of its flush.
            if plain.len() >= FLUSH || (self.phase == Phase::Open && self.faults.due().is_some()) {
                break;
            }
        }
        self.send(plain);
    }

    /// Adds a copy of an object's event in another namespace, if a fault requires that.
    fn add_foreign(&self, plain: &mut Vec<u8>, frame: Frame) {
        let is_object = !matches!(frame.kind, EventType::Bookmark | EventType::Error);
        let copy = self.faults.plan.foreign(&frame.object).filter(|_| is_object);
        if let Some(object) = copy {
            self.framing.write(plain, &Frame { object, ..frame });
        }
    }

    fn send(&mut self, plain: Vec<u8>) {
        if plain.is_empty() {
            return;
        }
        self.send_packed(self.framing.pack(plain));
        if self.is_compressed() && self.faults.plan.has(&Fault::EmptyMembers) {
            self.send_packed(gzip(&[]).into());
        }
    }

    fn send_packed(&mut self, mut chunk: Bytes) {
        if let Some(limit) = self.faults.plan.cut_bytes()
            && self.bytes_sent + chunk.len() >= limit
        {
            chunk.truncate(limit.saturating_sub(self.bytes_sent));
            self.phase = Phase::Breaking;
        }
        self.bytes_sent += chunk.len();
        let size = self.faults.plan.fragment().unwrap_or(usize::MAX);
        while !chunk.is_empty() {
            self.pieces.push_back(chunk.split_to(size.min(chunk.len())));
        }
    }

    /// Returns the newest revision visible to this watch.
    fn ceiling(&self, state: &State) -> u64 {
        let newest = state.storage.revision();
        match self.faults.plan.stale() {
            Some((id, revision)) if self.shared.holds(id) => newest.min(revision),
            _ => newest,
        }
    }

    /// Moves ready changes into `pending`.
    fn collect(&mut self) -> Collected {
        let shared = self.shared.clone();
        let state = shared.state();
        let resource = &self.request.resource;
        let served = state
            .registry
            .get(&resource.group, &resource.version, &resource.plural);
        let lag = state.storage.lag(self.cursor);
        let newest = self.ceiling(&state);
        let slow = lag > shared.settings.watch_buffer && newest == state.storage.revision();
        let Ok(changes) = state.storage.changes_after(self.cursor, newest) else {
            return Collected::End;
        };
        let mut looked_at = self.cursor;
        let mut full = false;
        for change in changes {
            looked_at = change.revision;
            if let Some(frame) = self.frame_of(&state, change) {
                self.pending.push_back(frame);
            }
            full = self.pending.len() >= BATCH;
            if full {
                break;
            }
        }
        if slow {
            self.pending.clear();
            return Collected::End;
        }
        if served.is_none() {
            // The last deletions of a removed definition are still sent.
            self.phase = Phase::Ending;
        }
        // A watch from the future keeps waiting for its revision.
        self.cursor = if full { looked_at } else { self.cursor.max(newest) };
        Collected::More
    }

    /// Returns the event of a change for this watch.
    fn frame_of(&self, state: &State, change: &Change) -> Option<Frame> {
        start::frame_of(&self.request, &self.framing, state, change)
    }

    /// Waits for a change, a bookmark to send, or the end.
    async fn wait(&mut self) -> Option<()> {
        if self.phase == Phase::Ending {
            return Some(());
        }
        let bookmark = self.next_bookmark;
        let cut = self.faults.breaks_at();
        tokio::select! {
            biased;
            () = self.pulse.changed() => Some(()),
            () = sleep_until(cut.unwrap_or(self.deadline)), if cut.is_some() => Some(()),
            () = sleep_until(self.deadline) => None,
            () = sleep_until(bookmark.unwrap_or(self.deadline)), if bookmark.is_some() => {
                // As upstream, a bookmark with the version of the request is not sent.
                let is_newer = self.cursor > self.start;
                let version = is_newer.then(|| self.shared.state().versions.print(self.cursor));
                let metadata = version.and_then(|version| progress_bookmark(&self.faults.plan, &version));
                if let Some(metadata) = metadata {
                    self.pending.push_back(self.framing.bookmark(&metadata));
                }
                let interval = self.shared.settings.bookmark_interval;
                self.next_bookmark = next_bookmark(Instant::now(), self.deadline, interval);
                Some(())
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Collected {
    More,
    End,
}

/// The error of a broken connection.
pub(crate) fn broken() -> BoxError {
    io::Error::new(io::ErrorKind::ConnectionReset, "connection reset by peer").into()
}

impl Shared {
    /// Waits while a rule is active; returns immediately when it was removed.
    pub(crate) async fn held_by(&self, id: FaultId) {
        let mut pulse = self.subscribe();
        loop {
            if pulse.pulse().stopped || !self.holds(id) {
                return;
            }
            pulse.changed().await;
        }
    }
}

/// Returns when to send the next bookmark: after the interval, or shortly before the end, whichever is
/// earlier.
fn next_bookmark(now: Instant, deadline: Instant, interval: Duration) -> Option<Instant> {
    let last = deadline
        .checked_sub(BOOKMARK_BEFORE_END)
        .filter(|last| *last > now)?;
    Some((now + interval).min(last))
}
