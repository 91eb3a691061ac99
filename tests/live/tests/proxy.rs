//! An informer behind the fault proxy, on the embedded server: every fault really happens, and none leaves a
//! trace.
//!
//! Sockets are real, so time is too; nothing here is judged by it, but for a bound that only what hangs can
//! reach.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use informer_core::{InitialState, ReflectorConfig, SharedInformer};
use informer_it::recorder::{Recorder, version_of};
use informer_live::{FaultKind, FaultProfile, FaultProxy, Upstream};
use informer_testing::{ApiServer, Fault, FaultId, Rule};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

/// Reached only when something hangs.
const BOUND: Duration = Duration::from_secs(120);

/// What the second path to the server calls itself.
const STALE: &str = "stale";

/// So many objects of such a size are more than the server leaves uncompressed.
const OBJECTS: usize = 12;
const BULK: usize = 16 * 1024;

fn item(number: usize, size: usize) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(format!("item-{number}")),
            namespace: Some("default".to_owned()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("value".to_owned(), "x".repeat(size))])),
        ..ConfigMap::default()
    }
}

/// A server, a proxy before it, and an informer with a handler behind that.
struct Setup {
    server: ApiServer,
    proxy: FaultProxy,
    informer: SharedInformer<ConfigMap>,
    recorder: Recorder<ConfigMap>,
    random: SmallRng,
    lag: Option<FaultId>,
}

impl Setup {
    async fn new(seed: u64, profile: FaultProfile) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut server = ApiServer::builder().seed(seed).start();
        for number in 0..OBJECTS {
            server.create(&item(number, BULK)).unwrap();
        }
        let config = kube::Config::new(server.serve_http().await.unwrap().parse().unwrap());
        let upstream = Upstream::of(&config).unwrap();
        let stale = upstream.clone().user_agent(STALE);
        let proxy = FaultProxy::start_with_stale(seed, profile, upstream, stale)
            .await
            .unwrap();
        let client = informer_core::client::from_config(proxy.config(config)).unwrap();
        let mut reflector = ReflectorConfig::default();
        reflector.seed = Some(seed);
        reflector.initial = [InitialState::WatchList, InitialState::List][random.random_range(0..2)];
        reflector.backoff.initial = Duration::from_millis(10);
        reflector.backoff.cap = Duration::from_millis(50);
        let informer = SharedInformer::builder(client)
            .reflector(|_| reflector)
            .build()
            .unwrap();
        let (recorder, _) = Recorder::of(&informer).unwrap();
        informer.start().unwrap();
        Self {
            server,
            proxy,
            informer,
            recorder,
            random,
            lag: None,
        }
    }

    /// Changes something on the server, past the proxy.
    fn write(&mut self) {
        let number = self.random.random_range(0..OBJECTS * 2);
        let size = [10, 300, BULK][self.random.random_range(0..3)] + number;
        match self.random.random_range(0..4) {
            0 => {
                let _absent = self.server.delete(&item(number, 0));
            }
            1 => {
                let _absent = self.server.delete(&item(number, 0));
                self.server.create(&item(number, size)).unwrap();
            }
            _ => {
                if self.server.create(&item(number, size)).is_err() {
                    self.server.update(&item(number, size)).unwrap();
                }
            }
        }
        // The second server falls behind, catches up, and so on.
        if self.random.random_bool(0.1) {
            if let Some(lag) = self.lag.take() {
                self.server.faults().remove(lag);
            } else {
                let rule = Rule::new(Fault::Stale(self.server.revision()))
                    .when(|request| request.user_agent == STALE);
                self.lag = Some(self.server.faults().add(rule));
            }
        }
    }

    /// Ends the faults, waits until the cache equals the server, and checks the events of the handler.
    async fn end(self, context: &str) {
        self.proxy.calm();
        // Also ends the lag of the second server: a watch that is open on it would stay behind.
        self.server.faults().clear();
        let objects: Vec<ConfigMap> = self.server.objects();
        let there = versions(objects.iter());
        let start = Instant::now();
        loop {
            let cached = self.informer.indexer().list();
            let here = versions(cached.iter().map(|object| &**object));
            let believed = self
                .recorder
                .final_state()
                .unwrap_or_else(|why| panic!("{context}: {why}"));
            if here == there && believed == there {
                break;
            }
            assert!(
                start.elapsed() < BOUND,
                "{context}: {:#?} {here:?} {believed:?} {there:?}",
                self.informer.status()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.informer.shutdown().await;
        self.server.shutdown().await;
    }
}

fn versions<'a>(objects: impl Iterator<Item = &'a ConfigMap>) -> BTreeMap<String, String> {
    objects
        .map(|object| {
            let name = object.metadata.name.as_deref().unwrap();
            (format!("default/{name}"), version_of(object))
        })
        .collect()
}

/// One kind of fault on every request, until it has happened a few times.
async fn check(kind: FaultKind) {
    let mut setup = Setup::new(1, FaultProfile::only(kind)).await;
    let start = Instant::now();
    while setup.proxy.counts().get(&kind).is_none_or(|count| *count < 2) {
        assert!(
            start.elapsed() < BOUND,
            "{kind}: {:?} {:#?}",
            setup.proxy.counts(),
            setup.informer.status()
        );
        setup.write();
        // Some faults do not end a watch by themselves.
        if setup.random.random_bool(0.05) {
            setup.server.close_watches();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    setup.end(&kind.to_string()).await;
}

#[tokio::test]
async fn an_informer_recovers_from_cuts_in_objects_chunks_and_gzip_members() {
    for kind in [FaultKind::CutObject, FaultKind::CutChunk, FaultKind::CutGzip] {
        check(kind).await;
    }
}

#[tokio::test]
async fn an_informer_recovers_from_delays_stalls_and_resets() {
    for kind in [FaultKind::Delay, FaultKind::Stall, FaultKind::Reset] {
        check(kind).await;
    }
}

#[tokio::test]
async fn events_that_come_twice_are_delivered_once() {
    check(FaultKind::Duplicate).await;
}

#[tokio::test]
async fn an_informer_comes_back_after_refusals() {
    for kind in [
        FaultKind::TooManyRequests,
        FaultKind::InternalError,
        FaultKind::Unavailable,
        FaultKind::Expired,
    ] {
        check(kind).await;
    }
}

#[tokio::test]
async fn a_second_server_that_lags_takes_nothing_back() {
    check(FaultKind::Stale).await;
}

#[tokio::test]
async fn an_informer_comes_through_any_mixture_of_faults() {
    for seed in 0..8 {
        let mut setup = Setup::new(seed, FaultProfile::default()).await;
        for _ in 0..200 {
            setup.write();
            let pause = setup.random.random_range(0..20);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        setup.end(&format!("seed {seed}")).await;
    }
}

#[tokio::test]
async fn a_calm_proxy_harms_nothing() {
    let mut setup = Setup::new(1, FaultProfile::default()).await;
    setup.proxy.calm();
    let before = setup.proxy.counts();
    for _ in 0..50 {
        setup.write();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(setup.proxy.counts(), before);
    setup.end("calm").await;
}
