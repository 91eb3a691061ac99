//! An informer over a scripted server, and the queries of tests.

use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use informer_core::source::{ListWatch, WatchEvent};
use informer_core::{
    EventStream, InitialState, Offload, ReflectorConfig, ScopeStatus, SharedInformer, SharedInformerBuilder,
    State,
};
use k8s_openapi::api::core::v1::Pod;
use tokio::time::Instant;

use super::{Body, Server, Source, describe, scripted, show};

/// Lets every task run until all of them wait. Costs one millisecond of the paused clock.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// An informer over a scripted server, and a listener to its events.
pub(crate) struct Rig {
    pub(crate) informer: SharedInformer<Pod>,
    pub(crate) server: Server,
    pub(crate) events: EventStream<Pod>,
}

/// The defaults with a fixed seed, so that a failure repeats.
pub(crate) fn config(initial: InitialState) -> ReflectorConfig {
    let mut config = ReflectorConfig::default();
    config.initial = initial;
    config.seed = Some(7);
    config
}

impl Rig {
    /// Starts an informer that reads its state by LIST.
    pub(crate) fn listing() -> Self {
        Self::with(config(InitialState::List), |builder| builder)
    }

    /// Starts an informer that reads its state by watch-list.
    pub(crate) fn watch_listing() -> Self {
        Self::with(config(InitialState::WatchList), |builder| builder)
    }

    pub(crate) fn with(
        config: ReflectorConfig,
        change: impl FnOnce(SharedInformerBuilder<Pod>) -> SharedInformerBuilder<Pod>,
    ) -> Self {
        let (source, server) = scripted();
        Self::over(source, server, config, change)
    }

    pub(crate) fn over(
        source: Source,
        server: Server,
        config: ReflectorConfig,
        change: impl FnOnce(SharedInformerBuilder<Pod>) -> SharedInformerBuilder<Pod>,
    ) -> Self {
        let builder = SharedInformer::builder_from_sources(vec![Arc::new(source) as Arc<dyn ListWatch<Pod>>])
            .reflector(|_| config)
            .offload(Offload::Inline);
        let informer = change(builder).build().expect("the settings of a test are valid");
        let events = informer.events();
        informer.start().expect("a test has a runtime");
        Self {
            informer,
            server,
            events,
        }
    }

    /// A rig whose first list was `pods` at `version`, and whose watch is open.
    pub(crate) async fn synced(version: &str, pods: &[&str]) -> (Self, Body<WatchEvent<Pod>>) {
        let mut rig = Self::listing();
        rig.server.list().await.page(version, pods);
        let watch = rig.server.watch().await.open();
        rig.received().await;
        rig.server.requests.clear();
        (rig, watch)
    }

    /// What was received since the last call, once nothing moves any more.
    pub(crate) async fn received(&mut self) -> Vec<String> {
        settle().await;
        let mut received = Vec::new();
        while let Some(Some(event)) = self.events.next().now_or_never() {
            received.push(describe(&event));
        }
        received
    }

    /// The store, once nothing moves any more.
    pub(crate) async fn store(&self) -> Vec<String> {
        settle().await;
        self.informer
            .indexer()
            .list()
            .iter()
            .map(|pod| show(pod))
            .collect()
    }

    /// The one scope's status, once nothing moves any more.
    pub(crate) async fn scope(&self) -> ScopeStatus {
        settle().await;
        self.informer.status().scopes.remove(0)
    }

    pub(crate) async fn state(&self) -> State {
        self.scope().await.state
    }

    /// The version of the store, once nothing moves any more.
    pub(crate) async fn version(&self) -> String {
        settle().await;
        self.informer
            .last_sync_resource_version()
            .map_or_else(|| "none".to_owned(), |version| version.to_string())
    }
}

/// How long something takes on the paused clock.
pub(crate) async fn timed<T>(future: impl Future<Output = T>) -> (Duration, T) {
    let begun = Instant::now();
    let done = future.await;
    (begun.elapsed(), done)
}
