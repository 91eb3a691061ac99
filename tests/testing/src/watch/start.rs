//! The start of a watch: from a version, or with the current state.

use std::collections::VecDeque;

use super::{ExpiredWatch, Phase, WatchRequest};
use crate::error::ApiError;
use crate::faults::{Fault, Plan, end_bookmark};
use crate::list::{WatchCache, parse_version};
use crate::request::{ListOptions, WatchList};
use crate::rng::Rng;
use crate::shared::Shared;
use crate::state::State;
use crate::storage::{Change, ChangeKind, Compacted};
use crate::watch::frame::{EventType, Frame, Framing};

/// Whether a watch starts with the current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Initial {
    None,
    /// Existing objects, then the end bookmark if bookmarks are allowed.
    WithEnd,
    /// Existing objects only, as servers did before watch-list.
    Bare,
}

impl Initial {
    pub(super) fn of(options: &ListOptions, watch_list: WatchList) -> Self {
        let legacy = matches!(options.resource_version.as_str(), "" | "0");
        match (options.send_initial_events, watch_list) {
            (Some(true), _) => Self::WithEnd,
            (None, WatchList::On) if legacy => Self::WithEnd,
            (None, WatchList::Off) if legacy => Self::Bare,
            _ => Self::None,
        }
    }
}

/// The start of a watch.
pub(super) struct Start {
    pub(super) cursor: u64,
    pub(super) frames: VecDeque<Frame>,
    pub(super) phase: Phase,
}

/// The parameters to determine it.
pub(super) struct Opening<'a> {
    pub(super) state: &'a State,
    pub(super) shared: &'a Shared,
    pub(super) request: &'a WatchRequest,
    pub(super) framing: &'a Framing,
    pub(super) plan: &'a Plan,
}

impl Opening<'_> {
    pub(super) fn run(&self, initial: Initial) -> Result<Start, ApiError> {
        let (state, options) = (self.state, &self.request.options);
        let newest = match self.plan.stale() {
            Some((_, revision)) => state.storage.revision().min(revision),
            None => state.storage.revision(),
        };
        let asked = match options.resource_version.as_str() {
            "" | "0" => None,
            version => Some(parse_version(state, version).map_err(|why| ApiError::new(500, "", why))?),
        };
        if initial == Initial::None {
            let cursor = asked.unwrap_or(newest);
            return match cursor < state.storage.compacted() {
                true => self.expired(cursor),
                false => Ok(Start {
                    cursor,
                    frames: self.repeated(cursor),
                    phase: Phase::Open,
                }),
            };
        }
        if asked.is_some_and(|asked| asked > newest) {
            let current = state.versions.print(newest);
            let error = ApiError::too_large_version(&options.resource_version, &current);
            return Ok(self.failing(newest, &error));
        }
        let mut frames = self.present(newest).map_err(|Compacted| {
            let (asked, oldest) = (
                state.versions.print(newest),
                state.versions.print(state.storage.compacted()),
            );
            ApiError::expired(format!("too old resource version: {asked} ({oldest})"))
        })?;
        if initial == Initial::WithEnd && options.bookmarks {
            let end = end_bookmark(self.plan, &state.versions.print(newest));
            frames.extend(end.map(|metadata| self.framing.bookmark(&metadata)));
        }
        Ok(Start {
            cursor: newest,
            frames,
            phase: Phase::Open,
        })
    }

    /// Returns the existing objects as ADDED events, with the faults applied.
    fn present(&self, newest: u64) -> Result<VecDeque<Frame>, Compacted> {
        let (storage, request) = (&self.state.storage, self.request);
        let back = self.plan.changes_before_end().unwrap_or(0);
        let from = newest.saturating_sub(back).max(storage.compacted()).min(newest);
        let prefix = if request.namespace.is_empty() {
            String::new()
        } else {
            format!("{}/", request.namespace)
        };
        let objects = storage.snapshot(&request.resource.id, &prefix, "", from)?;
        let chosen = objects
            .iter()
            .filter(|object| request.options.selectors.matches(object));
        let mut added: Vec<Frame> = chosen
            .map(|object| self.framing.object(EventType::Added, object))
            .collect();
        if self.plan.has(&Fault::DuplicateInitial) {
            added = added
                .into_iter()
                .flat_map(|frame| [frame.clone(), frame])
                .collect();
        }
        if let Some(seed) = self.plan.shuffle() {
            Rng::new(seed).shuffle(&mut added);
        }
        let since = storage.changes_after(from, newest)?;
        added.extend(since.filter_map(|change| frame_of(request, self.framing, self.state, change)));
        Ok(added.into())
    }

    /// Returns older states of objects that exist at `cursor`, if a fault repeats them.
    fn repeated(&self, cursor: u64) -> VecDeque<Frame> {
        let (storage, request) = (&self.state.storage, self.request);
        let Some(revisions) = self.plan.repeat_events() else {
            return VecDeque::new();
        };
        let from = cursor.saturating_sub(revisions).max(storage.compacted());
        let there = storage.snapshot(&request.resource.id, "", "", cursor);
        let (Ok(there), Ok(changes)) = (there, storage.changes_after(from, cursor)) else {
            return VecDeque::new();
        };
        changes
            .filter(|change| change.kind == ChangeKind::Put)
            .filter(|change| {
                let mut live = there.iter();
                live.any(|object| object.key == change.new.key && request.options.selectors.matches(object))
            })
            .filter_map(|change| frame_of(request, self.framing, self.state, change))
            .filter(|frame| frame.kind != EventType::Deleted)
            .collect()
    }

    fn expired(&self, asked: u64) -> Result<Start, ApiError> {
        let versions = self.state.versions;
        let (asked_text, oldest) = (
            versions.print(asked),
            versions.print(self.state.storage.compacted()),
        );
        let why = match self.shared.settings.watch_cache {
            WatchCache::On => format!("too old resource version: {asked_text} ({oldest})"),
            WatchCache::Off => "The resourceVersion for the provided watch is too old.".to_owned(),
        };
        let error = ApiError::expired(why);
        match self.shared.settings.expired_watch {
            ExpiredWatch::Response => Err(error),
            ExpiredWatch::InStream => Ok(self.failing(asked, &error)),
        }
    }

    /// Returns a stream of one ERROR event.
    fn failing(&self, cursor: u64, error: &ApiError) -> Start {
        let frames = VecDeque::from([self.framing.error(error)]);
        Start {
            cursor,
            frames,
            phase: Phase::Ending,
        }
    }
}

/// Returns the event of a change for a watch.
pub(super) fn frame_of(
    request: &WatchRequest,
    framing: &Framing,
    state: &State,
    change: &Change,
) -> Option<Frame> {
    let elsewhere = !request.namespace.is_empty() && change.new.namespace != request.namespace;
    if change.resource != request.resource.id || elsewhere {
        return None;
    }
    let selectors = &request.options.selectors;
    let before = change.old.as_ref().filter(|old| selectors.matches(old));
    let after = change.kind == ChangeKind::Put && selectors.matches(&change.new);
    match (before, after) {
        (None, true) => Some(framing.object(EventType::Added, &change.new)),
        (Some(_), true) => Some(framing.object(EventType::Modified, &change.new)),
        (Some(_), false) if change.kind == ChangeKind::Delete => {
            Some(framing.object(EventType::Deleted, &change.new))
        }
        // It no longer matches the selector: upstream sends its last state under the version of the change.
        (Some(old), false) => {
            let left = old.restamped(change.revision, &state.versions.print(change.revision));
            Some(framing.object(EventType::Deleted, &left))
        }
        (None, false) => None,
    }
}
