//! Informers behind the fault proxy, through random writes and random faults, each a seed.
//!
//! `cargo xtask e2e --storms --seeds 0..100` plays a hundred; a failure names its seed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use futures::StreamExt as _;
use informer_core::{HandlerOptions, InitialState, Overflow, ReflectorConfig, SharedInformer};
use informer_it::recorder::Recorder;
use informer_live::{
    ADMIN, Cluster, Delivered, FaultKind, FaultProfile, FaultProxy, Gaps, History, Oracle, Replica, TcpRelay,
    Upstream, judge,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::support::{BOUND, Room, agree, eventually, item, shared};

/// How many storms rage at a time. Each waits most of the time.
const AT_A_TIME: usize = 6;

/// How many objects there are at the start, and how large: more together than the server leaves uncompressed.
const BULKY: usize = 14;
const BULK: usize = 16 * 1024;

/// How many names the writes choose from.
const NAMES: usize = 16;

/// How long the second server sees nothing new, and how long it may catch up.
const BEHIND: Duration = Duration::from_secs(3);
const CAUGHT_UP: Duration = Duration::from_secs(1);

/// The last thing that is written.
pub(crate) const LAST: &str = "last";

/// The seeds to run: `INFORMER_LIVE_SEEDS`, as `7` or `0..100`, or a few.
pub(crate) fn seeds(few: u64) -> Vec<u64> {
    let Ok(text) = std::env::var("INFORMER_LIVE_SEEDS") else {
        return (0..few).collect();
    };
    let number = |text: &str| text.parse().expect("seeds are written as `7` or `0..100`");
    match text.split_once("..") {
        Some((from, to)) => (number(from)..number(to)).collect(),
        None => vec![number(&text)],
    }
}

/// The faults of these tests: anywhere in the first objects.
pub(crate) fn profile() -> FaultProfile {
    let mut profile = FaultProfile::default();
    profile.unharmed = 0..40_000;
    profile
}

/// Fills a room before anyone looks.
pub(crate) async fn fill(room: &Room) {
    for number in 0..BULKY {
        room.create(&format!("item-{number}"), &"x".repeat(BULK)).await;
    }
}

/// One random write through a clean connection, and a pause.
pub(crate) async fn write(room: &Room, random: &mut SmallRng) {
    let name = format!("item-{}", random.random_range(0..NAMES));
    let size = [10, 500, BULK, BULK][random.random_range(0..4)];
    let value = format!("{}{}", random.random_range(0..1_000_000), "y".repeat(size));
    let items = room.items();
    let delete = DeleteParams::default();
    match random.random_range(0..5) {
        0 => {
            let _absent = items.delete(&name, &delete).await;
        }
        1 => {
            let _absent = items.delete(&name, &delete).await;
            room.create(&name, &value).await;
        }
        _ => match items.create(&PostParams::default(), &item(&name, &value)).await {
            Ok(_) => {}
            Err(_) => {
                room.update(&name, &value).await;
            }
        },
    }
    let pause = Duration::from_millis(random.random_range(0..80));
    tokio::time::sleep(pause).await;
}

/// Ends the history of a namespace, and returns it.
pub(crate) async fn last_word(room: &Room, oracle: &Oracle) -> History {
    room.create(LAST, "1").await;
    let key = format!("{}/{LAST}", room.name);
    oracle.until(&key, BOUND).await.unwrap()
}

/// A second server that falls behind again and again, as long as this lives.
pub(crate) struct Laggard {
    server: Replica<'static>,
    task: tokio::task::JoinHandle<()>,
}

impl Laggard {
    pub(crate) async fn start(cluster: &'static Cluster) -> Self {
        let etcd = cluster.etcd_url().port_u16().unwrap();
        let relay = TcpRelay::start(etcd).await.unwrap();
        let server = cluster.replica(relay.port()).await.unwrap();
        let task = tokio::spawn(async move {
            loop {
                relay.hold();
                tokio::time::sleep(BEHIND).await;
                relay.release();
                tokio::time::sleep(CAUGHT_UP).await;
            }
        });
        Self { server, task }
    }

    pub(crate) fn upstream(&self) -> Upstream {
        Upstream::of(&self.server.config().unwrap()).unwrap()
    }
}

impl Drop for Laggard {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One storm; gives what faults it had.
async fn storm(cluster: &Cluster, laggard: &Laggard, seed: u64) -> BTreeMap<FaultKind, u64> {
    let mut random = SmallRng::seed_from_u64(seed);
    let room = Room::new(cluster, "storm").await;
    let oracle = Oracle::start(room.items()).await.unwrap();
    fill(&room).await;

    let config = cluster.config_as(ADMIN).unwrap();
    let upstream = Upstream::of(&config).unwrap();
    let proxy = FaultProxy::start_with_stale(seed, profile(), upstream, laggard.upstream())
        .await
        .unwrap();
    let client = informer_core::client::from_config(proxy.config(config)).unwrap();
    let mut reflector = ReflectorConfig::default();
    reflector.seed = Some(seed);
    reflector.initial = [InitialState::WatchList, InitialState::List][random.random_range(0..2)];
    reflector.page_size = [None, Some(3)][random.random_range(0..2)];
    reflector.backoff.initial = Duration::from_millis(50);
    reflector.backoff.cap = Duration::from_millis(500);
    let informer = SharedInformer::<ConfigMap>::builder(client)
        .namespace(&room.name)
        .reflector(|_| reflector)
        .build()
        .unwrap();
    let (exact, _) = Recorder::of(&informer).unwrap();
    let tight = HandlerOptions::default()
        .buffer(2)
        .on_overflow(Overflow::Coalesce);
    let (folded, _) = Recorder::of_with(tight, &informer).unwrap();
    informer.start().unwrap();

    let mut late = None;
    for step in 0..120 {
        write(&room, &mut random).await;
        if step == 40 {
            late = Some(Recorder::of(&informer).unwrap().0);
        }
    }
    proxy.calm();
    let history = last_word(&room, &oracle).await;
    for (name, recorder) in [("exact", Some(exact)), ("folded", Some(folded)), ("late", late)] {
        let recorder = recorder.unwrap();
        agree(&informer, &recorder, &room.items()).await;
        let events: Vec<Delivered> = recorder.events().iter().map(Delivered::of).collect();
        let account = judge(&history, &events);
        let account = account.unwrap_or_else(|why| panic!("seed {seed}, handler {name}: {why}"));
        assert!(
            account.deviations.is_empty(),
            "seed {seed}, handler {name}: {:?}",
            account.deviations
        );
        // The others may have missed changes: one folds, one was added late.
        if name == "exact" {
            let explained = Gaps::between(&proxy.asked()).explain(&history, &account);
            explained.unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        }
    }
    informer.shutdown().await;
    proxy.counts()
}

/// A table of how often each fault happened.
pub(crate) fn table(counts: &BTreeMap<FaultKind, u64>) -> String {
    let mut text = String::new();
    for (kind, count) in counts {
        writeln!(text, "{kind:>24} {count:>7}").unwrap();
    }
    text
}

pub(crate) fn add<T: Ord>(total: &mut BTreeMap<T, u64>, counts: BTreeMap<T, u64>) {
    for (kind, count) in counts {
        *total.entry(kind).or_default() += count;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_server_that_is_held_up_answers_from_the_past() {
    let cluster = shared().await;
    let relay = TcpRelay::start(cluster.etcd_url().port_u16().unwrap())
        .await
        .unwrap();
    let server = cluster.replica(relay.port()).await.unwrap();
    let client = informer_core::client::from_config(server.config().unwrap()).unwrap();
    let room = Room::new(cluster, "past").await;
    let past: Api<ConfigMap> = Api::namespaced(client, &room.name);
    // Whatever is cached will do.
    let cached = ListParams::default().match_any();
    let count = async || past.list(&cached).await.unwrap().items.len();
    room.create("a", "1").await;
    eventually(async || match count().await {
        1 => Ok(()),
        count => Err(format!("{count} objects")),
    })
    .await;

    relay.hold();
    room.create("b", "1").await;
    assert_eq!(count().await, 1, "the second server sees what is held up");
    relay.release();
    eventually(async || match count().await {
        2 => Ok(()),
        count => Err(format!("{count} objects")),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn informers_come_through_storms() {
    let cluster = shared().await;
    let seeds = seeds(4);
    let runs = seeds.len();
    let laggard = Laggard::start(cluster).await;
    let storms = futures::stream::iter(seeds).map(|seed| storm(cluster, &laggard, seed));
    let mut storms = storms.buffer_unordered(AT_A_TIME);
    let mut total = BTreeMap::new();
    while let Some(counts) = storms.next().await {
        add(&mut total, counts);
    }
    println!(
        "{runs} storms without a violation, and their faults:\n{}",
        table(&total)
    );
}
