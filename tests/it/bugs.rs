//! Bugs of other projects, one test each: this library does not have them.
//!
//! `docs/reliability.md` lists the project and the effect of each bug. Bugs already covered by another test
//! of this workspace are listed only there.

mod delivery;
mod lost;
mod memory;
mod stuck;

use std::time::Duration;

use informer_core::{InitialState, SharedInformer};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::builder_of;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// Both ways to read the initial state.
const MODES: [InitialState; 2] = [InitialState::WatchList, InitialState::List];

/// An informer over the ConfigMaps of a server with the given way to read its state, not started.
fn informer_by(initial: InitialState, server: &ApiServer) -> SharedInformer<ConfigMap> {
    let builder = builder_of(server.client());
    builder.initial_state(initial).build().unwrap()
}

/// The state of an informer as text.
fn state(informer: &SharedInformer<ConfigMap>) -> String {
    informer.status().state.to_string()
}
