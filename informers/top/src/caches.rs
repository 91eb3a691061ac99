//! The informers of all kinds, and their status as rows.

use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt as _};
use informers::error::{FactoryBuildError, ResourceError};
use informers::{InformerStatus, SharedInformer, SharedInformerFactory, State};
use kube::core::{DynamicObject, PartialObjectMeta};
use tokio::time::Instant;

use crate::kinds::Kind;
use crate::row::{Health, Rate, Row};
use crate::sizes;

/// How long the size of a kind stays as it was estimated.
const SIZE_LASTS: Duration = Duration::from_secs(300);
/// How many sizes are estimated at once.
const ESTIMATES: usize = 4;

/// The informers of all kinds.
pub(crate) struct Caches {
    client: kube::Client,
    factory: SharedInformerFactory,
    /// Where sizes are estimated: the first namespace, or all.
    namespace: Option<String>,
    start: Instant,
    kinds: Vec<Watched>,
    /// Estimates that are being made, each with the position of its kind.
    estimates: FuturesUnordered<BoxFuture<'static, (usize, Option<u64>)>>,
}

struct Watched {
    kind: Kind,
    /// An error if the server has a kind with an unusable name.
    informer: Result<SharedInformer<PartialObjectMeta<DynamicObject>>, ResourceError>,
    rate: Rate,
    size: Option<u64>,
    estimated: Option<Instant>,
}

impl Caches {
    /// Starts an informer of metadata for each kind. The factory limits how many of them read their initial
    /// state at once, so that the server is not flooded.
    ///
    /// # Errors
    /// If a namespace is not valid.
    pub(crate) fn start(
        client: kube::Client,
        kinds: Vec<Kind>,
        namespaces: &[String],
    ) -> Result<Self, FactoryBuildError> {
        let mut builder = SharedInformerFactory::builder(client.clone());
        if !namespaces.is_empty() {
            builder = builder.namespaces(namespaces);
        }
        let factory = builder.build()?;
        let watched = kinds.into_iter().map(|kind| Watched {
            informer: factory.metadata_for_resource(&kind.resource),
            kind,
            rate: Rate::default(),
            size: None,
            estimated: None,
        });
        let kinds = watched.collect();
        factory.start();
        Ok(Self {
            factory,
            client,
            namespace: namespaces.first().cloned(),
            start: Instant::now(),
            kinds,
            estimates: FuturesUnordered::new(),
        })
    }

    /// Returns the present rows, and begins estimates of sizes that are due.
    pub(crate) fn update(&mut self) -> Vec<Row> {
        let at = self.start.elapsed();
        let rows: Vec<Row> = self.kinds.iter_mut().map(|watched| watched.row(at)).collect();
        self.estimate(&rows);
        rows
    }

    /// Begins estimates of sizes that are due, a few at a time.
    fn estimate(&mut self, rows: &[Row]) {
        let is_due = |watched: &Watched| watched.estimated.is_none_or(|at| at.elapsed() > SIZE_LASTS);
        let has_objects = |row: &Row| row.objects > 0 && row.health == Health::Good;
        let due = self.kinds.iter_mut().zip(rows).enumerate();
        let due = due.filter(|(_, (watched, row))| has_objects(row) && is_due(watched));
        for (position, (watched, _)) in due.take(ESTIMATES.saturating_sub(self.estimates.len())) {
            watched.estimated = Some(Instant::now());
            let (client, resource) = (self.client.clone(), watched.kind.resource.clone());
            let average = sizes::average(client, resource, self.namespace.clone());
            self.estimates
                .push(Box::pin(async move { (position, average.await) }));
        }
    }

    /// Waits for the end of an estimate; for ever if none is being made. Cancel safe.
    pub(crate) async fn estimated(&mut self) {
        match self.estimates.next().await {
            Some((position, size)) => {
                if let Some(watched) = self.kinds.get_mut(position) {
                    watched.size = size.or(watched.size);
                }
            }
            None => std::future::pending().await,
        }
    }

    /// Stops all informers.
    pub(crate) async fn shutdown(self) {
        // A busy server must not delay the end.
        let _stopped = self.factory.shutdown_timeout(Duration::from_secs(2)).await;
    }
}

impl Watched {
    fn row(&mut self, at: Duration) -> Row {
        let kind = self.kind.name();
        let informer = match &self.informer {
            Ok(informer) => informer,
            Err(error) => {
                return Row {
                    kind,
                    state: "unusable".to_owned(),
                    health: Health::Bad,
                    note: error.to_string(),
                    ..Row::default()
                };
            }
        };
        let status = informer.status();
        let counts = status.counts();
        let changes = counts.added + counts.modified + counts.deleted;
        let objects = u64::try_from(status.objects).unwrap_or(u64::MAX);
        let (state, health) = state(&status);
        Row {
            kind,
            objects,
            rate: self.rate.update(at, changes),
            changes,
            bytes: self.size.map(|size| size.saturating_mul(objects)),
            age: status.age,
            errors: counts.errors,
            state,
            health,
            note: note(&status, health),
        }
    }
}

/// The state in a few words: the table has little room.
fn state(status: &InformerStatus) -> (String, Health) {
    let (text, health) = match &status.state {
        State::NotStarted => ("not started", Health::Starting),
        State::Listing { received: 0, .. } => ("listing", Health::Starting),
        State::Listing { received, .. } => return (format!("list {received}"), Health::Starting),
        // The watch is open, and what it began with is not in the cache yet.
        State::Live if !status.synced => ("listing", Health::Starting),
        State::Live => ("live", Health::Good),
        State::Stalled => ("stalled", Health::Bad),
        State::BackingOff { error, .. } => {
            let code = error.status().map(|status| status.code);
            let text = code.map_or("unreachable".to_owned(), |code| format!("failing {code}"));
            return (text, Health::Bad);
        }
        State::Forbidden { .. } => ("forbidden", Health::Bad),
        State::NotFound { .. } => ("not found", Health::Bad),
        State::LimitReached { .. } => ("limit", Health::Bad),
        State::Stopped => ("stopped", Health::Bad),
        _ => ("unknown", Health::Bad),
    };
    (text.to_owned(), health)
}

/// The state in full with what to do, or what has happened so far if all is well.
fn note(status: &InformerStatus, health: Health) -> String {
    if health != Health::Good {
        return status.state.to_string();
    }
    let counts = status.counts();
    let took = status
        .last_list()
        .map_or(String::new(), |list| format!(", the last in {:.1?}", list.took));
    format!(
        "{}; {} added, {} modified, {} deleted; lists: {}{took}; watches: {}; bookmarks: {}",
        status.state,
        counts.added,
        counts.modified,
        counts.deleted,
        counts.lists,
        counts.watches,
        counts.bookmarks
    )
}

#[cfg(test)]
mod tests {
    use informer_testing::{ApiServer, Fault, Rule};
    use serde_json::json;

    use super::*;
    use crate::kinds::{choose, discover};

    /// Updates until the rows are as wanted, and returns them by kind.
    async fn until(caches: &mut Caches, is_wanted: impl Fn(&[Row]) -> bool) -> Vec<Row> {
        for _ in 0..1_000 {
            let rows = caches.update();
            if is_wanted(&rows) {
                return rows;
            }
            tokio::select! {
                () = caches.estimated() => {}
                () = tokio::time::sleep(Duration::from_millis(100)) => {}
            }
        }
        panic!("the rows did not become as wanted: {:#?}", caches.update());
    }

    #[tokio::test(start_paused = true)]
    async fn rows_show_changes_sizes_and_kinds_that_are_forbidden() {
        let server = ApiServer::start();
        let map = |text: &str| {
            json!({ "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "namespace": "web", "name": "a" }, "data": { "text": text } })
        };
        server.create(&map("")).unwrap();
        server
            .faults()
            .add(Rule::new(Fault::Forbidden).resource("secrets"));
        let all = discover(&server.client()).await.unwrap();
        let chosen = choose(all, &[], &[], 100);
        let mut caches = Caches::start(server.client(), chosen.kinds, &[]).unwrap();
        let is_settled = |rows: &[Row]| rows.iter().all(|row| row.health != Health::Starting);
        let rows = until(&mut caches, is_settled).await;
        let bad: Vec<_> = rows.iter().filter(|row| row.health == Health::Bad).collect();
        assert_eq!(
            (bad.len(), bad[0].kind.as_str(), bad[0].state.as_str()),
            (1, "secrets", "forbidden")
        );
        assert!(bad[0].note.contains("add the rule"), "{}", bad[0].note);

        server.update(&map(&"x".repeat(5_000))).unwrap();
        server.update(&map(&"y".repeat(5_000))).unwrap();
        let of_maps = |rows: &[Row]| rows.iter().find(|row| row.kind == "configmaps").cloned().unwrap();
        let rows = until(&mut caches, |rows| {
            let maps = of_maps(rows);
            maps.changes == 2 && maps.bytes.is_some()
        });
        let maps = of_maps(&rows.await);
        assert_eq!((maps.objects, maps.state.as_str()), (1, "live"));
        assert!(maps.rate > 0.0 && maps.bytes > Some(100), "{maps:?}");
        caches.shutdown().await;
        assert_eq!(server.watchers(), 0);
    }
}
