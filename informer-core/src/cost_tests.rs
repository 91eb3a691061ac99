//! Costs that must not grow with the number of scopes, handlers or keys.
//!
//! Each test compares the CPU time of its own thread in a small and a large case, so neither the speed of the
//! machine nor other load matters. The bounds are far from both outcomes: the defects they guard against were
//! slower by a factor of 100 or more.

use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

use crate::delta::{DeltaFifo, Fifo, QueueOptions};
use crate::handler::{Event, HandlerOptions, UpdateCause};
use crate::key::ObjectKey;
use crate::processor::{Audience, EventStream, Processor, Served};
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::status::{Coverage, EventKind, Position, StatusBoard};
use crate::store;

/// Returns how many times more CPU time `cost` takes for `large` than for `small`.
///
/// The runs alternate and the fastest of each counts: cold caches make a run slower, never faster.
fn growth(small: usize, large: usize, cost: impl Fn(usize) -> Duration) -> f64 {
    let mut fastest = [Duration::MAX; 2];
    for _ in 0..5 {
        fastest[0] = fastest[0].min(cost(small));
        fastest[1] = fastest[1].min(cost(large));
    }
    let [small, large] = fastest.map(|time| time.max(Duration::from_nanos(100)).as_secs_f64());
    large / small
}

/// The CPU time of this thread in `work`.
fn time(work: impl FnOnce()) -> Duration {
    let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("CPU time is not negative");
    let start = now();
    work();
    now() - start
}

fn scopes(count: usize) -> Vec<Scope> {
    (0..count)
        .map(|number| Scope::of(Some(&format!("namespace-{number:05}"))))
        .collect()
}

fn object(name: &str) -> Arc<ConfigMap> {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    Arc::new(object)
}

/// Every event looks up the version of its scope.
#[test]
fn the_version_of_a_key_is_found_without_a_walk_over_all_scopes() {
    let ratio = growth(8, 8_192, |count| {
        let (mut writer, _) = store::new::<ConfigMap>();
        let mut commit = writer.begin();
        for scope in scopes(count) {
            commit.set_version(&scope, ResourceVersion::new("5"));
        }
        let key = ObjectKey::namespaced(format!("namespace-{:05}", count - 1), "a");
        time(|| {
            for _ in 0..200 {
                assert!(commit.versions().of_key(&key).is_some());
            }
        })
    });
    assert!(
        ratio < 50.0,
        "1,024 times as many scopes took {ratio:.0} times as long"
    );
}

/// Every event of a batch moves the version its scope has reached.
#[test]
fn a_batch_over_many_scopes_costs_the_same_per_event() {
    let ratio = growth(32, 4_096, |count| {
        let options = QueueOptions::default().capacity(count).batch(count);
        let (senders, mut receiver) = DeltaFifo::channel::<ConfigMap>(scopes(count), options, None);
        for sender in &senders {
            let sent = sender.bookmark(ResourceVersion::new("5")).now_or_never();
            sent.expect("the queue has room").expect("the queue is open");
        }
        time(|| {
            let batch = receiver.pop().now_or_never().flatten();
            assert!(batch.is_some(), "one batch takes all bookmarks");
        })
    });
    assert!(
        ratio < 128.0 * 10.0,
        "128 times as many events took {ratio:.0} times as long"
    );
}

/// Every event is counted in the status of its scope.
#[test]
fn an_event_is_reported_without_a_walk_over_all_scopes() {
    let ratio = growth(8, 8_192, |count| {
        let scopes = scopes(count);
        let board = Arc::new(StatusBoard::new("configmaps".to_owned(), &scopes, None));
        let reporter = board.reporter(&scopes[count - 1]);
        let position = Position {
            version: None,
            coverage: Coverage::Complete,
        };
        time(|| (0..200).for_each(|_| reporter.event(EventKind::Modified, &position, Instant::now())))
    });
    assert!(
        ratio < 50.0,
        "1,024 times as many scopes took {ratio:.0} times as long"
    );
}

/// A relist sends unchanged objects to the handlers that resync, and to no other.
#[test]
fn an_unchanged_object_costs_each_handler_the_same() {
    let ratio = growth(8, 512, |count| {
        let (_writer, indexer) = store::new::<ConfigMap>();
        let processor = Processor::new("configmaps", Some(Duration::from_secs(60)));
        for _ in 0..count {
            let name = "handler".to_owned();
            let options = HandlerOptions::default();
            let listener = processor.add(name, &options, Served::ByTask, || indexer.snapshot());
            assert!(listener.is_some());
        }
        let event = Event::updated(object("a"), object("a"), UpdateCause::Resync);
        let mut distribution = processor.publication().distribute();
        time(move || {
            for _ in 0..100 {
                distribution.deliver(Audience::Resyncing, event.clone().into());
            }
            drop(distribution);
        })
    });
    assert!(
        ratio < 64.0 * 10.0,
        "64 times as many handlers took {ratio:.0} times as long"
    );
}

/// A reader polls whenever its task is woken, mostly in vain. A name of 16 MiB makes a clone of it visible.
#[test]
fn a_poll_of_an_idle_stream_does_not_clone_its_name() {
    let ratio = growth(1, 16 << 20, |length| {
        let (_writer, indexer) = store::new::<ConfigMap>();
        let processor = Processor::new("configmaps", None);
        let name = "n".repeat(length);
        let options = HandlerOptions::default();
        let listener = processor.add(name, &options, Served::ByReader, || indexer.snapshot());
        let mut stream = EventStream::new(listener.expect("the processor runs"));
        time(|| {
            for _ in 0..20 {
                assert!(stream.next().now_or_never().is_none(), "nothing was published");
            }
        })
    });
    assert!(
        ratio < 50.0,
        "with a long name a poll took {ratio:.0} times as long"
    );
}

#[test]
fn a_deletion_from_a_fifo_does_not_walk_over_the_line() {
    let ratio = growth(64, 65_536, |count| {
        let fifo = Fifo::new();
        let keys: Vec<ObjectKey> = (0..count)
            .map(|key| ObjectKey::cluster(key.to_string()))
            .collect();
        let item = Arc::new(());
        fifo.replace(keys.iter().map(|key| (key.clone(), item.clone())));
        // In the middle of the line: a walk from either end takes long.
        let middle = &keys[count / 2 - 16..count / 2 + 16];
        let cost = time(|| middle.iter().for_each(|key| fifo.delete(key)));
        assert_eq!(fifo.len(), count - 32);
        cost
    });
    assert!(
        ratio < 50.0,
        "1,024 times as many keys took {ratio:.0} times as long"
    );
}
