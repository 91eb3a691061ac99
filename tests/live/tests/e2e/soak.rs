//! Informers behind the fault proxy for a long time, while kube-apiserver is killed, etcd is compacted and
//! objects change: memory, tasks, threads, sockets and files are sampled.
//!
//! Ignored unless `cargo xtask soak` runs it, which also judges the samples and draws them.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use informer_core::{Event, HandlerOptions, Overflow, Registration, SharedInformer};
use informer_live::{ADMIN, Cluster, FaultProxy, Upstream};
use k8s_openapi::api::core::v1::ConfigMap;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::runtime::Handle;

use crate::storms::{fill, profile, table, write};
use crate::support::{Room, cached, eventually, options, short_waits};

/// How long the soak runs, in seconds, and where it writes its samples.
const SECONDS: &str = "INFORMER_LIVE_SOAK_SECONDS";
const SAMPLES: &str = "INFORMER_LIVE_SOAK_SAMPLES";

/// How many informers run side by side.
const INFORMERS: usize = 4;

/// How often the oldest informer is stopped and another one started.
const RENEW: Duration = Duration::from_secs(15);

/// How often etcd forgets its history, and how often kube-apiserver is killed and started again.
const COMPACT: Duration = Duration::from_secs(45);
const KILL: Duration = Duration::from_secs(100);

/// The pause between two writes, beside the one that each write has: the machine should not be busy.
const PAUSE: Duration = Duration::from_millis(60);

/// The number of samples, however long it runs.
const POINTS: u32 = 240;

/// How many tasks and sockets more than before may be left when all informers have ended: the connections of
/// the client that writes.
const LEFT: usize = 4;

#[ignore = "runs for as long as `cargo xtask soak` sets"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resources_are_sampled_while_writes_and_faults_go_on() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let time = Duration::from_secs(number(SECONDS).unwrap_or(60));
    let path = PathBuf::from(std::env::var(SAMPLES).expect("`cargo xtask soak` sets it"));
    // Not the cluster that is shared: it is killed.
    let mut cluster = Cluster::start(options()).await.unwrap();
    let room = Room::new(&cluster, "soak").await;
    fill(&room).await;
    let before = Sample::now(Duration::ZERO, &Work::default());
    let mut storm = Storm::start(&cluster, &room).await;

    let begun = Instant::now();
    let mut random = SmallRng::seed_from_u64(1);
    let mut work = Work::default();
    let mut samples = Sample::heading();
    let mut sampling = Every::new(time / POINTS);
    let [mut renewals, mut compactions, mut kills] = [RENEW, COMPACT, KILL].map(Every::new);
    while begun.elapsed() < time {
        write(&room, &mut random).await;
        work.writes += 1;
        storm.disturb(&mut random);
        if renewals.is_due() {
            storm.renew(&room).await;
            work.renewals += 1;
        }
        if compactions.is_due() {
            cluster.compact().await.unwrap();
            work.compactions += 1;
        }
        if kills.is_due() {
            cluster.restart_apiserver().await.unwrap();
            work.kills += 1;
        }
        if sampling.is_due() {
            work.requests = storm.proxy.requests();
            work.faults = storm.proxy.counts().values().sum();
            Sample::now(begun.elapsed(), &work).write(&mut samples);
            std::fs::write(&path, &samples).unwrap();
        }
        tokio::time::sleep(PAUSE).await;
    }
    storm.proxy.calm();
    for (informer, _) in &storm.informers {
        cached(informer, &room.items()).await;
    }
    eprintln!("{}{work:?}", table(&storm.proxy.counts()));
    storm.end().await;
    eventually(async || {
        let after = Sample::now(Duration::ZERO, &work);
        match after.tasks <= before.tasks + LEFT && after.sockets <= before.sockets + LEFT {
            true => Ok(()),
            false => Err(format!(
                "left after all informers ended: {after:?}, before: {before:?}"
            )),
        }
    })
    .await;
}

/// What was done so far.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    writes: u64,
    requests: u64,
    faults: u64,
    renewals: u64,
    compactions: u64,
    kills: u64,
}

/// Something that is due again and again. What was missed is not made up for.
struct Every {
    period: Duration,
    last: Instant,
}

impl Every {
    fn new(period: Duration) -> Self {
        let last = Instant::now();
        Self { period, last }
    }

    fn is_due(&mut self) -> bool {
        let is_due = self.last.elapsed() >= self.period;
        if is_due {
            self.last = Instant::now();
        }
        is_due
    }
}

/// The informers and the proxy before them.
struct Storm {
    proxy: FaultProxy,
    client: kube::Client,
    informers: Vec<(SharedInformer<ConfigMap>, Vec<Registration>)>,
}

impl Storm {
    async fn start(cluster: &Cluster, room: &Room) -> Self {
        let config = cluster.config_as(ADMIN).unwrap();
        let upstream = Upstream::of(&config).unwrap();
        let proxy = FaultProxy::start(1, profile(), upstream).await.unwrap();
        let client = informer_core::client::from_config(proxy.config(config)).unwrap();
        let mut storm = Self {
            proxy,
            client,
            informers: Vec::new(),
        };
        for _ in 0..INFORMERS {
            storm.add(room);
        }
        storm
    }

    /// Starts an informer with an index, a resync and two handlers, one of which is slow.
    fn add(&mut self, room: &Room) {
        let informer = SharedInformer::<ConfigMap>::builder(self.client.clone())
            .namespace(&room.name)
            .reflector(|_| short_waits())
            .resync(Duration::from_secs(5))
            .label_index("app")
            .build()
            .unwrap();
        let fast = informer.add_handler(|_: Event<ConfigMap>| {});
        let tight = HandlerOptions::default()
            .buffer(4)
            .on_overflow(Overflow::Coalesce);
        let slow = informer.add_handler_with(tight, |_: Event<ConfigMap>| {
            std::thread::sleep(Duration::from_millis(5));
        });
        informer.start().unwrap();
        self.informers
            .push((informer, vec![fast.unwrap(), slow.unwrap()]));
    }

    /// Stops the oldest informer and starts another one.
    async fn renew(&mut self, room: &Room) {
        let (oldest, _) = self.informers.remove(0);
        oldest.shutdown().await;
        self.add(room);
    }

    /// Adds and removes handlers, and holds a snapshot for a moment.
    fn disturb(&mut self, random: &mut SmallRng) {
        let place = random.random_range(0..self.informers.len());
        let (informer, handlers) = &mut self.informers[place];
        let held = informer.indexer().snapshot();
        if random.random_bool(0.1) {
            handlers.push(informer.add_handler(|_: Event<ConfigMap>| {}).unwrap());
        }
        if handlers.len() > 4 {
            drop(handlers.remove(2).remove());
        }
        drop(held);
    }

    /// Stops everything.
    async fn end(self) {
        for (informer, _) in &self.informers {
            informer.shutdown().await;
        }
    }
}

/// What the process uses at one moment, and what was done until then.
#[derive(Debug)]
struct Sample {
    at: Duration,
    memory: f64,
    tasks: usize,
    threads: usize,
    sockets: usize,
    files: usize,
    work: Work,
}

impl Sample {
    fn heading() -> String {
        "seconds\tmemory MiB\ttasks\tthreads\tsockets\tfiles\twrites\trequests\tfaults\tkills\n".to_owned()
    }

    fn now(at: Duration, work: &Work) -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = |name: &str| -> f64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let word = line.and_then(|line| line.split_whitespace().next());
            word.and_then(|word| word.parse().ok()).unwrap_or(0.0)
        };
        let files = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
        // One that is closed meanwhile has no target.
        let targets = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        let targets: Vec<PathBuf> = targets.collect();
        let is_socket = |target: &&PathBuf| target.to_string_lossy().starts_with("socket:");
        Self {
            at,
            memory: line("VmRSS:") / 1024.0,
            tasks: Handle::current().metrics().num_alive_tasks(),
            threads: line("Threads:") as usize,
            sockets: targets.iter().filter(is_socket).count(),
            files: targets.len(),
            work: *work,
        }
    }

    fn write(&self, text: &mut String) {
        let Self {
            at,
            memory,
            tasks,
            threads,
            sockets,
            files,
            work,
        } = self;
        let seconds = at.as_secs_f64();
        write!(
            text,
            "{seconds:.1}\t{memory:.1}\t{tasks}\t{threads}\t{sockets}\t{files}"
        )
        .unwrap();
        let Work {
            writes,
            requests,
            faults,
            kills,
            ..
        } = work;
        writeln!(text, "\t{writes}\t{requests}\t{faults}\t{kills}").unwrap();
    }
}
