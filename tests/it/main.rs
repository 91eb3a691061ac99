//! The one integration binary of the workspace.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod audit;
mod bugs;
mod contract;
mod factory;
mod factory_dynamic;
mod factory_kinds;
mod factory_sync;
mod fifo;
mod fuzz;
mod guarantees;
mod handlers;
mod handlers_sync;
mod informer_events;
mod informer_faults;
mod informer_handlers;
mod informer_lifecycle;
mod informer_options;
mod informer_relist;
mod informer_removal;
mod informer_resync;
mod informer_status;
mod informer_transform;
mod informer_waits;
mod kinds;
mod namespaces;
mod queue;
mod queue_bounds;
mod queue_commit;
mod queue_support;
mod reflector;
mod reflector_cancel;
mod reflector_initial_events;
mod reflector_pages;
mod reflector_retry;
mod reflector_watch_list;
mod scenario;
mod scenario_script;
mod scenario_stage;
mod scripted;
mod storm;
mod support;
