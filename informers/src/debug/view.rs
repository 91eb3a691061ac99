//! What the page and the JSON show: a copy of the status, without anything that could be content of an
//! object.

mod controller;
mod parts;

use std::collections::HashMap;
use std::time::Duration;

use informer_core::store::Freshness;
use informer_core::{DynInformer, InformerStatus, ObjectKey, State};
use serde::Serialize;
use tokio::time::Instant;

use super::history::{EVERY, History, Ring};
use crate::SharedInformerFactory;

pub(super) use controller::{ControllerView, KeyView};
pub(super) use parts::{Counted, ErrorView, HandlerView, IndexView, ListView, ScopeView};

/// The most keys, stale or failing, that are shown in one place. Their number is always shown.
const SHOWN: usize = 50;

/// Whether to show messages that code of the program wrote, which may quote an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Messages {
    #[default]
    Hidden,
    Shown,
}

impl Messages {
    fn show(self, message: Option<&String>) -> Option<String> {
        message.filter(|_| self == Self::Shown).cloned()
    }
}

/// Everything that the page shows, but for the keys of objects.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Overview {
    pub(super) informers: Vec<InformerView>,
    pub(super) controllers: Vec<ControllerView>,
}

impl Overview {
    pub(super) fn new(factory: &SharedInformerFactory, history: &History, messages: Messages) -> Self {
        let status = factory.status();
        let ids = ids(status.informers.iter().map(|informer| informer.resource.as_str()));
        let informers = ids.into_iter().zip(&status.informers);
        Self {
            informers: informers
                .map(|(id, informer)| {
                    let ring = history.of(&id);
                    InformerView::new(id, informer, &ring, messages)
                })
                .collect(),
            controllers: status
                .controllers
                .iter()
                .map(|controller| ControllerView::new(controller, messages))
                .collect(),
        }
    }
}

/// One informer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InformerView {
    /// The resource, with a number if another informer has the same.
    pub(super) id: String,
    pub(super) resource: String,
    pub(super) state: StateView,
    pub(super) synced: bool,
    pub(super) freshness: &'static str,
    pub(super) objects: usize,
    pub(super) approximate_bytes: u64,
    /// How old the data is.
    pub(super) age_seconds: Option<f64>,
    pub(super) last_event_seconds: Option<f64>,
    pub(super) last_list: Option<ListView>,
    pub(super) error: Option<ErrorView>,
    /// Changes that wait to be committed.
    pub(super) queued: usize,
    /// Events that wait for handlers, and changes that wait to be committed.
    pub(super) backlog: usize,
    pub(super) events_per_second: Option<f64>,
    pub(super) transform_failures: u64,
    /// Objects whose newest state could not be used.
    pub(super) stale: KeysView,
    pub(super) counts: Counted,
    pub(super) scopes: Vec<ScopeView>,
    pub(super) handlers: Vec<HandlerView>,
    pub(super) indexes: Vec<IndexView>,
    pub(super) history: HistoryView,
}

impl InformerView {
    fn new(id: String, status: &InformerStatus, ring: &Ring, messages: Messages) -> Self {
        Self {
            id,
            resource: status.resource.clone(),
            state: StateView::new(&status.state),
            synced: status.synced,
            freshness: match status.freshness {
                Freshness::Unattended => "unattended",
                Freshness::NotStarted => "notStarted",
                Freshness::Filling => "filling",
                Freshness::Kept => "kept",
                Freshness::Final => "final",
                _ => "other",
            },
            objects: status.objects,
            approximate_bytes: status.approximate_bytes,
            age_seconds: status.age.map(seconds),
            last_event_seconds: status.last_event().map(ago),
            last_list: status.last_list().map(ListView::new),
            error: status.current_error().map(ErrorView::new),
            queued: status.queued,
            backlog: backlog(status),
            events_per_second: ring.rate().map(rounded),
            transform_failures: status.transform_failures,
            stale: KeysView::new(status.stale.iter().map(|(key, _)| key)),
            counts: Counted::new(&status.counts()),
            scopes: status.scopes.iter().map(ScopeView::new).collect(),
            handlers: status
                .handlers
                .iter()
                .map(|handler| HandlerView::new(handler, messages))
                .collect(),
            indexes: status
                .indexes
                .iter()
                .map(|index| IndexView::new(index, messages))
                .collect(),
            history: HistoryView {
                seconds_between_samples: seconds(EVERY),
                events_per_second: ring.rates().into_iter().map(rounded).collect(),
                backlog: ring.backlogs(),
            },
        }
    }
}

/// Some keys of a set, and how many it has.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeysView {
    pub(super) count: usize,
    /// The first of them.
    pub(super) keys: Vec<String>,
}

impl KeysView {
    fn new<'k>(keys: impl ExactSizeIterator<Item = &'k ObjectKey>) -> Self {
        Self {
            count: keys.len(),
            keys: keys.take(SHOWN).map(ToString::to_string).collect(),
        }
    }
}

/// The last five minutes, the oldest sample first.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HistoryView {
    seconds_between_samples: f64,
    pub(super) events_per_second: Vec<f64>,
    pub(super) backlog: Vec<usize>,
}

/// A state: a name for programs, a level for colours and a text for people.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StateView {
    pub(super) name: String,
    pub(super) level: Level,
    pub(super) text: String,
}

/// How much attention a state deserves.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    Ok,
    /// Not running, on purpose or not yet.
    Off,
    /// On its way to a good state.
    Busy,
    Warning,
    Error,
}

impl StateView {
    fn new(state: &State) -> Self {
        let (name, level) = match state {
            State::NotStarted => ("notStarted", Level::Off),
            State::Listing { .. } => ("listing", Level::Busy),
            State::Live => ("live", Level::Ok),
            State::Stalled => ("stalled", Level::Warning),
            State::BackingOff { .. } => ("backingOff", Level::Warning),
            State::Forbidden { .. } => ("forbidden", Level::Error),
            State::NotFound { .. } => ("notFound", Level::Error),
            State::LimitReached { .. } => ("limitReached", Level::Error),
            State::Paused => ("paused", Level::Off),
            State::Stopped => ("stopped", Level::Off),
            _ => ("other", Level::Warning),
        };
        Self {
            name: name.to_owned(),
            level,
            text: state.to_string(),
        }
    }
}

/// A page of the keys of an informer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeyPage {
    pub(super) informer: String,
    pub(super) keys: Vec<String>,
    /// The value of `after` for the next page; `None` on the last one.
    pub(super) next: Option<String>,
}

impl KeyPage {
    /// Makes a page of at most `limit` keys, from one more than that if there are more.
    pub(super) fn new(informer: String, keys: &[ObjectKey], limit: usize) -> Self {
        let shown = &keys[..keys.len().min(limit)];
        Self {
            informer,
            keys: shown.iter().map(ToString::to_string).collect(),
            // A key that no API server accepts is cut when it is printed, so its page may begin again.
            next: shown
                .last()
                .filter(|_| keys.len() > limit)
                .map(ToString::to_string),
        }
    }
}

/// The informers of a factory with their identifiers.
pub(super) fn identified(factory: &SharedInformerFactory) -> Vec<(String, DynInformer)> {
    let informers = factory.informers();
    let ids = ids(informers.iter().map(DynInformer::resource));
    ids.into_iter().zip(informers).collect()
}

/// Gives each informer an identifier: `pods`, and `pods#2` for another of the same resource, such as one of
/// another version.
pub(super) fn ids<'r>(resources: impl Iterator<Item = &'r str>) -> Vec<String> {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let id = |resource: &'r str| {
        let number = numbers.entry(resource).or_default();
        *number += 1;
        match number {
            1 => resource.to_owned(),
            number => format!("{resource}#{number}"),
        }
    };
    resources.map(id).collect()
}

/// The changes and events that wait: for the commit, and for handlers.
pub(super) fn backlog(status: &InformerStatus) -> usize {
    let handlers = status.handlers.iter().map(|handler| handler.depth);
    status.queued + handlers.sum::<usize>()
}

fn ago(moment: Instant) -> f64 {
    seconds(moment.elapsed())
}

fn seconds(time: Duration) -> f64 {
    rounded(time.as_secs_f64())
}

/// Rounds to three digits behind the point.
fn rounded(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn informers_of_one_resource_have_different_identifiers() {
        let ids = ids(["pods", "nodes", "pods", "pods"].into_iter());
        assert_eq!(ids, ["pods", "nodes", "pods#2", "pods#3"]);
    }

    #[test]
    fn a_page_names_its_successor() {
        let keys: Vec<ObjectKey> = ["a/x", "a/y", "b/z"].map(|key| key.parse().unwrap()).into();
        let check = |limit: usize, shown: usize, next: Option<&str>| {
            let page = KeyPage::new("pods".to_owned(), &keys, limit);
            assert_eq!((page.keys.len(), page.next.as_deref()), (shown, next), "{limit}");
        };
        check(2, 2, Some("a/y"));
        check(3, 3, None);
        check(9, 3, None);
    }
}
