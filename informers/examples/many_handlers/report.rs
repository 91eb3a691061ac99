//! What each handler heard, and what it took of the server.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use informer_testing::Requests;
use informers::{Event, HandlerStatus, Origin, UpdateCause};
use k8s_openapi::api::core::v1::Pod;

use super::shared::pod;

/// The events of each handler, counted.
#[derive(Default)]
pub(crate) struct Tally(Mutex<BTreeMap<&'static str, Heard>>);

#[derive(Clone, Copy, Default)]
struct Heard {
    initial: usize,
    added: usize,
    updated: usize,
    deleted: usize,
    resyncs: usize,
}

impl Tally {
    pub(crate) fn count(&self, handler: &'static str, event: &Event<Pod>) {
        // A count is whole whoever panicked.
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let heard = counts.entry(handler).or_default();
        let count = match event {
            Event::Added {
                origin: Origin::Initial,
                ..
            } => &mut heard.initial,
            Event::Added { .. } => &mut heard.added,
            Event::Updated {
                cause: UpdateCause::Resync,
                ..
            } => &mut heard.resyncs,
            Event::Updated { .. } => &mut heard.updated,
            Event::Deleted(_) => &mut heard.deleted,
        };
        *count += 1;
    }

    fn of(&self, handler: &str) -> Heard {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(handler).copied().unwrap_or_default()
    }
}

/// An event in a line.
pub(crate) fn describe(event: &Event<Pod>) -> String {
    let (what, detail) = match event {
        Event::Added { object, .. } => ("added", pod::describe(object)),
        Event::Updated {
            cause: UpdateCause::Resync,
            new,
            ..
        } => ("told again", pod::describe(new)),
        Event::Updated { old, new, .. } => ("updated", pod::changes(old, new)),
        Event::Deleted(deleted) => ("deleted", pod::describe_deletion(deleted)),
    };
    format!("{what:<11} {:<16} {detail}", pod::name(event.object()))
}

/// A line for each handler.
pub(crate) fn table(handlers: &[HandlerStatus], tally: &Tally) -> Vec<String> {
    let heading = "handler    state    initial  added  updated  deleted  resyncs   every  panics".to_owned();
    let rows = handlers.iter().map(|status| {
        let heard = tally.of(&status.name);
        let resync = match status.resync {
            Some(period) => format!("{period:?}"),
            None => "never".to_owned(),
        };
        format!(
            "{:<10} {:<8} {:>7}  {:>5}  {:>7}  {:>7}  {:>7}  {resync:>6}  {:>6}",
            status.name,
            format!("{:?}", status.state),
            heard.initial,
            heard.added,
            heard.updated,
            heard.deleted,
            heard.resyncs,
            status.panics,
        )
    });
    std::iter::once(heading).chain(rows).collect()
}

/// What all of them together asked of the server.
pub(crate) fn requests(requests: &Requests) -> String {
    let initial = requests.filtered(|request| request.is_watch_list()).len() + requests.lists().len();
    let (all, watches) = (requests.len(), requests.watches().len());
    format!("requests: {all} in all; the pods were listed {initial} time and watched {watches} time")
}
