//! Bugs that others have had, one test each, named after what went wrong: none of them is here.
//!
//! `docs/reliability.md` says whose bug each was and what its users saw. Bugs for which another test of this workspace fails as
//! surely are named only there.

mod lost;
mod memory;
mod stuck;
mod told;

use std::time::Duration;

use informer_core::{InitialState, SharedInformer};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// Both ways in which a state is read.
const MODES: [InitialState; 2] = [InitialState::WatchList, InitialState::List];

/// An informer over the ConfigMaps of a server that reads its state in one of the two ways, not started.
fn informer_by(initial: InitialState, server: &ApiServer) -> SharedInformer<ConfigMap> {
    let builder = SharedInformer::builder(server.client());
    builder.initial_state(initial).build().unwrap()
}

/// The state of an informer in a word.
fn state(informer: &SharedInformer<ConfigMap>) -> String {
    informer.status().state.to_string()
}
