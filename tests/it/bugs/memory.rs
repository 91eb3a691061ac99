//! Caches that held more objects than they showed, and readers that blocked the writer.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use informer_core::{InitialState, SharedInformer};
use informer_testing::ApiServer;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{CustomResource, CustomResourceExt as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{MINUTE, MODES};
use crate::support::{builder_of, informer_of, item, items, server_with, settled, start, unseen};

/// The number of objects in these tests.
const OBJECTS: usize = 500;

/// The number of live [`Counted`]s, and its maximum.
static ALIVE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// The counts are global to the process, so these tests run one at a time.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// A field of an object that counts live instances.
#[derive(Debug, Serialize, Deserialize)]
#[serde(from = "String")]
struct Counted(String);

impl From<String> for Counted {
    fn from(text: String) -> Self {
        let alive = ALIVE.fetch_add(1, Ordering::SeqCst) + 1;
        MOST.fetch_max(alive, Ordering::SeqCst);
        Self(text)
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.0.clone().into()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A kind whose objects in memory are counted.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Parcel",
    namespaced,
    schema = "disabled"
)]
struct ParcelSpec {
    content: Counted,
}

/// A parcel as sent to the server, not counted.
fn parcel(number: usize, content: &str) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Parcel",
        "metadata": { "name": format!("parcel-{number}"), "namespace": "default" },
        "spec": { "content": content },
    })
}

/// A server with all parcels, and a synced informer.
async fn followed(initial: InitialState) -> (ApiServer, SharedInformer<Parcel>) {
    let server = ApiServer::start();
    server.create::<CustomResourceDefinition>(&Parcel::crd()).unwrap();
    for number in 0..OBJECTS {
        server.create(&parcel(number, "1")).unwrap();
    }
    MOST.store(ALIVE.load(Ordering::SeqCst), Ordering::SeqCst);
    let informer = builder_of(server.client())
        .initial_state(initial)
        .build()
        .unwrap();
    start(&informer).await;
    assert_eq!(informer.indexer().len(), OBJECTS);
    (server, informer)
}

/// Waits for the expected number of objects in memory: retired ones are dropped on other threads.
async fn check_alive(expected: usize) {
    for _ in 0..1_000 {
        if ALIVE.load(Ordering::SeqCst) == expected {
            return;
        }
        tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(1)))
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(ALIVE.load(Ordering::SeqCst), expected, "objects in memory");
}

/// kubernetes#129467: the initial stream was collected in a temporary store, then copied into a list, then
/// into the cache.
#[tokio::test(start_paused = true)]
async fn a_state_is_never_in_memory_twice_while_it_is_read() {
    let _alone = ALONE.lock().await;
    for initial in MODES {
        let (server, informer) = followed(initial).await;
        assert_eq!(
            MOST.load(Ordering::SeqCst),
            OBJECTS,
            "{initial:?}: no copy of any object"
        );
        // A relist needs the old state, which readers still use, and the new one; only one object is in both.
        unseen(&server, || drop(server.update(&parcel(0, "2")).unwrap()));
        settled(&informer, &server).await;
        assert!(MOST.load(Ordering::SeqCst) <= 2 * OBJECTS, "{initial:?}");
        check_alive(OBJECTS).await;
        informer.shutdown().await;
        drop(informer);
        check_alive(0).await;
    }
}

/// kubernetes#113305, kubernetes#111370: the objects of a list were parts of one allocation, so one object
/// that never changed kept the whole initial list in memory. Upstream: TestReflectorListExtract.
#[tokio::test(start_paused = true)]
async fn one_old_object_does_not_keep_the_list_it_came_with() {
    let _alone = ALONE.lock().await;
    for initial in MODES {
        let (server, informer) = followed(initial).await;
        let kept = informer
            .indexer()
            .get(&"default/parcel-0".parse().unwrap())
            .unwrap();
        for number in 1..OBJECTS {
            server.update(&parcel(number, "2")).unwrap();
        }
        settled(&informer, &server).await;
        check_alive(OBJECTS).await;
        for number in 1..OBJECTS {
            server.delete(&parcel(number, "2")).unwrap();
        }
        settled(&informer, &server).await;
        check_alive(1).await;
        drop(kept);
        informer.shutdown().await;
        drop(informer);
        check_alive(0).await;
    }
}

/// kubernetes#138728, kubernetes#139526: in the server's cache, readers of the initial events of a watch held
/// a lock that its writer waited for, and the cache fell behind. Here readers pause in the middle of the
/// cache, of an index and of a full list, and the writer continues.
#[tokio::test(start_paused = true)]
async fn a_reader_in_the_middle_of_the_cache_holds_up_no_change() {
    let server = server_with(&["a", "b"]);
    let informer = informer_of(&server);
    let index = informer
        .add_index("all", |_: &k8s_openapi::api::core::v1::ConfigMap| Some(1_u8))
        .unwrap();
    start(&informer).await;
    let (snapshot, listed, indexed) = (
        informer.indexer().snapshot(),
        informer.indexer().list(),
        index.get(&1),
    );
    let mut reading = snapshot.iter();
    let first = reading.next().map(|(key, _)| key.to_string());
    for value in 2..100 {
        server.update(&item("b", &value.to_string())).unwrap();
        let version = server.resource_version().as_str().into();
        informer
            .wait_until_within(&version, MINUTE)
            .await
            .expect("no reader is waited for");
    }
    assert_eq!(items(&informer), ["a=1", "b=99"]);
    // The snapshot of the reader is unchanged.
    assert_eq!(first.as_deref(), Some("default/a"));
    assert_eq!(reading.count(), 1);
    assert_eq!((listed.len(), indexed.len()), (2, 2));
    let old = snapshot.get(&"default/b".parse().unwrap()).unwrap();
    assert_eq!(crate::support::value(&old), "1");
    informer.shutdown().await;
}
