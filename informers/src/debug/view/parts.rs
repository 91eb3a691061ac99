//! The parts of an informer: scopes, handlers and indexes, and what was counted.

use std::collections::BTreeMap;

use informer_core::store::IndexStatus;
use informer_core::{
    BufferMode, Counts, HandlerEnded, HandlerState, HandlerStatus, LastError, LastList, ScopeStatus,
    WatchListVerdict,
};
use serde::Serialize;

use super::{Level, Messages, StateView, ago, seconds};

/// The last complete read of a whole state.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::debug) struct ListView {
    pub(in crate::debug) seconds_ago: f64,
    pub(in crate::debug) took_seconds: f64,
    pub(in crate::debug) objects: u64,
}

impl ListView {
    pub(super) fn new(list: &LastList) -> Self {
        Self {
            seconds_ago: ago(list.at),
            took_seconds: seconds(list.took),
            objects: list.objects,
        }
    }
}

/// An error of the server or of the connection.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::debug) struct ErrorView {
    pub(in crate::debug) text: String,
    /// How often it happened since the last success.
    pub(in crate::debug) count: u64,
    pub(in crate::debug) first_seconds_ago: f64,
    pub(in crate::debug) last_seconds_ago: f64,
}

impl ErrorView {
    pub(super) fn new(error: &LastError) -> Self {
        Self {
            text: error.error.to_string(),
            count: error.count,
            first_seconds_ago: ago(error.since),
            last_seconds_ago: ago(error.at),
        }
    }
}

/// What happened since the informer was built.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::debug) struct Counted {
    pub(in crate::debug) lists: u64,
    pub(in crate::debug) watches: u64,
    pub(in crate::debug) events: u64,
    pub(in crate::debug) added: u64,
    pub(in crate::debug) modified: u64,
    pub(in crate::debug) deleted: u64,
    pub(in crate::debug) bookmarks: u64,
    pub(in crate::debug) errors: u64,
    pub(in crate::debug) undecodable: u64,
    pub(in crate::debug) unreadable: u64,
    pub(in crate::debug) rewinds: u64,
    pub(in crate::debug) outdated: u64,
    pub(in crate::debug) out_of_scope: u64,
    /// By reason, without those that did not occur.
    pub(in crate::debug) relists: BTreeMap<&'static str, u64>,
}

impl Counted {
    pub(super) fn new(counts: &Counts) -> Self {
        let relists = counts.relists.iter().filter(|(_, count)| *count > 0);
        Self {
            lists: counts.lists,
            watches: counts.watches,
            events: counts.events,
            added: counts.added,
            modified: counts.modified,
            deleted: counts.deleted,
            bookmarks: counts.bookmarks,
            errors: counts.errors,
            undecodable: counts.undecodable,
            unreadable: counts.unreadable,
            rewinds: counts.rewinds,
            outdated: counts.outdated,
            out_of_scope: counts.out_of_scope,
            relists: relists.map(|(reason, count)| (reason.as_str(), count)).collect(),
        }
    }
}

/// One scope.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::debug) struct ScopeView {
    pub(in crate::debug) scope: String,
    pub(in crate::debug) state: StateView,
    pub(in crate::debug) state_seconds: f64,
    pub(in crate::debug) version: Option<String>,
    pub(in crate::debug) age_seconds: Option<f64>,
    pub(in crate::debug) last_contact_seconds: Option<f64>,
    pub(in crate::debug) last_list: Option<ListView>,
    /// The last error, also after a recovery.
    pub(in crate::debug) last_error: Option<ErrorView>,
    pub(in crate::debug) watch_list: String,
    pub(in crate::debug) unusable: u64,
    pub(in crate::debug) counts: Counted,
    pub(in crate::debug) audit: Option<AuditView>,
}

/// The audits of one scope.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::debug) struct AuditView {
    pub(in crate::debug) audits: u64,
    pub(in crate::debug) mismatches: u64,
    pub(in crate::debug) skipped: u64,
    pub(in crate::debug) last_seconds_ago: Option<f64>,
}

impl ScopeView {
    pub(super) fn new(status: &ScopeStatus) -> Self {
        Self {
            scope: status.scope.to_string(),
            state: StateView::new(&status.state),
            state_seconds: ago(status.since),
            version: status.version.as_ref().map(ToString::to_string),
            age_seconds: status.age.map(seconds),
            last_contact_seconds: status.last_contact.map(ago),
            last_list: status.last_list.as_ref().map(ListView::new),
            last_error: status.last_error.as_ref().map(ErrorView::new),
            watch_list: match &status.watch_list {
                WatchListVerdict::Unknown => "unknown".to_owned(),
                WatchListVerdict::Works => "works".to_owned(),
                WatchListVerdict::Refused(reason) => format!("refused: {reason}"),
                WatchListVerdict::Off => "off".to_owned(),
                _ => "other".to_owned(),
            },
            unusable: status.unusable,
            counts: Counted::new(&status.counts),
            audit: status.audit.as_ref().map(|audit| AuditView {
                audits: audit.audits,
                mismatches: audit.mismatches,
                skipped: audit.skipped,
                last_seconds_ago: audit.last.as_ref().map(|last| ago(last.at)),
            }),
        }
    }
}

/// One handler.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::debug) struct HandlerView {
    pub(in crate::debug) name: String,
    pub(in crate::debug) state: &'static str,
    pub(in crate::debug) level: Level,
    pub(in crate::debug) synced: bool,
    pub(in crate::debug) backlog: usize,
    pub(in crate::debug) oldest_waiting_seconds: Option<f64>,
    /// Whether it lags so far that it receives only the newest state of each object.
    pub(in crate::debug) folding: bool,
    pub(in crate::debug) busy_seconds: Option<f64>,
    pub(in crate::debug) calls: u64,
    pub(in crate::debug) slowest_call_seconds: Option<f64>,
    pub(in crate::debug) resync_seconds: Option<f64>,
    pub(in crate::debug) panics: u64,
    /// Only if messages are shown.
    pub(in crate::debug) last_panic: Option<String>,
}

impl HandlerView {
    pub(super) fn new(status: &HandlerStatus, messages: Messages) -> Self {
        let folding = status.mode == BufferMode::Folding;
        let (state, level) = match status.state {
            HandlerState::Ended(HandlerEnded::Removed) => ("removed", Level::Off),
            HandlerState::Ended(HandlerEnded::Disconnected) => ("disconnected", Level::Error),
            HandlerState::Ended(_) => ("stopped", Level::Off),
            _ if folding => ("folding", Level::Warning),
            _ if !status.synced => ("syncing", Level::Busy),
            _ => ("active", Level::Ok),
        };
        Self {
            name: status.name.clone(),
            state,
            level,
            synced: status.synced,
            backlog: status.depth,
            oldest_waiting_seconds: status.oldest.map(seconds),
            folding,
            busy_seconds: status.busy_for.map(seconds),
            calls: status.calls,
            slowest_call_seconds: status.slowest_call.map(seconds),
            resync_seconds: status.resync.map(seconds),
            panics: status.panics,
            last_panic: messages.show(status.last_panic.as_ref()),
        }
    }
}

/// One index.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::debug) struct IndexView {
    pub(in crate::debug) name: String,
    /// The number of distinct values.
    pub(in crate::debug) values: usize,
    /// Objects that are missing because the function failed for them.
    pub(in crate::debug) failing: usize,
    pub(in crate::debug) failures: u64,
    pub(in crate::debug) last_failure_key: Option<String>,
    /// Only if messages are shown.
    pub(in crate::debug) last_failure_message: Option<String>,
}

impl IndexView {
    pub(super) fn new(status: &IndexStatus, messages: Messages) -> Self {
        Self {
            name: status.name.clone(),
            values: status.values,
            failing: status.failing,
            failures: status.failures,
            last_failure_key: status.last_key.as_ref().map(ToString::to_string),
            last_failure_message: messages.show(status.last_message.as_ref()),
        }
    }
}
