//! Our informer and client-go's on the same server with the same faults: both deliver true events, and every
//! difference has a reason.
//!
//! `cargo xtask e2e --differential --seed 7` runs one seed again. The events of both sides are kept in the
//! target folder, under `differential/seed-<number>`, as JSON lines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use informer_core::{InitialState, ReflectorConfig, SharedInformer};
use informer_it::recorder::Recorder;
use informer_live::{
    ADMIN, Cluster, Delivered, Differences, EventVerb, FaultKind, FaultProxy, Gaps, History, Oracle, Side,
    Upstream, compare, judge, target,
};
use k8s_openapi::api::core::v1::ConfigMap;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::OnceCell;

use crate::storms::{Laggard, add, fill, last_word, profile, seeds, table, write};
use crate::support::{BOUND, Room, shared};

/// The number of runs at a time.
const AT_A_TIME: usize = 4;

/// Builds the Go program, once. Where there is no Go, `cargo xtask e2e` leaves out the tests that call this.
pub(crate) async fn client_go() -> &'static Path {
    static PROGRAM: OnceCell<PathBuf> = OnceCell::const_new();
    PROGRAM.get_or_init(build).await
}

async fn build() -> PathBuf {
    let program = target().join("differential/client-go");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("client-go");
    let mut command = Command::new("go");
    command
        .args(["build", "-o"])
        .arg(&program)
        .arg(".")
        .current_dir(folder);
    let status = command
        .status()
        .await
        .expect("Go is not installed (https://go.dev/dl)");
    assert!(status.success(), "the program with client-go cannot be built");
    program
}

/// client-go's informer, in a separate process.
struct ClientGo {
    /// Kills it when dropped; it also ends by itself when its input does.
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    events: Vec<Delivered>,
}

impl ClientGo {
    fn start(program: &Path, room: &Room, url: &str, token: &str, initial: InitialState) -> Self {
        let mut command = Command::new(program);
        command
            .args(["-url", url.trim_end_matches('/'), "-namespace", &room.name])
            .env("TOKEN", token)
            .env(
                "KUBE_FEATURE_WatchListClient",
                (initial == InitialState::WatchList).to_string(),
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // It complains about every fault.
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()).lines(),
            _child: child,
            events: Vec::new(),
        }
    }

    /// What is in its store now.
    async fn store(&mut self) -> Vec<Delivered> {
        self.input.write_all(b"store\n").await.unwrap();
        let mut store = Vec::new();
        loop {
            let line = self.output.next_line().await.unwrap();
            let delivered: Delivered = serde_json::from_str(&line.expect("it ended by itself")).unwrap();
            match delivered.verb {
                EventVerb::End => return store,
                EventVerb::Store => store.push(delivered),
                EventVerb::Add | EventVerb::Update | EventVerb::Delete => self.events.push(delivered),
            }
        }
    }
}

/// Waits until a handler has received everything. Handlers receive events after the store has them.
fn believed(events: &[Delivered]) -> BTreeMap<String, (u64, String)> {
    let mut believed = BTreeMap::new();
    for event in events {
        match event.verb {
            EventVerb::Delete => believed.remove(&event.key),
            _ => believed.insert(event.key.clone(), version(event)),
        };
    }
    believed
}

fn version(delivered: &Delivered) -> (u64, String) {
    (delivered.rv.parse().unwrap(), delivered.uid.clone())
}

fn versions(store: &[Delivered]) -> BTreeMap<String, (u64, String)> {
    store
        .iter()
        .map(|delivered| (delivered.key.clone(), version(delivered)))
        .collect()
}

/// The token of the admin, from the kubeconfig.
fn token(cluster: &Cluster) -> String {
    let config = std::fs::read(cluster.kubeconfig().unwrap()).unwrap();
    let config: serde_json::Value = serde_json::from_slice(&config).unwrap();
    config["users"][0]["user"]["token"].as_str().unwrap().to_owned()
}

/// Keeps the events of one side, to analyse a failure.
fn keep(seed: u64, name: &str, lines: &[Delivered]) {
    let folder = target().join(format!("differential/seed-{seed}"));
    std::fs::create_dir_all(&folder).unwrap();
    let text: Vec<String> = lines
        .iter()
        .map(|line| serde_json::to_string(line).unwrap())
        .collect();
    std::fs::write(folder.join(format!("{name}.jsonl")), text.join("\n") + "\n").unwrap();
}

fn keep_history(seed: u64, history: &History) {
    let mut text = String::new();
    for key in history.keys() {
        for revision in history.of(key) {
            text.push_str(&format!("{key} {revision:?}\n"));
        }
    }
    std::fs::write(
        target().join(format!("differential/seed-{seed}/server.txt")),
        text,
    )
    .unwrap();
}

struct Outcome {
    faults: [BTreeMap<FaultKind, u64>; 2],
    events: [usize; 2],
    revisions: usize,
    differences: Differences,
}

/// One seed: the same writes, and for each side the same faults.
async fn run(cluster: &Cluster, laggard: &Laggard, program: &Path, seed: u64) -> Outcome {
    let mut random = SmallRng::seed_from_u64(seed);
    let room = Room::new(cluster, "differential").await;
    let oracle = Oracle::start(room.items()).await.unwrap();
    fill(&room).await;
    let config = cluster.config_as(ADMIN).unwrap();
    let upstream = Upstream::of(&config).unwrap();
    let stale = laggard.upstream();
    let proxy = async || {
        let started = FaultProxy::start_with_stale(seed, profile(), upstream.clone(), stale.clone());
        started.await.unwrap()
    };
    let (our_proxy, their_proxy) = (proxy().await, proxy().await);
    let initial = [InitialState::WatchList, InitialState::List][random.random_range(0..2)];

    let client = informer_core::client::from_config(our_proxy.config(config)).unwrap();
    let mut reflector = ReflectorConfig::default();
    reflector.seed = Some(seed);
    reflector.initial = initial;
    // As busy as client-go, which retries a broken watch without much of a wait.
    reflector.backoff.initial = Duration::from_millis(100);
    reflector.backoff.cap = Duration::from_secs(1);
    let builder = SharedInformer::<ConfigMap>::builder(client).reflector(|_| reflector);
    let informer = builder.namespace(&room.name).build().unwrap();
    let (recorder, _) = Recorder::of(&informer).unwrap();
    let url = their_proxy.url().to_string();
    let mut client_go = ClientGo::start(program, &room, &url, &token(cluster), initial);
    informer.start().unwrap();

    for _ in 0..200 {
        write(&room, &mut random).await;
    }
    our_proxy.calm();
    their_proxy.calm();
    let history = last_word(&room, &oracle).await;
    let start = Instant::now();
    let (ours, theirs, events) = loop {
        let list = informer.indexer().list();
        let ours: Vec<Delivered> = list.iter().map(|object| Delivered::stored(&**object)).collect();
        let theirs = client_go.store().await;
        let there = history.last();
        let events: Vec<Delivered> = recorder.events().iter().map(Delivered::of).collect();
        let is_same = versions(&ours) == there && versions(&theirs) == there;
        if is_same && believed(&events) == there && believed(&client_go.events) == there {
            break (ours, theirs, events);
        }
        assert!(
            start.elapsed() < BOUND,
            "seed {seed}: the stores are not as the server: {there:?}\nours {ours:?}\nclient-go's \
             {theirs:?}\n{:#?}",
            informer.status()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    };

    keep(seed, "ours", &[&events[..], &ours[..]].concat());
    keep(seed, "client-go", &[&client_go.events[..], &theirs[..]].concat());
    keep_history(seed, &history);
    let ours = judge(&history, &events).unwrap_or_else(|why| panic!("seed {seed}, ours: {why}"));
    let theirs = judge(&history, &client_go.events);
    let theirs = theirs.unwrap_or_else(|why| panic!("seed {seed}, client-go: {why}"));
    let (our_gaps, their_gaps) = (
        Gaps::between(&our_proxy.asked()),
        Gaps::between(&their_proxy.asked()),
    );
    for (name, gaps, account) in [("ours", &our_gaps, &ours), ("client-go", &their_gaps, &theirs)] {
        let explained = gaps.explain(&history, account);
        explained.unwrap_or_else(|why| panic!("seed {seed}, {name}: {why}"));
    }
    let our_side = Side {
        account: &ours,
        gaps: &our_gaps,
    };
    let their_side = Side {
        account: &theirs,
        gaps: &their_gaps,
    };
    let differences = compare(&history, &our_side, &their_side);
    informer.shutdown().await;
    Outcome {
        faults: [our_proxy.counts(), their_proxy.counts()],
        events: [events.len(), client_go.events.len()],
        revisions: history.len(),
        differences: differences.unwrap_or_else(|why| panic!("seed {seed}: {why}")),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_informers_tell_the_truth_and_differ_only_for_known_reasons() {
    let program = client_go().await;
    let cluster = shared().await;
    let laggard = Laggard::start(cluster).await;
    let seeds = seeds(2);
    let count = seeds.len();
    let runs = futures::stream::iter(seeds).map(|seed| run(cluster, &laggard, program, seed));
    let mut runs = runs.buffer_unordered(AT_A_TIME);
    let (mut ours, mut theirs, mut differences) = (BTreeMap::new(), BTreeMap::new(), Differences::new());
    let (mut events, mut revisions) = ([0, 0], 0);
    while let Some(outcome) = runs.next().await {
        let [our_faults, their_faults] = outcome.faults;
        add(&mut ours, our_faults);
        add(&mut theirs, their_faults);
        add(&mut differences, outcome.differences);
        events = [events[0] + outcome.events[0], events[1] + outcome.events[1]];
        revisions += outcome.revisions;
    }
    println!(
        "{count} runs, {revisions} revisions; events delivered: ours {}, client-go {}",
        events[0], events[1]
    );
    println!(
        "faults before ours:\n{}faults before client-go:\n{}differences:",
        table(&ours),
        table(&theirs)
    );
    for (reason, count) in &differences {
        println!("{reason:>44} {count:>7}");
    }
}
