//! The one integration binary of the workspace.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

// Here `#[tokio::test]` and `#[test]` are those of this package's library: the same, and a watchdog that
// names a test that hangs and ends the process. Tests are written as usual, so none can omit it.
#[macro_use]
extern crate informer_it_macros;
extern crate informer_it as tokio;

mod audit;
mod bugs;
mod contract;
mod controller_logs;
mod controllers;
mod factory;
mod factory_dynamic;
mod factory_gives_up;
mod factory_kinds;
mod factory_sync;
mod fifo;
mod formats;
mod fuzz;
mod guarantees;
mod handlers;
mod handlers_sync;
mod hanging;
mod informer_changes;
mod informer_events;
mod informer_fast_streams;
mod informer_faults;
mod informer_handlers;
mod informer_lifecycle;
mod informer_logs;
mod informer_options;
mod informer_relist;
mod informer_removal;
mod informer_resync;
mod informer_scopes;
mod informer_spans;
mod informer_status;
mod informer_storage;
mod informer_transform;
mod informer_untyped;
mod informer_waits;
mod informer_writes;
mod kinds;
mod leader;
mod managers;
mod namespaces;
mod operating;
mod options;
mod pinned;
mod queue;
mod queue_bounds;
mod queue_commit;
mod queue_support;
mod recorder_tests;
mod reflector;
mod reflector_cancel;
mod reflector_health;
mod reflector_initial_events;
mod reflector_pages;
mod reflector_retry;
mod reflector_watch_list;
mod requests_budget;
mod scenario;
mod scenario_script;
mod scenario_setup;
mod scripted;
mod storm;
mod support;
mod total_bytes;
mod warm_start;
