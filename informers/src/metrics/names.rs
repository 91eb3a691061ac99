//! The table of all metrics. `docs/operating/metrics.md`, the dashboard and the alerts are checked against
//! it.

use super::family::{Descriptor, Kind, Merge};

/// The labels of an informer: those of Kubernetes' own `informer_*` metrics, and `view`, which separates
/// several informers of one resource.
macro_rules! informer_labels {
    ($($more:literal),*) => {
        &["name", "group", "version", "resource", "view" $(, $more)*]
    };
}

macro_rules! descriptors {
    ($($constant:ident = $kind:ident / $merge:ident, $name:literal, $labels:expr, $help:literal;)*) => {
        $(pub(super) const $constant: &Descriptor = &Descriptor {
            name: $name,
            kind: Kind::$kind,
            labels: $labels,
            help: $help,
            merge: Merge::$merge,
        };)*

        /// Every metric, in the order of the documentation.
        pub(super) const ALL: &[&Descriptor] = &[$($constant),*];
    };
}

descriptors! {
    QUEUED_ITEMS = Gauge / Sum, "informer_queued_items", informer_labels!(),
        "Changes that were received and wait to be committed to the store";
    PROCESSING = Histogram / Sum, "informer_processing_latency_seconds", informer_labels!(),
        "Time to commit a batch of changes and to hand it to the buffers of the handlers";
    STORE_VERSION = Gauge / Max, "informer_store_resource_version", informer_labels!(),
        "Resource version of the store, its last 15 digits; of several namespaces, the oldest";
    SYNCED = Gauge / Max, "informer_synced", informer_labels!(),
        "1 if the store has had the complete initial state, else 0";
    STATE = Gauge / Max, "informer_state", informer_labels!("state"),
        "1 for the present state, 0 for the others; of several namespaces, the least healthy state";
    STALENESS = Gauge / Max, "informer_staleness_seconds", informer_labels!(),
        "Age of the data in the store; of several namespaces, the oldest. Absent before the first commit";
    OBJECTS = Gauge / Sum, "informer_store_objects", informer_labels!(),
        "Objects in the store";
    BYTES = Gauge / Sum, "informer_store_bytes", informer_labels!(),
        "Approximate memory of the objects in the store";
    STALE_OBJECTS = Gauge / Sum, "informer_stale_objects", informer_labels!(),
        "Objects whose newest state could not be used, so that the store has an older one or none";
    LISTS = Counter / Sum, "informer_lists_total", informer_labels!(),
        "Complete reads of the whole state, by list or by watch-list";
    LIST_DURATION = Gauge / Max, "informer_last_list_duration_seconds", informer_labels!(),
        "Duration of the last complete read of the whole state. Absent before the first";
    RELISTS = Counter / Sum, "informer_relists_total", informer_labels!("reason"),
        "Reads of the whole state after the first complete one, by reason";
    WATCHES = Counter / Sum, "informer_watches_total", informer_labels!(),
        "Opened watches";
    EVENTS = Counter / Sum, "informer_events_total", informer_labels!("type"),
        "Events received in watches, by type";
    ERRORS = Counter / Sum, "informer_errors_total", informer_labels!(),
        "Failed lists and watches";
    DECODE_FAILURES = Counter / Sum, "informer_decode_failures_total", informer_labels!(),
        "Objects that could not be decoded";
    TRANSFORM_FAILURES = Counter / Sum, "informer_transform_failures_total", informer_labels!(),
        "Objects whose transform failed, panicked or changed the name";
    OUTDATED = Counter / Sum, "informer_outdated_events_total", informer_labels!(),
        "Events that were dropped because the store had a newer version";
    OUT_OF_SCOPE = Counter / Sum, "informer_out_of_scope_total", informer_labels!(),
        "Objects and deletions of namespaces that were not requested; they were rejected";
    REWINDS = Counter / Sum, "informer_rewinds_total", informer_labels!(),
        "Times the server's history went back, as after an etcd restore";
    HANDLER_PENDING = Gauge / Sum, "informer_handler_pending_events", informer_labels!("handler"),
        "Events that wait for the handler";
    HANDLER_OLDEST = Gauge / Max, "informer_handler_oldest_event_seconds", informer_labels!("handler"),
        "How long the oldest waiting event has waited; 0 if none waits";
    HANDLER_BUSY = Gauge / Max, "informer_handler_busy_seconds", informer_labels!("handler"),
        "How long the handler has been inside its present call; 0 if it is idle";
    HANDLER_DURATION = Histogram / Sum, "informer_handler_duration_seconds", informer_labels!("handler"),
        "Duration of the calls of the handler";
    HANDLER_PANICS = Counter / Sum, "informer_handler_panics_total", informer_labels!("handler"),
        "Calls of the handler that panicked";
    HANDLER_CONNECTED = Gauge / Max, "informer_handler_connected", informer_labels!("handler"),
        "1 if the handler receives events, 0 if it fell behind and was disconnected";

    QUEUE_DEPTH = Gauge / Sum, "workqueue_depth", &["name"],
        "Keys that are ready to be taken";
    QUEUE_DELAYED = Gauge / Sum, "workqueue_delayed", &["name"],
        "Keys that become ready later: retries, requeues and debounced changes";
    QUEUE_ADDS = Counter / Sum, "workqueue_adds_total", &["name"],
        "Keys that were added, without those that were queued already";
    QUEUE_DURATION = Histogram / Sum, "workqueue_queue_duration_seconds", &["name"],
        "How long keys were ready before they were taken";
    QUEUE_WORK = Histogram / Sum, "workqueue_work_duration_seconds", &["name"],
        "How long keys were processed";
    QUEUE_UNFINISHED = Gauge / Sum, "workqueue_unfinished_work_seconds", &["name"],
        "How long the keys that are being processed have been processed, all together";
    QUEUE_LONGEST = Gauge / Max, "workqueue_longest_running_processor_seconds", &["name"],
        "How long the key that is being processed the longest has been processed";
    QUEUE_RETRIES = Counter / Sum, "workqueue_retries_total", &["name"],
        "Keys that were added with a delay";

    RECONCILES = Counter / Sum, "controller_reconcile_total", &["controller", "result"],
        "Finished reconciles, by result";
    RECONCILE_DURATION = Histogram / Sum, "controller_reconcile_duration_seconds", &["controller"],
        "Duration of reconciles, whatever their result";
    RUNNING_KEYS = Gauge / Sum, "controller_running_keys", &["controller"],
        "Keys that are being reconciled";
    WAITING_KEYS = Gauge / Sum, "controller_waiting_keys", &["controller"],
        "Keys that wait until the caches show their writes";
    FAILING_KEYS = Gauge / Sum, "controller_failing_keys", &["controller"],
        "Keys whose last reconcile failed";
    UNCONFIRMED_WRITES = Counter / Sum, "controller_unconfirmed_writes_total", &["controller"],
        "Writes that no cache showed within the deadline";

    LEADER = Gauge / Max, "leader_election_master_status", &["name"],
        "1 if this process holds the lease, else 0";
    LEADER_TRANSITIONS = Gauge / Max, "leader_election_transitions", &["name"],
        "How often the lease changed hands, as the lease says";
}
