//! Reads what exists into series: informers and their handlers, queues, controllers, leases.

use std::time::Duration;

use informer_core::controller::ControllerMetrics;
use informer_core::leader::LeaderStatus;
use informer_core::registry::Identified;
use informer_core::workqueue::QueueMetrics;
use informer_core::{HandlerEnded, HandlerState, HandlerStatus, InformerStatus, State};

use super::family::{Descriptor, Gathering};
use super::names;

/// How many digits of a resource version are shown, as in Kubernetes: so many are exact in floating point.
const VERSION_DIGITS: usize = 15;

/// The values of the label `state`.
const STATES: [&str; 9] = [
    "not_started",
    "listing",
    "live",
    "stalled",
    "backing_off",
    "forbidden",
    "not_found",
    "limit_reached",
    "other",
];

/// Reads an informer. One that has stopped has no series.
pub(super) fn informer(to: &mut Gathering, name: &str, identified: &Identified) {
    let status = identified.informer.status();
    if matches!(status.state, State::Stopped) {
        return;
    }
    let of = &identified.resource;
    let labels = [name, &of.group, &of.version, &of.resource, &identified.view];
    store(to, &labels, &status);
    requests(to, &labels, &status);
    for handler in &status.handlers {
        read_handler(to, &labels, handler);
    }
}

fn store(to: &mut Gathering, labels: &[&str; 5], status: &InformerStatus) {
    to.gauge(names::QUEUED_ITEMS, labels, status.queued);
    to.histogram(names::PROCESSING, labels, status.processing);
    let versions = status.versions.iter().filter_map(|(_, version)| digits(version?));
    if let Some(version) = versions.min() {
        to.gauge(names::STORE_VERSION, labels, version);
    }
    to.gauge(names::SYNCED, labels, usize::from(status.synced));
    let present = state(&status.state);
    for state in STATES {
        let labels = with(labels, state);
        to.gauge(names::STATE, &labels, usize::from(state == present));
    }
    if let Some(age) = status.age {
        to.number(names::STALENESS, labels, age.as_secs_f64());
    }
    to.gauge(names::OBJECTS, labels, status.objects);
    let bytes = usize::try_from(status.approximate_bytes).unwrap_or(usize::MAX);
    to.gauge(names::BYTES, labels, bytes);
    to.gauge(names::STALE_OBJECTS, labels, status.stale.len());
}

fn requests(to: &mut Gathering, labels: &[&str; 5], status: &InformerStatus) {
    let counts = status.counts();
    to.count(names::LISTS, labels, counts.lists);
    if let Some(list) = status.last_list() {
        to.number(names::LIST_DURATION, labels, list.took.as_secs_f64());
    }
    for (reason, count) in counts.relists.iter() {
        to.count(names::RELISTS, &with(labels, reason.as_str()), count);
    }
    to.count(names::WATCHES, labels, counts.watches);
    let known = counts.added + counts.modified + counts.deleted + counts.bookmarks;
    let by_type = [
        ("added", counts.added),
        ("modified", counts.modified),
        ("deleted", counts.deleted),
        ("bookmark", counts.bookmarks),
        ("other", counts.events.saturating_sub(known)),
    ];
    for (kind, count) in by_type {
        to.count(names::EVENTS, &with(labels, kind), count);
    }
    to.count(names::ERRORS, labels, counts.errors);
    to.count(names::DECODE_FAILURES, labels, counts.undecodable);
    to.count(names::TRANSFORM_FAILURES, labels, status.transform_failures);
    to.count(names::OUTDATED, labels, counts.outdated);
    to.count(names::OUT_OF_SCOPE, labels, counts.out_of_scope);
    to.count(names::REWINDS, labels, counts.rewinds);
}

fn read_handler(to: &mut Gathering, labels: &[&str; 5], handler: &HandlerStatus) {
    let labels = with(labels, &handler.name);
    to.gauge(names::HANDLER_PENDING, &labels, handler.depth);
    to.number(names::HANDLER_OLDEST, &labels, seconds(handler.oldest));
    to.number(names::HANDLER_BUSY, &labels, seconds(handler.busy_for));
    to.histogram(names::HANDLER_DURATION, &labels, handler.call_durations);
    to.count(names::HANDLER_PANICS, &labels, handler.panics);
    let is_connected = handler.state != HandlerState::Ended(HandlerEnded::Disconnected);
    to.gauge(names::HANDLER_CONNECTED, &labels, usize::from(is_connected));
}

pub(super) fn queue(to: &mut Gathering, name: &str, queue: &QueueMetrics) {
    let (labels, status) = ([name], &queue.status);
    to.gauge(names::QUEUE_DEPTH, &labels, status.ready);
    to.gauge(names::QUEUE_DELAYED, &labels, status.delayed);
    to.count(names::QUEUE_ADDS, &labels, status.adds);
    to.histogram(names::QUEUE_DURATION, &labels, queue.waits);
    to.histogram(names::QUEUE_WORK, &labels, queue.work);
    to.number(names::QUEUE_UNFINISHED, &labels, status.unfinished.as_secs_f64());
    to.number(names::QUEUE_LONGEST, &labels, seconds(status.longest_running));
    to.count(names::QUEUE_RETRIES, &labels, status.retries);
}

pub(super) fn controller(to: &mut Gathering, controller: &ControllerMetrics) {
    let name = controller.name.as_str();
    queue(to, name, &controller.queue);
    let totals = &controller.totals;
    let by_result = [
        ("success", totals.succeeded),
        ("error", totals.failed),
        ("panic", totals.panicked),
        ("timeout", totals.timed_out),
        ("cancelled", totals.cancelled),
    ];
    for (result, count) in by_result {
        to.count(names::RECONCILES, &[name, result], count);
    }
    to.histogram(names::RECONCILE_DURATION, &[name], controller.durations);
    let keys: [(&'static Descriptor, usize); 3] = [
        (names::RUNNING_KEYS, controller.running),
        (names::WAITING_KEYS, controller.waiting),
        (names::FAILING_KEYS, controller.failing),
    ];
    for (descriptor, keys) in keys {
        to.gauge(descriptor, &[name], keys);
    }
    to.count(names::UNCONFIRMED_WRITES, &[name], totals.unconfirmed_writes);
}

pub(super) fn leader(to: &mut Gathering, lease: &str, status: &LeaderStatus) {
    to.gauge(names::LEADER, &[lease], usize::from(status.is_self));
    to.number(names::LEADER_TRANSITIONS, &[lease], f64::from(status.transitions));
}

fn with<'a>(labels: &[&'a str; 5], more: &'a str) -> [&'a str; 6] {
    let [name, group, version, resource, view] = *labels;
    [name, group, version, resource, view, more]
}

fn seconds(time: Option<Duration>) -> f64 {
    time.unwrap_or_default().as_secs_f64()
}

fn state(state: &State) -> &'static str {
    match state {
        State::NotStarted => "not_started",
        State::Listing { .. } => "listing",
        State::Live => "live",
        State::Stalled => "stalled",
        State::BackingOff { .. } => "backing_off",
        State::Forbidden { .. } => "forbidden",
        State::NotFound { .. } => "not_found",
        State::LimitReached { .. } => "limit_reached",
        State::Paused => "paused",
        _ => "other",
    }
}

/// The last digits of a version. Versions need not be numbers: those have no metric.
fn digits(version: &informer_core::ResourceVersion) -> Option<usize> {
    let text = version.is_comparable().then(|| version.to_string())?;
    text.get(text.len().saturating_sub(VERSION_DIGITS)..)?
        .parse()
        .ok()
}
