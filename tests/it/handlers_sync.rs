//! When a registration is in sync, and what happens to a handler that lags.

use std::sync::Arc;

use informer_core::{
    BufferMode, Event, HandlerEnded, HandlerOptions, HandlerState, Overflow, Registration, SharedInformer,
};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{sleep, timeout};

use crate::queue_support::{LONG, object};
use crate::scripted::{Feed, FeedRig, informer};

/// A handler that returns from a call only when the test lets it.
struct Gated {
    registration: Registration,
    gate: Arc<Semaphore>,
    received: UnboundedReceiver<String>,
}

impl Gated {
    fn add(informer: &SharedInformer<ConfigMap>, options: HandlerOptions) -> Self {
        let gate = Arc::new(Semaphore::new(0));
        let (tell, received) = unbounded_channel();
        let handler = {
            let gate = gate.clone();
            move |event: Event<ConfigMap>| {
                let _ = tell.send(format!("{event:?}"));
                let gate = gate.clone();
                async move { gate.acquire().await.unwrap().forget() }
            }
        };
        Self {
            registration: informer.add_async_handler_with(options, handler).unwrap(),
            gate,
            received,
        }
    }

    /// Lets this many calls return, and everything run until it waits.
    async fn finish(&self, calls: usize) {
        self.gate.add_permits(calls);
        sleep(LONG).await;
    }

    fn received(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.received.try_recv().ok()).collect()
    }
}

/// Upstream: synctrack TestSingleFile, TestSingleFileCounting, TestBasicLogic, where the source is in sync
/// first.
#[tokio::test(start_paused = true)]
async fn a_registration_is_in_sync_when_the_handler_has_returned_from_every_initial_addition() {
    const OBJECTS: usize = 100;
    let objects = (0..OBJECTS)
        .map(|number| object(&number.to_string(), 1))
        .collect();
    let script = FeedRig::start(1, objects).await;
    let handler = Gated::add(&script.informer, HandlerOptions::default());
    let waiters: Vec<_> = (0..10)
        .map(|_| {
            let registration = handler.registration.clone();
            tokio::spawn(async move { registration.synced().await })
        })
        .collect();
    assert!(script.informer.has_synced());
    handler.finish(OBJECTS - 1).await;
    assert!(!handler.registration.has_synced(), "one call has not returned");
    assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
    handler.finish(1).await;
    assert!(handler.registration.has_synced());
    for waiter in waiters {
        assert_eq!(
            timeout(LONG, waiter).await.expect("it was not woken").unwrap(),
            Ok(())
        );
    }
    // Later events do not undo it.
    script.server.added(object("later", 2));
    sleep(LONG).await;
    assert!(handler.registration.has_synced());
}

/// Upstream: synctrack TestBasicLogic, for a handler added before the source synced.
#[tokio::test(start_paused = true)]
async fn a_handler_added_before_the_start_is_in_sync_when_it_has_returned_from_every_initial_addition() {
    let (server, source) = Feed::new(None);
    let informer = informer(vec![source]).build().unwrap();
    let handler = Gated::add(&informer, HandlerOptions::default());
    informer.start().unwrap();
    server.list(2, vec![object("a", 1), object("b", 2)]);
    handler.finish(1).await;
    assert!(informer.has_synced());
    assert!(
        !handler.registration.has_synced(),
        "the second call has not returned"
    );
    handler.finish(1).await;
    assert!(handler.registration.has_synced());
}

/// Upstream: synctrack TestBasicLogic, where the work is finished first.
#[tokio::test(start_paused = true)]
async fn a_registration_is_not_in_sync_before_the_informer_is() {
    let (x, source_x) = Feed::new(Some("x"));
    let (y, source_y) = Feed::new(Some("y"));
    let informer = informer(vec![source_x, source_y]).build().unwrap();
    let mut handler = Gated::add(&informer, HandlerOptions::default());
    informer.start().unwrap();
    x.list(1, vec![object("x/a", 1)]);
    handler.finish(10).await;
    assert_eq!(handler.received(), ["Added(x/a@1, Initial)"]);
    assert!(
        !informer.has_synced() && !handler.registration.has_synced(),
        "y is missing"
    );
    y.list(1, vec![object("y/a", 1)]);
    sleep(LONG).await;
    assert_eq!(handler.received(), ["Added(y/a@1, Initial)"]);
    assert!(informer.has_synced() && handler.registration.has_synced());
}

#[tokio::test(start_paused = true)]
async fn an_empty_initial_state_is_in_sync_without_a_call() {
    let script = FeedRig::start(1, vec![]).await;
    let handler = Gated::add(&script.informer, HandlerOptions::default());
    timeout(LONG, handler.registration.synced())
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_sync_ends_when_the_handler_is_removed() {
    let script = FeedRig::start(2, vec![object("a", 1), object("b", 2)]).await;
    let mut handler = Gated::add(&script.informer, HandlerOptions::default());
    let waiting = tokio::spawn({
        let registration = handler.registration.clone();
        async move { registration.synced().await }
    });
    sleep(LONG).await;
    let removal = handler.registration.remove();
    let removed = tokio::spawn(removal);
    sleep(LONG).await;
    assert!(!removed.is_finished(), "the handler is inside a call");
    handler.finish(10).await;
    assert!(removed.is_finished());
    let ended = timeout(LONG, waiting).await.expect("it was not woken").unwrap();
    assert_eq!(ended, Err(HandlerEnded::Removed));
    assert_eq!(handler.received(), ["Added(a@1, Initial)"]);
    assert_eq!(handler.registration.status().depth, 0);
}

/// Past its limit a handler receives the newest state of each object as one consistent event; nothing else
/// waits for it.
#[tokio::test(start_paused = true)]
async fn a_lagging_handler_receives_a_merged_but_true_history() {
    let mut script = FeedRig::start(1, vec![object("a", 1)]).await;
    script.check(&["Added(a@1, Initial)"]).await;
    let mut handler = Gated::add(&script.informer, HandlerOptions::default().buffer(2));
    sleep(LONG).await;
    for at in 2..=6 {
        script.server.modified(object("a", at));
    }
    script.server.added(object("short-lived", 7));
    script.server.deleted(object("short-lived", 8));
    script.server.deleted(object("a", 9));
    script.server.added(object("a", 10));
    sleep(LONG).await;
    assert_eq!(script.stored(), ["a@10"], "a slow handler slows nobody down");
    assert_eq!(handler.registration.status().mode, BufferMode::Folding);

    handler.finish(100).await;
    assert_eq!(
        handler.received(),
        [
            "Added(a@1, Initial)",
            "Updated(a@1 -> a@2, Change)",
            "Updated(a@2 -> a@3, Change)",
            "Deleted(Observed(a@9))",
            "Added(a@10, Live)",
        ]
    );
    let status = handler.registration.status();
    assert_eq!(
        (status.mode, status.depth, status.state),
        (BufferMode::Exact, 0, HandlerState::Active)
    );
}

#[tokio::test(start_paused = true)]
async fn a_handler_with_a_growing_buffer_receives_every_event() {
    let script = FeedRig::start(1, vec![object("a", 1)]).await;
    let options = HandlerOptions::default().buffer(1).on_overflow(Overflow::Grow);
    let mut handler = Gated::add(&script.informer, options);
    sleep(LONG).await;
    for at in 2..=50 {
        script.server.modified(object("a", at));
    }
    sleep(LONG).await;
    assert_eq!(handler.registration.status().depth, 49);
    handler.finish(100).await;
    assert_eq!(handler.received().len(), 50);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_lags_can_be_disconnected_instead() {
    let script = FeedRig::start(1, vec![object("a", 1)]).await;
    let options = HandlerOptions::default()
        .buffer(1)
        .on_overflow(Overflow::Disconnect);
    let mut handler = Gated::add(&script.informer, options);
    sleep(LONG).await;
    for at in 2..=4 {
        script.server.modified(object("a", at));
    }
    // Until the events wait for the handler, which is inside its first call.
    sleep(LONG).await;
    handler.finish(100).await;
    assert_eq!(handler.received(), ["Added(a@1, Initial)"]);
    assert_eq!(
        handler.registration.status().state,
        HandlerState::Ended(HandlerEnded::Disconnected)
    );
    assert_eq!(
        handler.registration.synced().await,
        Err(HandlerEnded::Disconnected)
    );
}

/// A disconnected handler stays in the status until it is removed.
#[tokio::test(start_paused = true)]
async fn a_disconnected_handler_can_be_removed_for_good() {
    let script = FeedRig::start(1, vec![object("a", 1)]).await;
    let options = HandlerOptions::default()
        .name("slow")
        .buffer(1)
        .on_overflow(Overflow::Disconnect);
    let handler = Gated::add(&script.informer, options);
    let is_listed = || {
        script
            .informer
            .status()
            .handlers
            .iter()
            .any(|handler| handler.name == "slow")
    };
    sleep(LONG).await;
    for at in 2..=4 {
        script.server.modified(object("a", at));
    }
    // Until the events wait for the handler, which is inside its first call.
    sleep(LONG).await;
    handler.finish(100).await;
    assert_eq!(
        handler.registration.status().state,
        HandlerState::Ended(HandlerEnded::Disconnected)
    );
    assert!(is_listed());
    handler.registration.remove().await;
    assert_eq!(
        handler.registration.status().state,
        HandlerState::Ended(HandlerEnded::Removed)
    );
    assert!(!is_listed());
    // It is removed with the next commit; only the handler of the script stays.
    assert_eq!(script.informer.kept_handlers(), 2);
    script.server.modified(object("a", 5));
    sleep(LONG).await;
    assert_eq!(script.informer.kept_handlers(), 1);
}
