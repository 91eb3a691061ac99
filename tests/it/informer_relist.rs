//! Events of changes and relists: order, last states, transforms, and a store that is never behind.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use informer_core::source::{Decode, DecodeError, JsonDecoder, KubeSource, KubeSourceOptions, ManagedFields};
use informer_core::{Deleted, Event, HandlerOptions, InitialState, ObjectKey, Scope, SharedInformer};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::{
    LONG, Recorder, builder_of, final_items, informer_of, item, items, keys, label, quiet, server_with,
    settled, start, unseen, value, version_of,
};

/// Upstream: TestSharedInformerWatchDisruption, TestResetWatch. Upstream delivers every object to handlers
/// without a resync period; here an unchanged object is a resync, delivered only to handlers with a period.
#[tokio::test(start_paused = true)]
async fn after_a_lost_watch_only_changes_are_news() {
    let server = server_with(&["a", "b", "c"]);
    let informer = builder_of::<ConfigMap>(server.client())
        .resync(Duration::from_secs(36_000))
        .build()
        .unwrap();
    let plain = Recorder::new();
    informer
        .add_handler_with(HandlerOptions::default().resync(None), plain.handler())
        .unwrap();
    let resyncing = Recorder::new();
    resyncing.add_to(&informer);
    start(&informer).await;
    assert_eq!(plain.take(), ["initial a", "initial b", "initial c"]);
    assert_eq!(resyncing.take(), ["initial a", "initial b", "initial c"]);

    unseen(&server, || {
        server.update(&item("b", "2")).unwrap();
        server.delete(&item("c", "1")).unwrap();
        server.create(&item("d", "1")).unwrap();
    });
    settled(&informer, &server).await;
    assert_eq!(plain.take(), ["missed c", "update b", "add d"]);
    assert_eq!(resyncing.take(), ["missed c", "resync a", "update b", "add d"]);
    informer.shutdown().await;
}

/// An unchanged object is taken from the store as it arrives, so that a relist does not hold every object
/// twice.
#[tokio::test(start_paused = true)]
async fn a_relist_transforms_only_what_changed() {
    for initial in [InitialState::WatchList, InitialState::List] {
        let server = server_with(&["a", "b", "c"]);
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = calls.clone();
        let informer = SharedInformer::<ConfigMap>::builder(server.client())
            .initial_state(initial)
            .transform(move |_| {
                counter.fetch_add(1, Ordering::Relaxed);
            })
            .build()
            .unwrap();
        start(&informer).await;
        assert_eq!(calls.load(Ordering::Relaxed), 3);
        unseen(&server, || drop(server.update(&item("b", "2")).unwrap()));
        settled(&informer, &server).await;
        assert_eq!(items(&informer), ["a=1", "b=2", "c=1"]);
        assert_eq!(calls.load(Ordering::Relaxed), 4, "only b changed");
        informer.shutdown().await;
    }
}

/// Counts the objects it decodes.
struct CountingDecoder(Arc<AtomicUsize>, JsonDecoder);

impl Decode<ConfigMap> for CountingDecoder {
    fn decode(&self, bytes: &[u8]) -> Result<ConfigMap, DecodeError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        self.1.decode(bytes)
    }
}

/// Upstream decodes and drops unchanged objects. Here their identity is read first.
#[tokio::test(start_paused = true)]
async fn a_relist_decodes_only_what_changed() {
    for initial in [InitialState::WatchList, InitialState::List] {
        let server = server_with(&["a", "b", "c"]);
        let decoded = Arc::new(AtomicUsize::new(0));
        let decoder = CountingDecoder(
            decoded.clone(),
            JsonDecoder::of::<ConfigMap>(&(), ManagedFields::Drop),
        );
        let source = KubeSource::new(server.client(), Scope::All, KubeSourceOptions::default())
            .unwrap()
            .decoder(Arc::new(decoder));
        let informer = SharedInformer::builder_from_sources(vec![Arc::new(source)])
            .initial_state(initial)
            .build()
            .unwrap();
        start(&informer).await;
        assert_eq!(decoded.load(Ordering::Relaxed), 3);
        unseen(&server, || {
            server.update(&item("b", "2")).unwrap();
            // Another object under the same name.
            server.delete(&item("c", "1")).unwrap();
            server.create(&item("c", "1")).unwrap();
        });
        settled(&informer, &server).await;
        assert_eq!(items(&informer), ["a=1", "b=2", "c=1"]);
        assert_eq!(decoded.load(Ordering::Relaxed), 5, "{initial:?}: b and c changed");
        informer.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn without_resyncs_a_relist_that_changes_nothing_is_silent() {
    let server = server_with(&["a", "b"]);
    let informer = informer_of(&server);
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    received.take();
    unseen(&server, || drop(server.create(&item("elsewhere", "1")).unwrap()));
    settled(&informer, &server).await;
    assert_eq!(received.take(), ["add elsewhere"]);
    assert_eq!(informer.status().scopes[0].counts.lists, 2, "it did list again");
    informer.shutdown().await;
}

/// Upstream: TestReplaceEvents.
#[tokio::test(start_paused = true)]
async fn a_relist_delivers_deletions_first_and_the_store_already_shows_it() {
    for initial in [InitialState::WatchList, InitialState::List] {
        let server = server_with(&["a", "b", "c", "d"]);
        let informer = builder_of::<ConfigMap>(server.client())
            .initial_state(initial)
            .build()
            .unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (notes, indexer) = (seen.clone(), informer.indexer());
        informer
            .add_handler(move |event: Event<ConfigMap>| {
                let store: Vec<String> = indexer.list().iter().map(|object| label(object)).collect();
                notes
                    .lock()
                    .unwrap()
                    .push((crate::support::words(&event), store.join(" ")));
            })
            .unwrap();
        start(&informer).await;
        seen.lock().unwrap().clear();

        unseen(&server, || {
            server.delete(&item("b", "1")).unwrap();
            server.delete(&item("d", "1")).unwrap();
            server.update(&item("c", "2")).unwrap();
            server.create(&item("b2", "1")).unwrap();
        });
        settled(&informer, &server).await;
        let store = "a=1 b2=1 c=2";
        let expected =
            ["missed b", "missed d", "add b2", "update c"].map(|event| (event.to_owned(), store.to_owned()));
        assert_eq!(*seen.lock().unwrap(), expected, "{initial:?}");
        informer.shutdown().await;
    }
}

/// Upstream: TestUpdate, with watches that end and histories that are lost in between.
#[tokio::test(start_paused = true)]
async fn an_update_never_goes_backwards() {
    let server = server_with(&["a", "b", "c"]);
    let informer = informer_of(&server);
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    for round in 2..60 {
        let name = ["a", "b", "c"][round % 3];
        let write = || drop(server.update(&item(name, &round.to_string())).unwrap());
        match round % 7 {
            0 => unseen(&server, write),
            3 => {
                server.close_watches();
                write();
            }
            _ => write(),
        }
        if round % 5 == 0 {
            settled(&informer, &server).await;
        }
    }
    settled(&informer, &server).await;
    assert_eq!(final_items(&received.events()), ["a=57", "b=58", "c=59"]);
    assert_eq!(items(&informer), ["a=57", "b=58", "c=59"]);
    informer.shutdown().await;
}

/// Upstream: Example and ExampleNewInformer.
#[tokio::test(start_paused = true)]
async fn a_handler_that_deletes_what_it_sees_receives_every_deletion() {
    let server = Arc::new(ApiServer::start());
    let informer = informer_of(&server);
    let received = Recorder::new();
    received.add_to(&informer);
    let behind = server.clone();
    informer
        .add_handler(move |event: Event<ConfigMap>| {
            if let Event::Added { object, .. } = event {
                behind.delete(object.as_ref()).unwrap();
            }
        })
        .unwrap();
    start(&informer).await;
    for name in ["a-hello", "b-controller", "c-framework"] {
        server.create(&item(name, "1")).unwrap();
    }
    settled(&informer, &server).await;
    settled(&informer, &server).await;
    let mut gone: Vec<String> = received
        .take()
        .into_iter()
        .filter(|event| event.starts_with("delete "))
        .collect();
    gone.sort();
    assert_eq!(
        gone,
        ["delete a-hello", "delete b-controller", "delete c-framework"]
    );
    assert_eq!(keys(&informer), Vec::<String>::new());
    informer.shutdown().await;
}

/// Upstream: TestHammerController.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn hammering_the_server_leaves_cache_and_handlers_with_its_state() {
    let server = Arc::new(ApiServer::start());
    let informer = informer_of(&server);
    let received = Recorder::new();
    received.add_to(&informer);
    assert!(!informer.has_synced());
    start(&informer).await;
    assert!(informer.has_synced());

    let hammers = (0..3_usize).map(|hammer| {
        let server = server.clone();
        tokio::task::spawn_blocking(move || {
            // Each thread has its own names, so every write must succeed.
            let name = |blow: usize| format!("item-{hammer}-{}", blow % 7);
            let mut alive = [false; 7];
            for blow in 0..100_usize {
                let object = item(&name(blow * 5 + blow / 11), &blow.to_string());
                let slot = &mut alive[(blow * 5 + blow / 11) % 7];
                match (*slot, blow % 3) {
                    (false, _) => drop(server.create(&object).unwrap()),
                    (true, 0) => server.delete(&object).unwrap(),
                    (true, _) => drop(server.update(&object).unwrap()),
                }
                *slot = !*slot || blow % 3 != 0;
                if blow % 40 == 39 {
                    server.close_watches();
                }
            }
        })
    });
    for hammer in hammers.collect::<Vec<_>>() {
        hammer.await.unwrap();
    }
    settled(&informer, &server).await;
    let truth: Vec<String> = server.objects::<ConfigMap>().iter().map(label).collect();
    assert_eq!(items(&informer), truth);
    assert_eq!(final_items(&received.events()), truth);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_deletion_carries_the_last_state() {
    let server = server_with(&["observed", "missed"]);
    let informer = informer_of(&server);
    let received = Recorder::new();
    received.add_to(&informer);
    start(&informer).await;
    server.update(&item("observed", "2")).unwrap();
    server.update(&item("missed", "2")).unwrap();
    server.delete(&item("observed", "")).unwrap();
    settled(&informer, &server).await;
    unseen(&server, || server.delete(&item("missed", "")).unwrap());
    settled(&informer, &server).await;

    let deletions: Vec<Deleted<ConfigMap>> = received
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::Deleted(deleted) => Some(deleted),
            _ => None,
        })
        .collect();
    let [Deleted::Observed(observed), Deleted::Missed { last_known, .. }] = deletions.as_slice() else {
        panic!("{deletions:?}");
    };
    assert_eq!((value(observed), value(last_known)), ("2", "2"));
    informer.shutdown().await;
}

/// Upstream: TestDeletionHandlingObjectToName, TestDeletedObjectGetObjectName, TestDeletedObjectGetKey. A
/// tombstone without an object cannot be made here: `Missed` always has the last known state.
#[test]
fn a_deletion_names_its_object_either_way() {
    let object = Arc::new(item("a", "1"));
    let key: ObjectKey = "default/a".parse().unwrap();
    let observed = Event::Deleted(Deleted::Observed(object.clone()));
    let missed = Event::missed(key.clone(), object.clone());
    assert_eq!(observed.key(), Some(key.clone()));
    assert_eq!(missed.key(), Some(key));
    assert!(Arc::ptr_eq(missed.object(), &object));
    assert_eq!(
        Event::Deleted(Deleted::Observed(Arc::new(ConfigMap::default()))).key(),
        None,
        "no name, no panic"
    );
}

/// Stops user code at a chosen moment, on a real thread.
struct Gate {
    armed: Arc<AtomicBool>,
    entered: mpsc::Receiver<()>,
    release: mpsc::Sender<()>,
}

/// A gate, and the function to call where it stands.
fn gate() -> (Gate, impl Fn() + Send + Sync + 'static) {
    let armed = Arc::new(AtomicBool::new(false));
    let (announce, entered) = mpsc::channel();
    let (release, released) = mpsc::channel();
    let (is_armed, released, announce) = (armed.clone(), Mutex::new(released), Mutex::new(announce));
    let pass = move || {
        if is_armed.swap(false, Ordering::SeqCst) {
            announce.lock().unwrap().send(()).unwrap();
            let _ = released.lock().unwrap().recv();
        }
    };
    (
        Gate {
            armed,
            entered,
            release,
        },
        pass,
    )
}

/// A handler added while a relist waits at the gate receives each object once.
async fn check_late_handler(
    server: &ApiServer,
    informer: &SharedInformer<ConfigMap>,
    gate: Gate,
    objects: usize,
) {
    informer.start().unwrap();
    informer.synced_within(LONG).await.unwrap();
    gate.armed.store(true, Ordering::SeqCst);
    unseen(server, || {
        server.delete(&item("item-0000", "")).unwrap();
        server.update(&item("item-0001", "2")).unwrap();
        server.create(&item("new", "1")).unwrap();
    });
    let entered = gate.entered;
    tokio::task::spawn_blocking(move || entered.recv_timeout(LONG).unwrap())
        .await
        .unwrap();
    let received = Recorder::new();
    let registration = received.add_to(informer);
    registration.synced().await.unwrap();
    assert_eq!(received.len(), objects, "the state before the relist");
    gate.release.send(()).unwrap();
    settled(informer, server).await;
    let truth: Vec<String> = server.objects::<ConfigMap>().iter().map(label).collect();
    assert_eq!(final_items(&received.events()), truth);
    let later: Vec<String> = received.take().split_off(objects);
    assert_eq!(later, ["missed item-0000", "update item-0001", "add new"]);
    informer.shutdown().await;
}

fn crowded_server(objects: usize) -> ApiServer {
    let server = ApiServer::start();
    for index in 0..objects {
        server.create(&item(&format!("item-{index:04}"), "1")).unwrap();
    }
    server
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_handler_added_during_a_relist_receives_each_object_once() {
    let server = crowded_server(50);
    let (gate, pass) = gate();
    let informer = builder_of::<ConfigMap>(server.client())
        .transform(move |object| {
            // Only the second list has it.
            if object.metadata.name.as_deref() == Some("new") {
                pass();
            }
        })
        .build()
        .unwrap();
    check_late_handler(&server, &informer, gate, 50).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_handler_added_while_a_relist_is_committed_receives_each_object_once() {
    let server = crowded_server(1_200);
    let (gate, pass) = gate();
    let informer = informer_of(&server);
    informer
        .add_index("gate", move |object: &ConfigMap| {
            if object.metadata.name.as_deref() == Some("new") {
                pass();
            }
            Some(())
        })
        .unwrap();
    check_late_handler(&server, &informer, gate, 1_200).await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_handler_delays_no_other() {
    let server = server_with(&["a", "b"]);
    let informer = informer_of(&server);
    let slow = Recorder::new();
    let keep = slow.handler();
    let keep = Arc::new(Mutex::new(keep));
    informer
        .add_async_handler(move |event: Event<ConfigMap>| {
            let keep = keep.clone();
            async move {
                tokio::time::sleep(Duration::from_secs(3_600)).await;
                (keep.lock().unwrap())(event);
            }
        })
        .unwrap();
    let quick = Recorder::new();
    let registration = quick.add_to(&informer);
    informer.start().unwrap();
    registration.synced().await.unwrap();
    for round in 2..12 {
        let written = server.update(&item("a", &round.to_string())).unwrap();
        informer
            .wait_until_within(&version_of(&written), LONG)
            .await
            .unwrap();
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!((quick.len(), slow.len()), (12, 0));
    assert_eq!(informer.status().handlers[0].depth, 11);
    quiet(&informer).await;
    assert_eq!(slow.len(), 12);
    assert_eq!(final_items(&slow.events()), final_items(&quick.events()));
    informer.shutdown().await;
}

/// A server that was restored from a backup keeps watches from versions that it has not reached open, and
/// sends nothing on them.
#[tokio::test(start_paused = true)]
async fn a_restored_server_is_noticed_although_its_watches_are_silent() {
    for initial in [InitialState::WatchList, InitialState::List] {
        let server = server_with(&["a"]);
        let backup = server.revision();
        server.create(&item("b", "1")).unwrap();
        let informer = builder_of::<ConfigMap>(server.client())
            .initial_state(initial)
            .build()
            .unwrap();
        let received = Recorder::new();
        received.add_to(&informer);
        start(&informer).await;
        received.take();

        server.rewind(backup).unwrap();
        tokio::time::sleep(Duration::from_secs(1500)).await;
        assert_eq!(keys(&informer), ["default/a"], "{initial:?}");
        assert_eq!(received.take(), ["missed b"], "{initial:?}");
        assert_eq!(informer.status().scopes[0].counts.rewinds, 1, "{initial:?}");
        informer.shutdown().await;
    }
}

/// A quiet server costs one small list in two watches, and nothing is read again.
#[tokio::test(start_paused = true)]
async fn a_quiet_server_is_not_read_again() {
    let server = server_with(&["a", "b"]);
    let informer = informer_of(&server);
    start(&informer).await;
    tokio::time::sleep(Duration::from_secs(36_000)).await;
    let counts = informer.status().scopes[0].counts;
    assert_eq!((counts.lists, counts.errors), (1, 0), "{counts:?}");
    informer.shutdown().await;
}
