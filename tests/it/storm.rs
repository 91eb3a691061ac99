//! A whole informer through random faults: handlers receive a consistent history and the cache converges.
//!
//! A seed decides the writes, the faults and the waits. `STORM=from..to cargo test -p informer-it storm`
//! plays other seeds than the few that every run plays; a failure names its seed.

use std::time::Duration;

use informer_core::{HandlerOptions, InitialState, Offload, Overflow, ReflectorConfig, SharedInformer};
use informer_testing::{ApiServer, Profile};
use k8s_openapi::api::core::v1::ConfigMap;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

use super::support::{Recorder, final_items, item_in, items, label, quiet};

use crate::support::builder_of;

const NAMESPACES: [&str; 2] = ["default", "kube-system"];

/// One storm: writes under faults, some of them unseen by any watch, then calm.
async fn storm(seed: u64) {
    let mut random = SmallRng::seed_from_u64(seed);
    let server = ApiServer::builder().seed(seed).start();
    let mut config = ReflectorConfig::default();
    config.seed = Some(seed);
    config.initial = [InitialState::WatchList, InitialState::List][random.random_range(0..2)];
    config.page_size = [None, Some(3)][random.random_range(0..2)];
    let mut builder = builder_of::<ConfigMap>(server.client())
        .reflector(|_| config)
        .offload(Offload::Inline);
    if random.random_bool(0.5) {
        builder = builder.namespaces(NAMESPACES);
    }
    if random.random_bool(0.3) {
        builder = builder.resync(Duration::from_secs(30));
    }
    let informer = builder.build().unwrap();
    let by_value = informer
        .add_index("value", |object: &ConfigMap| {
            vec![super::support::value(object).to_owned()]
        })
        .unwrap();
    let inline = HandlerOptions::default().run_on(Offload::Inline);
    let exact = Recorder::new();
    informer
        .add_handler_with(inline.clone(), exact.handler())
        .unwrap();
    let folding = Recorder::new();
    let tight = inline.clone().buffer(2).on_overflow(Overflow::Coalesce);
    informer.add_handler_with(tight, folding.handler()).unwrap();

    let profile = if random.random_bool(0.5) {
        Profile::harsh()
    } else {
        Profile::mild()
    };
    server.faults().random(seed, profile);
    informer.start().unwrap();
    let mut late = None;
    for step in 0..120 {
        for _ in 0..random.random_range(0..4) {
            write(&server, &mut random);
        }
        match random.random_range(0..20) {
            0 => server.compact(server.revision()),
            1 => server.close_watches(),
            2 if step > 40 && late.is_none() => {
                let received = Recorder::new();
                informer
                    .add_handler_with(inline.clone(), received.handler())
                    .unwrap();
                late = Some(received);
            }
            _ => {}
        }
        tokio::time::sleep(Duration::from_millis(random.random_range(0..4_000))).await;
        check_snapshot(&informer, &by_value, seed);
    }
    server.faults().calm();

    // The longest wait: a silent watch is replaced after ten minutes and a margin, then one backoff.
    let expected: Vec<String> = sorted(server.objects::<ConfigMap>().iter().map(label).collect());
    let mut waited = Duration::ZERO;
    while sorted(items(&informer)) != expected {
        assert!(
            waited < Duration::from_secs(900),
            "seed {seed}: {}",
            informer.status().state
        );
        tokio::time::sleep(Duration::from_secs(1)).await;
        waited += Duration::from_secs(1);
    }
    quiet(&informer).await;
    for received in [Some(exact), Some(folding), late].into_iter().flatten() {
        assert_eq!(sorted(final_items(&received.events())), expected, "seed {seed}");
    }
    let counts = informer.status().scopes[0].counts;
    assert_eq!(counts.rewinds, 0, "seed {seed}: nothing was rewound");
    informer.shutdown().await;
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts
}

/// Creates, changes, deletes or recreates one of a few objects, in one of the two namespaces.
fn write(server: &ApiServer, random: &mut SmallRng) {
    let place = random.random_range(0..12);
    let object = item_in(
        NAMESPACES[place % 2],
        &format!("object-{place}"),
        &random.random_range(0..5).to_string(),
    );
    match random.random_range(0..4) {
        0 => {
            let _ = server.delete(&object);
        }
        1 => {
            let _ = server.delete(&object);
            let _ = server.create(&object);
        }
        _ => {
            if server.create(&object).is_err() {
                let _ = server.update(&object);
            }
        }
    }
}

/// What every reader may rely on at any moment: no object newer than the store, and exact indexes.
fn check_snapshot(
    informer: &SharedInformer<ConfigMap>,
    by_value: &informer_core::store::Index<ConfigMap, String>,
    seed: u64,
) {
    let snapshot = informer.indexer().snapshot();
    let mut indexed = 0;
    let view = snapshot.index(by_value);
    for value in view.values() {
        for object in view.get(value.as_str()) {
            assert_eq!(super::support::value(&object), value, "seed {seed}");
            indexed += 1;
        }
    }
    assert_eq!(indexed, snapshot.len(), "seed {seed}");
    for object in snapshot.list() {
        let version = informer_core::ResourceVersion::of(&object.metadata).expect("every object has one");
        let key = informer_core::ObjectKey::of(&object.metadata).expect("every object has one");
        let reached = snapshot.versions().of_key(&key).expect("something was listed");
        assert!(
            version <= *reached,
            "seed {seed}: {key}@{version} in a store at {reached}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_cache_and_its_handlers_come_through_any_storm() {
    let seeds = std::env::var("STORM").ok().map_or(0..24, |range| {
        let (from, to) = range.split_once("..").expect("STORM is written as from..to");
        from.parse().expect("a number")..to.parse().expect("a number")
    });
    for seed in seeds {
        // A thousand seeds may take hours; the watchdog watches each.
        tokio::watchdog::progress();
        storm(seed).await;
    }
}
