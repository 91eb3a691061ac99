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

/// Nothing is configured: ten reads at a time, and those that waited begin at different times.
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
