//! Many informers that share a request budget: when they start, while the server is away and when it
//! returns.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;
use informer_core::{
    InitialState, ReflectorConfig, RequestBudget, RequestBudgetOptions, SharedInformer, State,
};
use informer_live::{ADMIN, Cluster, FaultProfile, FaultProxy, Upstream, WatchList};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::time::Instant;

use crate::support::{BOUND, Room, eventually, options, shared, short_waits, watch_list};

const INFORMERS: usize = 100;

/// The budget under test: starts per second, and starts at once after a quiet time.
const RATE: u32 = 10;
const BURST: u32 = 10;

/// How long the server is away, at least: long enough for every informer to fail more than once.
const OUTAGE: Duration = Duration::from_secs(15);

/// How long a request takes to arrive at the proxy on a busy machine, at most.
const SLOW: Duration = Duration::from_secs(2);

const SAMPLE_EVERY: Duration = Duration::from_millis(50);

/// How long no further request may come. Longer than all delays of the default budget, and shorter than the
/// 30 s after which a read starts without its turn.
const QUIET: Duration = Duration::from_secs(2);

/// With one request for each read: a server without watch lists would refuse the first of two.
fn reading() -> ReflectorConfig {
    let mut config = short_waits();
    if watch_list() == WatchList::Off {
        config.initial = InitialState::List;
    }
    config
}

/// One informer for each namespace behind a proxy that counts their requests.
struct Group {
    proxy: FaultProxy,
    informers: Vec<SharedInformer<ConfigMap>>,
}

impl Group {
    async fn start(cluster: &Cluster, rooms: &[Room], budget: Option<&RequestBudget>) -> Self {
        let group = Self::new(cluster, rooms, budget).await;
        group.start_all();
        group
    }

    async fn new(cluster: &Cluster, rooms: &[Room], budget: Option<&RequestBudget>) -> Self {
        let config = cluster.config_as(ADMIN).unwrap();
        let upstream = Upstream::of(&config).unwrap();
        let proxy = FaultProxy::start(1, FaultProfile::default(), upstream)
            .await
            .unwrap();
        // It only counts; the faults are those of the server.
        proxy.calm();
        let client = informer_core::client::from_config(proxy.config(config)).unwrap();
        let informers = rooms.iter().map(|room| {
            let builder = SharedInformer::<ConfigMap>::builder(client.clone())
                .namespace(&room.name)
                .fields("metadata.name!=kube-root-ca.crt")
                .reflector(|_| reading());
            match budget {
                Some(budget) => builder.request_budget(budget),
                None => builder,
            }
            .build()
            .unwrap()
        });
        let informers = informers.collect();
        Self { proxy, informers }
    }

    fn start_all(&self) {
        for informer in &self.informers {
            informer.start().unwrap();
        }
    }

    /// Waits until this many reads have arrived at the proxy, and for a while longer: no more may come.
    async fn reads(&self, count: u64) {
        eventually(async || match self.proxy.states() {
            arrived if arrived >= count => Ok(()),
            arrived => Err(format!("{arrived} reads of {count} have arrived")),
        })
        .await;
        tokio::time::sleep(QUIET).await;
        assert_eq!(self.proxy.states(), count, "reads that arrived");
    }

    fn synced(&self) -> usize {
        self.informers
            .iter()
            .filter(|informer| informer.has_synced())
            .count()
    }

    async fn shutdown(&self) {
        for informer in &self.informers {
            informer.shutdown().await;
        }
    }

    /// Waits until every cache is live and has this many objects.
    async fn live(&self, objects: usize) {
        eventually(async || {
            for (number, informer) in self.informers.iter().enumerate() {
                let (state, cached) = (informer.status().state, informer.indexer().len());
                if !matches!(state, State::Live) || cached != objects {
                    return Err(format!("informer {number} has {cached} objects and is {state}"));
                }
            }
            Ok(())
        })
        .await;
    }

    fn failing(&self) -> usize {
        let failed = |informer: &&SharedInformer<ConfigMap>| informer.status().counts().errors > 0;
        self.informers.iter().filter(failed).count()
    }
}

/// The number of requests of a group at several times, from the beginning of the outage on.
struct Samples(Vec<(Instant, u64)>);

impl Samples {
    fn take(&mut self, group: &Group) {
        // The time after the number: what arrives in between belongs to the next sample.
        let requests = group.proxy.requests();
        self.0.push((Instant::now(), requests));
    }

    /// The most requests within about a second.
    fn peak(&self) -> u64 {
        let from = |&(begin, before): &(Instant, u64)| {
            let within = |(at, _): &&(Instant, u64)| *at - begin <= Duration::from_secs(1);
            let last = self.0.iter().filter(within).map(|(_, count)| *count).max();
            last.unwrap_or(before) - before
        };
        self.0.iter().map(from).max().unwrap_or_default()
    }

    /// The first requests that arrived although the budget did not allow them.
    fn excess(&self) -> Option<String> {
        let gaps = self.0.windows(2).map(|pair| pair[1].0 - pair[0].0);
        let longest_gap = gaps.max().unwrap_or_default();
        self.0.iter().enumerate().find_map(|(place, &(begin, before))| {
            // None was waiting when the server was killed. Later, one that was allowed before the first
            // sample may arrive after it, by as much as this process was held up.
            let late = match place {
                0 => Duration::ZERO,
                _ => SLOW + longest_gap,
            };
            self.0[place..].iter().find_map(|&(end, count)| {
                let time = (end - begin + late).as_secs_f64();
                // Watches that resume and requests after a failure have a budget each. The last one of each
                // may be due at the very moment of the sample.
                let each = f64::from(BURST) + f64::from(RATE) * time + 1.0;
                let (arrived, allowed) = (count - before, 2 * each.floor() as u64);
                let from = begin - self.0[0].0;
                (arrived > allowed).then(|| {
                    format!(
                        "{arrived} from {from:?} on in {:?}, allowed: {allowed}",
                        end - begin
                    )
                })
            })
        })
    }
}

/// A hundred informers without a budget beside them show what the server would get.
#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_informers_that_lose_their_server_stay_within_their_budget_and_recover() {
    let mut cluster = Cluster::start(options()).await.unwrap();
    let rooms = join_all((0..INFORMERS).map(|_| Room::new(&cluster, "budget"))).await;
    join_all(rooms.iter().map(|room| room.create("a", "1"))).await;
    let mut bounds = RequestBudgetOptions::default();
    (bounds.starts_per_second, bounds.burst) = (RATE, BURST);
    let budget = RequestBudget::new(bounds);
    let limited = Group::start(&cluster, &rooms, Some(&budget)).await;
    let unlimited = Group::start(&cluster, &rooms, None).await;
    limited.live(1).await;
    unlimited.live(1).await;
    // A quiet time, after which a whole burst is allowed and no more.
    tokio::time::sleep(Duration::from_secs(2)).await;

    let (mut of_limited, mut of_unlimited) = (Samples(Vec::new()), Samples(Vec::new()));
    let mut sample = || {
        of_limited.take(&limited);
        of_unlimited.take(&unlimited);
    };
    sample();
    cluster.kill();
    let begun = Instant::now();
    while begun.elapsed() < OUTAGE || limited.failing() < INFORMERS {
        assert!(begun.elapsed() < BOUND, "{} have failed", limited.failing());
        tokio::time::sleep(SAMPLE_EVERY).await;
        sample();
    }
    {
        let revived = cluster.revive();
        tokio::pin!(revived);
        loop {
            tokio::select! {
                done = &mut revived => break done.unwrap(),
                () = tokio::time::sleep(SAMPLE_EVERY) => sample(),
            }
        }
    }
    {
        let recovered = async {
            join_all(rooms.iter().map(|room| room.create("b", "1"))).await;
            limited.live(2).await;
            unlimited.live(2).await;
        };
        tokio::pin!(recovered);
        loop {
            tokio::select! {
                () = &mut recovered => break,
                () = tokio::time::sleep(SAMPLE_EVERY) => sample(),
            }
        }
    }
    sample();
    let (peak, peak_without) = (of_limited.peak(), of_unlimited.peak());
    println!("requests in the worst second: {peak} with the budget, {peak_without} without");
    assert_eq!(of_limited.excess(), None, "requests past the budget");
    assert_ne!(
        of_unlimited.excess(),
        None,
        "{peak_without} in a second is no storm"
    );
    // Every informer failed and came back, so the numbers above are not those of an idle group.
    let (first, last) = (of_limited.0[0].1, of_limited.0[of_limited.0.len() - 1].1);
    assert!(last - first >= 2 * INFORMERS as u64, "{} requests", last - first);
    limited.shutdown().await;
    unlimited.shutdown().await;
    cluster.stop();
}

/// The proxy holds the reads back, so that each lasts until the test lets it end.
#[tokio::test(flavor = "multi_thread")]
async fn of_forty_informers_that_start_ten_read_at_a_time() {
    let cluster = shared().await;
    let rooms = join_all((0..40).map(|_| Room::new(cluster, "reads"))).await;
    join_all(rooms.iter().map(|room| room.create("a", "1"))).await;
    let group = Group::new(cluster, &rooms, Some(&RequestBudget::default())).await;
    group.proxy.pass_states(0);
    group.start_all();
    group.reads(10).await;
    assert_eq!(group.synced(), 0, "the proxy held no read back");
    // Each that ends makes room for one.
    group.proxy.pass_states(1);
    group.reads(11).await;
    group.proxy.pass_states(8);
    group.reads(18).await;
    assert_eq!(group.synced(), 8);
    group.proxy.pass_states(u64::MAX);
    group.live(1).await;
    assert_eq!(group.proxy.states(), 40, "each informer reads once");
    group.shutdown().await;
}

/// Ten may read at once, so none of them waits for its turn. Delays of seconds are visible on any machine.
#[tokio::test(flavor = "multi_thread")]
async fn reads_of_informers_that_start_together_arrive_one_after_another() {
    let cluster = shared().await;
    let rooms = join_all((0..10).map(|_| Room::new(cluster, "jitter"))).await;
    let mut options = RequestBudgetOptions::default();
    options.read_jitter = Duration::from_secs(10);
    let group = Group::new(cluster, &rooms, Some(&RequestBudget::new(options))).await;
    group.start_all();
    let mut seen = BTreeSet::new();
    eventually(async || match group.proxy.states() {
        10 => Ok(()),
        arrived => {
            seen.insert(arrived);
            Err(format!("{arrived} reads have arrived"))
        }
    })
    .await;
    // Without the delays all ten arrive between two looks, or nearly so.
    assert!(seen.len() > 3, "numbers of reads seen: {seen:?}");
    group.live(0).await;
    group.shutdown().await;
}
