//! The stream of events, and the policies for slow readers.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use informer_core::{
    BufferMode, Event, HandlerEnded, HandlerOptions, HandlerState, HandlerStatus, Overflow, Registration,
    SharedInformer,
};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::{
    LONG, Recorder, final_items, informer_of, item, quiet, server_with, settled, start, tasks, version_of,
    words,
};

#[tokio::test(start_paused = true)]
async fn a_stream_yields_the_events_of_a_handler_and_ends_with_the_informer() {
    let server = server_with(&["a", "b"]);
    let informer = informer_of(&server);
    let received = Recorder::new();
    received.add_to(&informer);
    let mut events = informer.events();
    let reader = tokio::spawn(async move {
        let mut read = Vec::new();
        while let Some(event) = events.next().await {
            read.push(words(&event));
        }
        assert!(events.next().await.is_none(), "once over, over for good");
        read
    });
    start(&informer).await;
    server.create(&item("c", "1")).unwrap();
    server.update(&item("a", "2")).unwrap();
    server.delete(&item("b", "1")).unwrap();
    settled(&informer, &server).await;
    informer.shutdown().await;
    let read = tokio::time::timeout(LONG, reader)
        .await
        .expect("the stream ends")
        .unwrap();
    assert_eq!(read, ["initial a", "initial b", "add c", "update a", "delete b"]);
    assert_eq!(received.take(), read);
}

#[tokio::test(start_paused = true)]
async fn a_late_stream_begins_with_the_cache() {
    let server = server_with(&["a", "b"]);
    let informer = informer_of(&server);
    start(&informer).await;
    let mut events = informer.events();
    assert!(!events.registration().has_synced());
    server.create(&item("c", "1")).unwrap();
    let mut read = Vec::new();
    for _ in 0..3 {
        read.push(words(&events.next().await.unwrap()));
    }
    assert_eq!(read, ["initial a", "initial b", "add c"]);
    assert!(
        events.registration().has_synced(),
        "asking for the third said that the second is dealt with"
    );
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn dropping_a_stream_unregisters_it() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    start(&informer).await;
    let before = tasks();
    let events = informer.events();
    let registration = events.registration().clone();
    assert_eq!(
        (informer.status().handlers.len(), registration.status().state),
        (1, HandlerState::Active)
    );
    drop(events);
    assert_eq!(
        (informer.status().handlers.len(), registration.status().state),
        (0, HandlerState::Ended(HandlerEnded::Removed))
    );
    assert_eq!(tasks(), before);
    tokio::time::timeout(LONG, registration.remove())
        .await
        .expect("nothing to wait for");
    informer.shutdown().await;
}

/// Streams added and dropped between two changes leave nothing behind: unread ones, and ones dropped after an
/// event.
#[tokio::test(start_paused = true)]
async fn streams_that_come_and_go_are_forgotten() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    start(&informer).await;
    let kept = informer.events();
    for _ in 0..500 {
        drop(informer.events());
        let mut read = informer.events();
        assert_eq!(words(&read.next().await.unwrap()), "initial a");
    }
    // Counted internally: `status()` omits removed ones even if they leak.
    assert_eq!(
        informer.kept_handlers(),
        2,
        "the last one is forgotten with the next change"
    );
    server.create(&item("b", "1")).unwrap();
    settled_but_for_streams(&informer, &server).await;
    assert_eq!(informer.kept_handlers(), 1);
    drop(kept);
    informer.shutdown().await;
}

/// Waits until the cache has all that the server has. Streams are not waited for: some here are never read.
async fn settled_but_for_streams(informer: &SharedInformer<ConfigMap>, server: &ApiServer) {
    let version = informer_core::ResourceVersion::new(&server.resource_version());
    informer.wait_until_within(&version, LONG).await.unwrap();
}

/// A reader decides when to read; nothing waits for it, so a shutdown never names it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_never_names_a_stream() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let (entered, entries) = std::sync::mpsc::channel();
    let (release, gate) = std::sync::mpsc::channel::<()>();
    informer
        .add_handler_with(
            HandlerOptions::default().name("stuck"),
            move |_: Event<ConfigMap>| {
                let _ = entered.send(());
                while gate.recv().is_ok() {}
            },
        )
        .unwrap();
    let (mut held, mut dropped) = (informer.events(), informer.events());
    informer.start().unwrap();
    assert_eq!(words(&held.next().await.unwrap()), "initial a");
    assert_eq!(words(&dropped.next().await.unwrap()), "initial a");
    drop(dropped);
    tokio::task::spawn_blocking(move || entries.recv().unwrap())
        .await
        .unwrap();
    let late = informer
        .shutdown_timeout(Duration::from_millis(50))
        .await
        .unwrap_err();
    assert_eq!(late.busy, ["stuck"]);
    drop(release);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_unread_stream_holds_up_nobody() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let unread = informer.events();
    let received = Recorder::new();
    let registration = received.add_to(&informer);
    informer.start().unwrap();
    registration.synced().await.unwrap();
    let written = server.create(&item("b", "1")).unwrap();
    informer
        .wait_until_within(&version_of(&written), LONG)
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(received.take(), ["initial a", "add b"]);
    assert_eq!(unread.registration().status().depth, 2);
    tokio::time::timeout(LONG, informer.shutdown())
        .await
        .expect("nor the shutdown");
}

/// A handler that takes an hour per event, over `a` to `c` with a buffer of four, behind this policy.
struct Slow {
    server: ApiServer,
    informer: SharedInformer<ConfigMap>,
    received: Recorder<ConfigMap>,
    registration: Registration,
}

impl Slow {
    async fn new(overflow: Overflow) -> Self {
        let server = server_with(&["a", "b", "c"]);
        let informer = informer_of(&server);
        start(&informer).await;
        let received = Recorder::new();
        let keep = Arc::new(std::sync::Mutex::new(received.handler()));
        let options = HandlerOptions::default()
            .name("slow")
            .buffer(4)
            .on_overflow(overflow);
        let registration = informer
            .add_async_handler_with(options, move |event: Event<ConfigMap>| {
                let keep = keep.clone();
                async move {
                    (keep.lock().unwrap())(event);
                    tokio::time::sleep(Duration::from_secs(3_600)).await;
                }
            })
            .unwrap();
        Self {
            server,
            informer,
            received,
            registration,
        }
    }

    /// Makes the server write, and waits until the cache has it.
    async fn write(&self, write: impl FnOnce(&ApiServer)) {
        write(&self.server);
        let version = self.server.resource_version().as_str().into();
        self.informer.wait_until_within(&version, LONG).await.unwrap();
    }

    async fn update(&self, name: &str, rounds: std::ops::RangeInclusive<usize>) {
        for round in rounds {
            self.write(|server| drop(server.update(&item(name, &round.to_string())).unwrap()))
                .await;
        }
    }

    fn status(&self) -> HandlerStatus {
        self.informer
            .status()
            .handlers
            .into_iter()
            .find(|handler| handler.name == "slow")
            .unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn coalesce_folds_per_object_and_stays_true() {
    let slow = Slow::new(Overflow::Coalesce).await;
    slow.update("a", 2..=50).await;
    slow.write(|server| server.delete(&item("b", "")).unwrap()).await;
    slow.write(|server| drop(server.create(&item("brief", "1")).unwrap()))
        .await;
    slow.update("c", 2..=3).await;
    slow.write(|server| server.delete(&item("brief", "")).unwrap())
        .await;
    slow.write(|server| drop(server.create(&item("d", "1")).unwrap()))
        .await;
    let status = slow.status();
    assert_eq!(
        (status.mode, status.state),
        (BufferMode::Folding, HandlerState::Active)
    );
    assert!(
        status.depth <= 3 + 4 + 5,
        "bounded by the buffer and the number of objects: {}",
        status.depth
    );

    quiet(&slow.informer).await;
    assert_eq!(slow.status().mode, BufferMode::Exact, "it has caught up");
    assert!(slow.registration.has_synced());
    assert_eq!(final_items(&slow.received.events()), ["a=50", "c=3", "d=1"]);
    let events = slow.received.take();
    assert_eq!(events[..3], ["initial a", "initial b", "initial c"]);
    assert_eq!(events[3..7], ["update a"; 4], "exact up to the limit");
    assert_eq!(
        events[7..],
        ["update a", "delete b", "update c", "add d"],
        "then folded; `brief` came and went"
    );
    // Once it has caught up, it receives every change again.
    slow.update("c", 4..=6).await;
    quiet(&slow.informer).await;
    assert_eq!(slow.received.take(), ["update c", "update c", "update c"]);
    slow.informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn grow_keeps_every_event() {
    let slow = Slow::new(Overflow::Grow).await;
    slow.update("a", 2..=50).await;
    let status = slow.status();
    assert_eq!(
        (status.mode, status.state),
        (BufferMode::Exact, HandlerState::Active)
    );
    assert!(status.depth > 49, "{}", status.depth);
    quiet(&slow.informer).await;
    assert_eq!(slow.received.len(), 3 + 49);
    assert_eq!(final_items(&slow.received.events()), ["a=50", "b=1", "c=1"]);
    slow.informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn disconnect_is_visible_and_final() {
    let slow = Slow::new(Overflow::Disconnect).await;
    let other = Recorder::new();
    other.add_to(&slow.informer);
    slow.update("a", 2..=50).await;
    let status = slow.status();
    assert_eq!(
        (status.state, status.depth),
        (HandlerState::Ended(HandlerEnded::Disconnected), 0)
    );
    assert_eq!(
        slow.registration.status().state,
        HandlerState::Ended(HandlerEnded::Disconnected)
    );
    let received = slow.received.len();
    assert_eq!(slow.registration.synced().await, Err(HandlerEnded::Disconnected));
    tokio::time::sleep(Duration::from_secs(86_400)).await;
    assert_eq!(slow.received.len(), received, "nothing more reaches it");
    assert_eq!(other.len(), 3 + 49, "others are not concerned");
    slow.registration.remove().await;
    slow.informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_whose_policy_is_to_disconnect_ends() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    start(&informer).await;
    let options = HandlerOptions::default()
        .buffer(2)
        .on_overflow(Overflow::Disconnect);
    let mut events = informer.events_with(&options);
    for round in 2..10 {
        server.update(&item("a", &round.to_string())).unwrap();
    }
    settled_cache(&informer, &server).await;
    assert!(events.next().await.is_none());
    assert_eq!(
        events.registration().status().state,
        HandlerState::Ended(HandlerEnded::Disconnected)
    );
    informer.shutdown().await;
}

/// Waits for the cache only: an unread stream is never idle.
async fn settled_cache(informer: &SharedInformer<ConfigMap>, server: &ApiServer) {
    let version = server.resource_version().as_str().into();
    informer.wait_until_within(&version, LONG).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1)).await;
}
