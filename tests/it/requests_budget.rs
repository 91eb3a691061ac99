//! Many informers that share a budget: they neither start nor fail all at once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use informer_core::{InitialState, RequestBudget, RequestBudgetOptions, SharedInformer};
use informer_testing::{ApiServer, Fault, Rule};
use informers::SharedInformerFactory;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::time::Instant;

use crate::support::{builder_of, item_in};

const INFORMERS: usize = 100;

fn informers(server: &ApiServer, budget: Option<&RequestBudget>) -> Vec<SharedInformer<ConfigMap>> {
    let made = (0..INFORMERS).map(|number| {
        let builder = builder_of::<ConfigMap>(server.client())
            .namespace(format!("n{number}"))
            .initial_state(InitialState::List);
        match budget {
            Some(budget) => builder.request_budget(budget),
            None => builder,
        }
        .build()
        .unwrap()
    });
    made.collect()
}

fn server() -> ApiServer {
    let server = ApiServer::start();
    for number in 0..INFORMERS {
        server.create(&item_in(&format!("n{number}"), "a", "1")).unwrap();
    }
    server
}

/// The most requests in any second of the next minute.
async fn peak(server: &ApiServer) -> usize {
    let mut peak = 0;
    for _ in 0..60 {
        let before = server.requests().len();
        tokio::time::sleep(Duration::from_secs(1)).await;
        peak = peak.max(server.requests().len() - before);
    }
    peak
}

#[tokio::test(start_paused = true)]
async fn informers_that_fail_together_stay_within_their_budget() {
    let mut peaks = BTreeMap::new();
    for limited in [false, true] {
        let server = server();
        let mut options = RequestBudgetOptions::default();
        (options.starts_per_second, options.burst) = (20, 20);
        let budget = RequestBudget::new(options);
        let informers = informers(&server, limited.then_some(&budget));
        for informer in &informers {
            informer.start().unwrap();
        }
        for informer in &informers {
            informer.synced_within(Duration::from_secs(60)).await.unwrap();
        }
        tokio::time::sleep(Duration::from_secs(10)).await;
        server.faults().add(Rule::new(Fault::unavailable()));
        server.close_watches();
        peaks.insert(limited, peak(&server).await);
        // The budget does not keep them from recovering.
        server.faults().clear();
        server.create(&item_in("n7", "b", "1")).unwrap();
        tokio::time::sleep(Duration::from_secs(120)).await;
        assert_eq!(informers[7].indexer().len(), 2);
        for informer in informers {
            informer.shutdown().await;
        }
    }
    // A burst and a second of the rate, of watches that resume and of those that failed.
    assert!(peaks[&true] <= 80, "{peaks:?}");
    assert!(peaks[&false] >= INFORMERS, "{peaks:?}");
}

#[tokio::test(start_paused = true)]
async fn initial_reads_are_limited_and_all_complete() {
    let server = server();
    server
        .faults()
        .add(Rule::new(Fault::Delay(Duration::from_secs(1))));
    let mut options = RequestBudgetOptions::default();
    options.concurrent_reads = 10;
    let budget = RequestBudget::new(options);
    let informers = informers(&server, Some(&budget));
    let begun = Instant::now();
    for informer in &informers {
        informer.start().unwrap();
    }
    for informer in &informers {
        informer.synced_within(Duration::from_secs(60)).await.unwrap();
    }
    // Ten at a time, each a second.
    let took = begun.elapsed();
    assert!(
        took >= Duration::from_secs(9) && took < Duration::from_secs(20),
        "{took:?}"
    );
}

/// Starts informers, each with its own seed, and returns when their lists arrived: the first at zero.
async fn list_times(server: &ApiServer, budget: &RequestBudget, count: usize) -> Vec<Duration> {
    let made = (0..count).map(|number| {
        let builder = builder_of::<ConfigMap>(server.client()).namespace(format!("n{number}"));
        let seeded = builder.reflector(|mut config| {
            config.seed = Some(number as u64);
            config.initial = InitialState::List;
            config
        });
        seeded.request_budget(budget).build().unwrap()
    });
    let informers: Vec<SharedInformer<ConfigMap>> = made.collect();
    server.clear_requests();
    for informer in &informers {
        informer.start().unwrap();
    }
    for informer in &informers {
        informer.synced_within(Duration::from_secs(60)).await.unwrap();
    }
    let lists = server.requests().lists();
    let mut times: Vec<Duration> = lists.iter().map(|request| request.at).collect();
    times.sort();
    let first = times[0];
    for time in &mut times {
        *time -= first;
    }
    for informer in informers {
        informer.shutdown().await;
    }
    times
}

/// The most of these times within any five milliseconds.
fn densest(times: &[Duration]) -> usize {
    let within = |from: &Duration| {
        let near = |time: &&Duration| **time >= *from && **time < *from + Duration::from_millis(5);
        times.iter().filter(near).count()
    };
    times.iter().map(within).max().unwrap_or_default()
}

/// All ten may read at once, so none of them waits for its turn.
#[tokio::test(start_paused = true)]
async fn reads_that_need_not_wait_begin_at_different_times_too() {
    let server = server();
    server
        .faults()
        .add(Rule::new(Fault::Delay(Duration::from_secs(1))));
    let times = list_times(&server, &RequestBudget::default(), 10).await;
    assert_eq!(times.len(), 10);
    assert!(densest(&times) <= 4, "they began together: {times:?}");
    assert!(times[9] >= Duration::from_millis(30), "{times:?}");
    // The bound of the default options.
    assert!(times[9] <= Duration::from_millis(100), "{times:?}");
}

#[tokio::test(start_paused = true)]
async fn the_delays_of_reads_are_configurable() {
    let server = server();
    server
        .faults()
        .add(Rule::new(Fault::Delay(Duration::from_secs(5))));
    let with = async |read_jitter| {
        let mut options = RequestBudgetOptions::default();
        options.read_jitter = read_jitter;
        list_times(&server, &RequestBudget::new(options), 10).await
    };
    let times = with(Duration::ZERO).await;
    assert_eq!(times, [Duration::ZERO; 10], "none is delayed");
    let times = with(Duration::from_secs(2)).await;
    assert!(
        times[9] > Duration::from_millis(500) && times[9] <= Duration::from_secs(2),
        "{times:?}"
    );
}

/// Nothing is spread that is alone: a program with one informer starts as fast as without a budget.
#[tokio::test(start_paused = true)]
async fn a_read_that_is_alone_begins_at_once() {
    let server = server();
    let budget = RequestBudget::default();
    for round in 0..20 {
        let begun = Instant::now();
        let informers = informers(&server, Some(&budget));
        informers[round].start().unwrap();
        informers[round]
            .synced_within(Duration::from_secs(60))
            .await
            .unwrap();
        assert_eq!(begun.elapsed(), Duration::ZERO, "round {round}");
    }
}

/// Reads that take no time show what the delays alone cost.
#[tokio::test(start_paused = true)]
async fn forty_informers_sync_in_less_than_half_a_second() {
    let server = server();
    let begun = Instant::now();
    let times = list_times(&server, &RequestBudget::default(), 40).await;
    let took = begun.elapsed();
    assert_eq!(times.len(), 40);
    assert!(densest(&times) <= 8, "they began together: {times:?}");
    assert!(took < Duration::from_millis(500), "{took:?}, lists at {times:?}");
}

/// Nothing is configured: ten reads at a time, and they begin at different times.
#[tokio::test(start_paused = true)]
async fn a_factory_limits_and_spreads_its_initial_reads_by_default() {
    let server = server();
    server
        .faults()
        .add(Rule::new(Fault::Delay(Duration::from_secs(1))));
    let factory = SharedInformerFactory::builder(server.client())
        .namespaces((0..30).map(|number| format!("n{number}")))
        .initial_state(InitialState::List)
        .build()
        .unwrap();
    factory.informer_for::<ConfigMap>();
    let begun = Instant::now();
    factory.start();
    let (mut most, mut starts) = (0, BTreeSet::new());
    while begun.elapsed() < Duration::from_secs(10) {
        let before = server.requests().of("configmaps").len();
        tokio::time::sleep(Duration::from_millis(1)).await;
        let more = server.requests().of("configmaps").len() - before;
        most = most.max(more);
        if more > 0 {
            starts.insert(begun.elapsed().as_millis());
        }
    }
    factory.wait_for_sync().await.unwrap();
    assert!(most <= 10, "{most} requests in a millisecond");
    assert!(starts.len() > 10, "they began together: {starts:?}");
    let list = factory.status().informers[0]
        .scopes
        .iter()
        .filter_map(|scope| scope.last_list)
        .map(|list| list.at)
        .max();
    let took = list.unwrap().duration_since(begun);
    assert!(
        took >= Duration::from_secs(3) && took < Duration::from_secs(6),
        "three rounds of a second each: {took:?}"
    );
    factory.shutdown().await;
}
