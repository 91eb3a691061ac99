//! Changes without pause on several threads, where watches look before they sleep and commits change states
//! in place: snapshots stay as they are, and handlers receive every change in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use informer_core::store::{Index, Snapshot};
use informer_core::{Event, ResourceVersion, SharedInformer};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::queue_support::{LONG, object, version};
use crate::scripted::Feed;

/// How many objects there are.
const OBJECTS: u64 = 300;

/// How many changes are sent.
const CHANGES: u64 = 20_000;

fn version_of(object: &ConfigMap) -> u64 {
    let version = object.metadata.resource_version.as_deref();
    version.and_then(|version| version.parse().ok()).unwrap()
}

fn name_of(object: &ConfigMap) -> String {
    object.metadata.name.clone().unwrap()
}

/// The contents of a snapshot, after a check that they belong together.
fn contents(snapshot: &Snapshot<ConfigMap>, by_digit: &Index<ConfigMap, u64>) -> BTreeMap<String, u64> {
    let reached = snapshot.resource_version().unwrap();
    let mut objects = BTreeMap::new();
    let mut digits: BTreeMap<u64, usize> = BTreeMap::new();
    snapshot.for_each(|_, object| {
        let at = version_of(object);
        assert!(
            !reached.is_older_than(&version(at)),
            "{at} is newer than {reached}"
        );
        objects.insert(name_of(object), at);
        *digits.entry(at % 10).or_default() += 1;
    });
    let view = snapshot.index(by_digit);
    let indexed = view.values().into_iter().map(|digit| (digit, view.len(&digit)));
    assert_eq!(indexed.collect::<BTreeMap<_, _>>(), digits, "at {reached}");
    objects
}

/// Reads snapshots until it is stopped. Keeps some of them, and checks at the end that none has changed.
fn read(informer: &SharedInformer<ConfigMap>, by_digit: &Index<ConfigMap, u64>, is_over: &AtomicBool) {
    let mut last: Option<ResourceVersion> = None;
    let mut kept = Vec::new();
    for round in 0_u64.. {
        let snapshot = informer.indexer().snapshot();
        let found = contents(&snapshot, by_digit);
        let reached = snapshot.resource_version();
        if let (Some(last), Some(reached)) = (&last, &reached) {
            assert!(!reached.is_older_than(last), "{reached} after {last}");
        }
        last = reached;
        if round.is_multiple_of(64) && kept.len() < 50 {
            kept.push((snapshot, found));
        }
        if is_over.load(Ordering::SeqCst) {
            break;
        }
    }
    for (snapshot, found) in kept {
        assert_eq!(contents(&snapshot, by_digit), found, "a snapshot has changed");
    }
}

/// What a handler knows, after checks of every event.
#[derive(Default)]
struct Known(BTreeMap<String, u64>);

impl Known {
    fn receive(&mut self, event: &Event<ConfigMap>) {
        match event {
            Event::Added { object, .. } => {
                let before = self.0.insert(name_of(object), version_of(object));
                assert_eq!(before, None, "{} was added twice", name_of(object));
            }
            Event::Updated { old, new, .. } => {
                let before = self.0.insert(name_of(new), version_of(new));
                assert_eq!(before, Some(version_of(old)), "`old` is what the handler knows");
                assert!(version_of(new) > version_of(old));
            }
            Event::Deleted(deleted) => {
                assert!(self.0.remove(&name_of(deleted.last_known())).is_some());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_without_pause_changes_no_snapshot_and_loses_no_event() {
    let (server, source) = Feed::new(None);
    let informer = SharedInformer::builder_from_sources(vec![source])
        .build()
        .unwrap();
    let by_digit = informer
        .add_index("digit", |object: &ConfigMap| [version_of(object) % 10])
        .unwrap();
    let known: Arc<Mutex<Known>> = Arc::default();
    let received = known.clone();
    informer
        .add_handler(move |event: Event<ConfigMap>| received.lock().unwrap().receive(&event))
        .unwrap();
    let mut model: BTreeMap<String, u64> = (0..OBJECTS).map(|number| (format!("o-{number:03}"), 1)).collect();
    server.list(1, model.keys().map(|name| object(name, 1)).collect());
    informer.start().unwrap();
    informer.synced_within(LONG).await.unwrap();

    let is_over = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (informer, by_digit, is_over) = (informer.clone(), by_digit.clone(), is_over.clone());
            std::thread::spawn(move || read(&informer, &by_digit, &is_over))
        })
        .collect();
    for at in 2..CHANGES {
        // Any order will do in which neighbours in time are not neighbours in the tree.
        let name = format!("o-{:03}", (at * 7_919) % OBJECTS);
        let changed = object(&name, at);
        if at.is_multiple_of(50) && model.remove(&name).is_some() {
            server.deleted(changed);
            continue;
        }
        match model.insert(name, at) {
            Some(_) => server.modified(changed),
            None => server.added(changed),
        }
        // Waits now and then, so that batches are of every size.
        if at.is_multiple_of(97) {
            informer.wait_until_within(&version(at), LONG).await.unwrap();
        }
    }
    informer
        .wait_until_within(&version(CHANGES - 1), LONG)
        .await
        .unwrap();
    is_over.store(true, Ordering::SeqCst);
    for reader in readers {
        reader.join().expect("no check of a reader failed");
    }
    assert_eq!(contents(&informer.indexer().snapshot(), &by_digit), model);
    let has_all = async {
        while known.lock().unwrap().0 != model {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, has_all)
        .await
        .expect("the handler receives every change");
    informer.shutdown().await;
}
