//! The server restarted, paused and forgetful, and connections cut: afterwards the cache equals the server,
//! and the events of the handler are consistent.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use informer_core::source::SourceError;
use informer_core::{InitialState, SharedInformer, State};
use informer_it::recorder::Recorder;
use informer_live::{ADMIN, Cluster};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::support::{BOUND, Room, agree, eventually, item, options, shared, short_waits, start, until};
use crate::tap::{Gate, Tap};
use crate::wire::Wire;

/// How many names the writer uses: few enough that each is made and deleted again and again.
const NAMES: u32 = 20;

/// Creates, changes and deletes at random, and ignores failures.
struct Writer(JoinHandle<u64>, tokio::sync::watch::Sender<bool>);

impl Writer {
    fn start(room: &Room, seed: u64) -> Self {
        let (sender, receiver) = tokio::sync::watch::channel(false);
        let items = room.items();
        let work = async move {
            let mut random = SmallRng::seed_from_u64(seed);
            let mut done = 0;
            while !*receiver.borrow() {
                done += u64::from(write(&items, &mut random).await);
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            done
        };
        Self(tokio::spawn(work), sender)
    }

    /// Stops writing, and returns the number of successful writes.
    async fn stop(self) -> u64 {
        self.1.send_replace(true);
        let done = tokio::time::timeout(BOUND, self.0).await;
        done.expect("a write does not hang").unwrap()
    }
}

async fn write(items: &Api<ConfigMap>, random: &mut SmallRng) -> bool {
    let name = format!("item-{}", random.random_range(0..NAMES));
    let value = random.random::<u32>().to_string();
    let write = async {
        match random.random_range(0..3) {
            0 => items.delete(&name, &DeleteParams::default()).await.is_ok(),
            1 => {
                let item = item(&name, &value);
                items.create(&PostParams::default(), &item).await.is_ok()
            }
            _ => {
                let patch = Patch::Merge(json!({"data": {"value": value}}));
                let parameters = PatchParams::default();
                items.patch(&name, &parameters, &patch).await.is_ok()
            }
        }
    };
    // A request to a paused server would wait until it is resumed.
    tokio::time::timeout(Duration::from_secs(5), write)
        .await
        .unwrap_or(false)
}

/// An informer of a namespace's ConfigMaps, its recorded events, and the codes of its errors.
struct Watched {
    informer: SharedInformer<ConfigMap>,
    recorder: Recorder<ConfigMap>,
    codes: Arc<Mutex<Vec<u16>>>,
}

impl Watched {
    fn new(client: kube::Client, room: &Room, initial: InitialState) -> Self {
        let codes: Arc<Mutex<Vec<u16>>> = Arc::default();
        let met = codes.clone();
        let informer = SharedInformer::builder(client)
            .namespace(&room.name)
            .reflector(|_| short_waits())
            .initial_state(initial)
            .on_watch_error(move |_, error| {
                if let SourceError::Status { status } = error {
                    met.lock().unwrap().push(status.code);
                }
            })
            .build()
            .unwrap();
        let (recorder, _) = Recorder::of(&informer).unwrap();
        Self {
            informer,
            recorder,
            codes,
        }
    }

    /// One informer for each way to read the state, with separate connections.
    fn both(cluster: &Cluster, wire: &Wire, room: &Room) -> [Self; 2] {
        [InitialState::WatchList, InitialState::List]
            .map(|initial| Self::new(wire.client_as(cluster, ADMIN), room, initial))
    }

    async fn agree(&self, room: &Room) {
        agree(&self.informer, &self.recorder, &room.items()).await;
        until(&self.informer, "live", |status| {
            matches!(status.state, State::Live)
        })
        .await;
    }

    fn has_met(&self, code: u16) -> bool {
        self.codes.lock().unwrap().contains(&code)
    }
}

/// Waits for this many more events, so that a fault hits a working informer.
async fn more(watched: &Watched, count: usize) {
    let before = watched.recorder.len();
    eventually(async || match watched.recorder.len() - before {
        more if more >= count => Ok(()),
        more => Err(format!("only {more} of {count} events")),
    })
    .await;
}

async fn finish(watched: [Watched; 2], room: &Room, writer: Writer) {
    assert!(writer.stop().await > 0, "the test wrote nothing");
    for watched in watched {
        watched.agree(room).await;
        watched.informer.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_restarts_the_cache_is_what_the_server_has() {
    let mut cluster = Cluster::start(options()).await.unwrap();
    let room = Room::new(&cluster, "restart").await;
    let wire = Wire::to(&cluster).await;
    let watched = Watched::both(&cluster, &wire, &room);
    for watched in &watched {
        start(&watched.informer).await;
    }
    let writer = Writer::start(&room, 1);
    for round in 0..3 {
        for watched in &watched {
            more(watched, 20).await;
        }
        match round {
            1 => cluster.restart_apiserver().await.unwrap(),
            _ => cluster.restart().await.unwrap(),
        }
    }
    for watched in &watched {
        more(watched, 20).await;
    }
    finish(watched, &room, writer).await;
    cluster.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_compacted_away_is_read_anew() {
    let mut cluster = Cluster::start(options()).await.unwrap();
    let room = Room::new(&cluster, "compact").await;
    for name in ["kept", "changed", "deleted", "replaced"] {
        room.create(name, "1").await;
    }
    let wire = Wire::to(&cluster).await;
    let watched = Watched::both(&cluster, &wire, &room);
    for watched in &watched {
        start(&watched.informer).await;
    }

    wire.cut();
    room.update("changed", "2").await;
    room.delete("deleted").await;
    room.delete("replaced").await;
    room.create("replaced", "2").await;
    room.create("new", "1").await;
    cluster.compact().await.unwrap();
    // A new process has an empty watch cache.
    cluster.restart_apiserver().await.unwrap();
    wire.reconnect();

    for watched in &watched {
        watched.agree(&room).await;
        assert!(watched.has_met(410), "{:?}", watched.codes);
        let words = watched.recorder.summary();
        assert!(words.contains(&"missed deleted".to_owned()), "{words:?}");
        let replaced: Vec<&String> = words.iter().filter(|word| word.ends_with("replaced")).collect();
        assert_eq!(replaced, ["initial replaced", "missed replaced", "add replaced"]);
        watched.informer.shutdown().await;
    }
    cluster.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn history_that_vanishes_all_the_time_does_no_harm() {
    let mut options = options();
    // Without the watch cache, every list and watch of the server depends on etcd's history.
    options.flags = vec!["--watch-cache=false".to_owned()];
    let cluster = Cluster::start(options).await.unwrap();
    let room = Room::new(&cluster, "forgetful").await;
    let wire = Wire::to(&cluster).await;
    let watched = Watched::both(&cluster, &wire, &room);
    for watched in &watched {
        start(&watched.informer).await;
    }
    let writer = Writer::start(&room, 2);
    for _ in 0..5 {
        more(&watched[0], 10).await;
        wire.cut();
        tokio::time::sleep(Duration::from_millis(200)).await;
        cluster.compact().await.unwrap();
        wire.reconnect();
    }
    finish(watched, &room, writer).await;
    cluster.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_whose_next_page_was_compacted_away_is_begun_anew() {
    let mut options = options();
    options.flags = vec!["--watch-cache=false".to_owned()];
    let cluster = Cluster::start(options).await.unwrap();
    let room = Room::new(&cluster, "turned").await;
    for number in 0..30 {
        room.create(&format!("kept-{number}"), "1").await;
    }
    let tap = Tap::default();
    let gate = Gate::new();
    let client = gate.on(tap.on(cluster.client()));
    let informer = SharedInformer::<ConfigMap>::builder(client)
        .namespace(&room.name)
        .initial_state(InitialState::List)
        .page_size(10)
        .build()
        .unwrap();
    let (recorder, _) = Recorder::of(&informer).unwrap();
    informer.start().unwrap();
    tokio::time::timeout(BOUND, gate.reached()).await.unwrap();
    room.delete("kept-7").await;
    room.create("new", "1").await;
    cluster.compact().await.unwrap();
    gate.open();
    informer.synced_within(BOUND).await.unwrap();
    agree(&informer, &recorder, &room.items()).await;
    // The page is refused, and earlier pages are dropped: no object is delivered twice or lost.
    assert!(tap.seen().iter().any(|seen| seen.code == 410), "{:?}", tap.seen());
    assert!(
        !recorder.summary().contains(&"initial kept-7".to_owned()),
        "{:?}",
        recorder.summary()
    );
    informer.shutdown().await;
    cluster.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_pauses_is_waited_for() {
    let cluster = Cluster::start(options()).await.unwrap();
    let room = Room::new(&cluster, "pause").await;
    room.create("a", "1").await;
    let wire = Wire::to(&cluster).await;
    let [early, late] = Watched::both(&cluster, &wire, &room);
    start(&early.informer).await;

    // One informer has its watch open, the other one is about to ask.
    cluster.pause().unwrap();
    late.informer.start().unwrap();
    let writer = Writer::start(&room, 3);
    tokio::time::sleep(Duration::from_secs(8)).await;
    assert!(!late.informer.has_synced());
    assert_eq!(early.informer.indexer().len(), 1, "what was known stays");
    cluster.resume().unwrap();

    more(&early, 20).await;
    late.informer.synced_within(BOUND).await.unwrap();
    finish([early, late], &room, writer).await;
    cluster.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_are_cut_again_and_again_lose_nothing() {
    let cluster = shared().await;
    let room = Room::new(cluster, "cut").await;
    let wire = Wire::to(cluster).await;
    let watched = Watched::both(cluster, &wire, &room);
    for watched in &watched {
        start(&watched.informer).await;
    }
    let writer = Writer::start(&room, 4);
    for _ in 0..6 {
        for watched in &watched {
            more(watched, 10).await;
        }
        wire.interrupt();
    }
    for watched in &watched {
        // A broken watch is resumed: nothing had to be listed again.
        assert_eq!(watched.informer.status().scopes[0].counts.lists, 1);
    }
    finish(watched, &room, writer).await;
}

/// Behind a load balancer that closes every connection after some seconds, each watch is healthy and none
/// lives long. The waits between them must not grow: by the default settings, which the other tests here
/// shorten.
#[tokio::test(flavor = "multi_thread")]
async fn cuts_every_few_seconds_do_not_make_the_gaps_grow() {
    let cluster = shared().await;
    let room = Room::new(cluster, "balancer").await;
    room.create("a", "0").await;
    let wire = Wire::to(cluster).await;
    let informer = SharedInformer::<ConfigMap>::builder(wire.client_as(cluster, ADMIN))
        .namespace(&room.name)
        .build()
        .unwrap();
    let (recorder, _) = Recorder::of(&informer).unwrap();
    start(&informer).await;
    let cuts = async {
        for round in 0..12 {
            room.update("a", &format!("{round}.1")).await;
            room.update("a", &format!("{round}.2")).await;
            agree(&informer, &recorder, &room.items()).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            wire.interrupt();
        }
        agree(&informer, &recorder, &room.items()).await;
    };
    // Waits that double up to a minute would add up to seven.
    let done = tokio::time::timeout(BOUND, cuts).await;
    done.unwrap_or_else(|_| panic!("the gaps grow: {:#?}", informer.status()));
    assert_eq!(informer.status().scopes[0].counts.lists, 1);
    informer.shutdown().await;
}

/// The watch would be given up by its own timeout after five minutes at the earliest.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_vanishes_is_noticed_long_before_the_watch_times_out() {
    let cluster = shared().await;
    let room = Room::new(cluster, "vanished").await;
    room.create("a", "1").await;
    let wire = Wire::to(cluster).await;
    let watched = Watched::both(cluster, &wire, &room);
    for watched in &watched {
        start(&watched.informer).await;
    }
    wire.vanish();
    room.update("a", "2").await;
    room.create("b", "1").await;
    for watched in watched {
        watched.agree(&room).await;
        watched.informer.shutdown().await;
    }
}
