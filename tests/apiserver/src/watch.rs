//! WATCH: a stream that reads the history at its own pace and ends by timeout, closing, or falling too far behind.

mod frame;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, Stream};
use tokio::time::{Instant, sleep_until};

use crate::encode::Shape;
use crate::error::ApiError;
use crate::list::parse_version;
use crate::registry::Resource;
use crate::request::{ListOptions, WatchList};
use crate::shared::{BoxError, Pulse, Shared, WatcherGuard};
use crate::state::State;
use crate::storage::{Change, ChangeKind, Compacted};

pub use frame::EventType;
use frame::{Compression, Framing};
pub(crate) use frame::{Frame, gzip};

/// How a watch from a revision that is gone is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpiredWatch {
    /// As an ERROR event in a stream that was answered with 200. The default, and what the watch cache does.
    #[default]
    InStream,
    /// As an answer with HTTP status 410.
    Response,
}

/// Bookmarks come this long before the end of a watch, too, as upstream.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);

/// Changes looked at under one lock.
const BATCH: usize = 512;

/// What is watched.
#[derive(Debug)]
pub(crate) struct WatchRequest {
    pub(crate) resource: Arc<Resource>,
    /// Empty for all namespaces and for cluster-scoped resources.
    pub(crate) namespace: String,
    pub(crate) options: ListOptions,
    pub(crate) shape: Shape,
    /// Whether the client takes gzip.
    pub(crate) accepts_gzip: bool,
}

/// An open watch.
#[derive(Debug)]
pub(crate) struct Watch {
    shared: Arc<Shared>,
    request: WatchRequest,
    framing: Framing,
    /// Everything up to this revision was looked at.
    cursor: u64,
    pending: VecDeque<Frame>,
    phase: Phase,
    deadline: Instant,
    next_bookmark: Option<Instant>,
    pulse: tokio::sync::watch::Receiver<Pulse>,
    /// Streams of an older generation were told to close.
    generation: u64,
    _guard: WatcherGuard,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// What is pending is still sent, and nothing after it.
    Ending,
}

/// Where a watch begins.
struct Start {
    cursor: u64,
    frames: VecDeque<Frame>,
    phase: Phase,
}

impl Watch {
    /// Opens a watch, or refuses it.
    pub(crate) fn open(shared: &Arc<Shared>, request: WatchRequest) -> Result<Self, ApiError> {
        let pulse = shared.subscribe();
        let generation = pulse.borrow().generation;
        let promoted = initial_events(&request.options, shared.settings.watch_list);
        let compressed = request.accepts_gzip && promoted == Initial::WithEnd;
        let compression = if compressed {
            Compression::GzipMembers
        } else {
            Compression::Plain
        };
        let framing = Framing {
            resource: request.resource.clone(),
            shape: request.shape,
            compression,
        };
        let mut state = shared.state();
        let start = start(&state, shared, &request, &framing, promoted)?;
        let timeout = request.options.timeout.unwrap_or_else(|| {
            // Without a timeout the real server picks one between its minimum and twice that.
            let minimum = shared.settings.min_request_timeout;
            minimum + Duration::from_secs(state.rng.below(minimum.as_secs().max(1)))
        });
        drop(state);
        let now = Instant::now();
        let deadline = now + timeout;
        let next_bookmark = request
            .options
            .bookmarks
            .then(|| next_bookmark(now, deadline, shared.settings.bookmark_interval));
        Ok(Self {
            shared: shared.clone(),
            framing,
            cursor: start.cursor,
            pending: start.frames,
            phase: start.phase,
            deadline,
            next_bookmark: next_bookmark.flatten(),
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

    /// The body. Dropping it ends the watch; nothing runs in the background.
    pub(crate) fn into_stream(self) -> impl Stream<Item = Result<Bytes, BoxError>> + Send + 'static {
        stream::unfold(self, |mut watch| async move {
            let chunk = watch.next().await?;
            Some((chunk, watch))
        })
    }

    /// The next flush: as many events as are ready.
    async fn next(&mut self) -> Option<Result<Bytes, BoxError>> {
        loop {
            if !self.pending.is_empty() {
                return Some(Ok(self.framing.flush(&mut self.pending)));
            }
            // Marked as seen before the state is read, so that a change in between wakes the stream again.
            let pulse = *self.pulse.borrow_and_update();
            let closed = pulse.stopped || pulse.generation != self.generation;
            if self.phase == Phase::Ending || closed || self.collect() == Collected::End {
                return None;
            }
            if self.pending.is_empty() {
                self.wait().await?;
            }
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
        if served.is_none() || state.storage.lag(self.cursor) > shared.settings.watch_buffer {
            return Collected::End;
        }
        let newest = state.storage.revision();
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
        // A watch from the future keeps waiting for its revision.
        self.cursor = if full { looked_at } else { self.cursor.max(newest) };
        Collected::More
    }

    /// The event a change means to this watch.
    fn frame_of(&self, state: &State, change: &Change) -> Option<Frame> {
        if change.resource != self.request.resource.id {
            return None;
        }
        let namespace = &self.request.namespace;
        if !namespace.is_empty() && change.new.namespace != *namespace {
            return None;
        }
        let selectors = &self.request.options.selectors;
        let before = change.old.as_ref().filter(|old| selectors.matches(old));
        let after = change.kind == ChangeKind::Put && selectors.matches(&change.new);
        let frame = |kind, stored: &_| Some(self.framing.object(kind, stored));
        match (before, after) {
            (None, true) => frame(EventType::Added, &change.new),
            (Some(_), true) => frame(EventType::Modified, &change.new),
            (Some(_), false) if change.kind == ChangeKind::Delete => frame(EventType::Deleted, &change.new),
            // It left the selector: upstream sends what it was, under the version of the change.
            (Some(old), false) => {
                let left = old.restamped(change.revision, &state.versions.print(change.revision));
                frame(EventType::Deleted, &left)
            }
            (None, false) => None,
        }
    }

    /// Waits for a change, a bookmark to send, or the end.
    async fn wait(&mut self) -> Option<()> {
        let bookmark = self.next_bookmark;
        tokio::select! {
            biased;
            changed = self.pulse.changed() => changed.ok(),
            () = sleep_until(self.deadline) => None,
            () = sleep_until(bookmark.unwrap_or(self.deadline)), if bookmark.is_some() => {
                let version = self.shared.state().versions.print(self.cursor);
                self.pending.push_back(self.framing.bookmark(&version, frame::Mark::Progress));
                self.next_bookmark =
                    next_bookmark(Instant::now(), self.deadline, self.shared.settings.bookmark_interval);
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

/// Whether a watch begins with the present state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Initial {
    None,
    /// Present objects, and then the end bookmark if bookmarks are allowed.
    WithEnd,
    /// Present objects only, as servers did before watch-list.
    Bare,
}

fn initial_events(options: &ListOptions, watch_list: WatchList) -> Initial {
    let legacy = matches!(options.resource_version.as_str(), "" | "0");
    match (options.send_initial_events, watch_list) {
        (Some(true), _) => Initial::WithEnd,
        (None, WatchList::On) if legacy => Initial::WithEnd,
        (None, WatchList::Off) if legacy => Initial::Bare,
        _ => Initial::None,
    }
}

fn start(
    state: &State,
    shared: &Shared,
    request: &WatchRequest,
    framing: &Framing,
    initial: Initial,
) -> Result<Start, ApiError> {
    let (options, newest) = (&request.options, state.storage.revision());
    let asked = match options.resource_version.as_str() {
        "" | "0" => None,
        version => Some(parse_version(state, version).map_err(|why| ApiError::new(500, "", why))?),
    };
    if initial == Initial::None {
        let cursor = asked.unwrap_or(newest);
        return match cursor < state.storage.compacted() {
            true => expired(state, shared, framing, cursor),
            false => Ok(Start {
                cursor,
                frames: VecDeque::new(),
                phase: Phase::Open,
            }),
        };
    }
    if asked.is_some_and(|asked| asked > newest) {
        let current = state.versions.print(newest);
        return Err(ApiError::too_large_version(&options.resource_version, &current));
    }
    let prefix = if request.namespace.is_empty() {
        String::new()
    } else {
        format!("{}/", request.namespace)
    };
    let present = state.storage.snapshot(&request.resource.id, &prefix, "", newest);
    let present = present.map_err(|Compacted| ApiError::expired("the present is never compacted"))?;
    let mut frames: VecDeque<Frame> = present
        .iter()
        .filter(|object| options.selectors.matches(object))
        .map(|object| framing.object(EventType::Added, object))
        .collect();
    if initial == Initial::WithEnd && options.bookmarks {
        frames.push_back(framing.bookmark(&state.versions.print(newest), frame::Mark::InitialEnd));
    }
    Ok(Start {
        cursor: newest,
        frames,
        phase: Phase::Open,
    })
}

fn expired(state: &State, shared: &Shared, framing: &Framing, asked: u64) -> Result<Start, ApiError> {
    let (asked_text, oldest) = (
        state.versions.print(asked),
        state.versions.print(state.storage.compacted()),
    );
    let error = ApiError::expired(format!("too old resource version: {asked_text} ({oldest})"));
    match shared.settings.expired_watch {
        ExpiredWatch::Response => Err(error),
        ExpiredWatch::InStream => {
            let frames = VecDeque::from([framing.error(&error)]);
            Ok(Start {
                cursor: asked,
                frames,
                phase: Phase::Ending,
            })
        }
    }
}

/// When to send the next bookmark: after the interval, or shortly before the end, whichever is first.
fn next_bookmark(now: Instant, deadline: Instant, interval: Duration) -> Option<Instant> {
    let last = deadline
        .checked_sub(BOOKMARK_BEFORE_END)
        .filter(|last| *last > now)?;
    Some((now + interval).min(last))
}
