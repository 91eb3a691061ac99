//! Removing handlers: when it takes effect, what it waits for, and that it never deadlocks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::Duration;

use futures::FutureExt as _;
use informer_core::{
    AddHandlerError, Event, EventHandler, HandlerEnded, HandlerState, Registration, SharedInformer,
};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::{LONG, Recorder, informer_of, item, quiet, server_with, settled, start};

fn handler_count(informer: &SharedInformer<ConfigMap>) -> usize {
    informer.status().handlers.len()
}

/// Upstream: TestSharedInformerRemoveHandler.
#[tokio::test(start_paused = true)]
async fn a_removed_handler_no_longer_counts() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let first = Recorder::new().add_to(&informer);
    let second = Recorder::new().add_to(&informer);
    assert_eq!(handler_count(&informer), 2);
    first.remove().await;
    assert_eq!(handler_count(&informer), 1);
    start(&informer).await;
    second.remove().await;
    assert_eq!(handler_count(&informer), 0);
    informer.shutdown().await;
}

/// Upstream: TestSharedInformerRemoveForeignHandler. A registration knows its informer, so it cannot be
/// handed to another one; what is left to show is that it touches only its own.
#[tokio::test(start_paused = true)]
async fn removing_a_handler_leaves_other_informers_alone() {
    let server = server_with(&["a"]);
    let (mine, other) = (informer_of(&server), informer_of(&server));
    let received = Recorder::new();
    received.add_to(&other);
    let registration = Recorder::new().add_to(&mine);
    start(&other).await;
    registration.remove().await;
    assert_eq!((handler_count(&mine), handler_count(&other)), (0, 1));
    assert_eq!(received.take(), ["initial a"]);
    other.shutdown().await;
}

/// Upstream: TestSharedInformerMultipleRegistration.
#[tokio::test(start_paused = true)]
async fn one_handler_added_twice_is_two_registrations() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let received = Recorder::new();
    let first = received.add_to(&informer);
    let second = received.add_to(&informer);
    start(&informer).await;
    assert_eq!(received.take(), ["initial a", "initial a"]);
    first.remove().await;
    server.create(&item("b", "1")).unwrap();
    settled(&informer, &server).await;
    assert_eq!(received.take(), ["add b"]);
    assert_eq!(
        (first.status().state, second.status().state),
        (HandlerState::Ended(HandlerEnded::Removed), HandlerState::Active)
    );
    second.remove().await;
    assert_eq!(handler_count(&informer), 0);
    informer.shutdown().await;
}

/// Upstream: TestRemovingRemovedSharedInformer.
#[tokio::test(start_paused = true)]
async fn removing_twice_does_nothing() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let registration = Recorder::new().add_to(&informer);
    let other = Recorder::new().add_to(&informer);
    start(&informer).await;
    registration.remove().await;
    registration.clone().remove().await;
    assert_eq!(handler_count(&informer), 1);
    assert_eq!(other.status().state, HandlerState::Active);
    informer.shutdown().await;
}

/// Upstream: TestRemoveOnStoppedSharedInformer.
#[tokio::test(start_paused = true)]
async fn removing_after_the_informer_stopped_does_nothing() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let registration = Recorder::new().add_to(&informer);
    start(&informer).await;
    informer.shutdown().await;
    tokio::time::timeout(LONG, registration.remove())
        .await
        .expect("it returns");
    assert_eq!(
        registration.status().state,
        HandlerState::Ended(HandlerEnded::Stopped),
        "the first reason stays"
    );
}

/// Upstream: TestRemoveWhileActive. The removal is not awaited: it takes effect at the call.
#[tokio::test(start_paused = true)]
async fn no_event_reaches_a_handler_after_its_removal() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let received = Recorder::new();
    let registration = received.add_to(&informer);
    start(&informer).await;
    assert_eq!(received.take(), ["initial a"]);
    server.create(&item("b", "1")).unwrap();
    drop(registration.remove());
    settled(&informer, &server).await;
    server.create(&item("c", "1")).unwrap();
    settled(&informer, &server).await;
    assert_eq!(received.take(), Vec::<String>::new());
    informer.shutdown().await;
}

/// Buffered events are not delivered either.
#[tokio::test(start_paused = true)]
async fn a_removal_drops_what_waits() {
    let server = server_with(&["a", "b", "c"]);
    let informer = informer_of(&server);
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let registration = informer
        .add_async_handler(move |_: Event<ConfigMap>| {
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(60))
        })
        .unwrap();
    informer.start().unwrap();
    informer.synced_within(LONG).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(registration.status().depth, 2);
    registration.remove().await;
    assert_eq!(
        (registration.status().depth, calls.load(Ordering::SeqCst)),
        (0, 1)
    );
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    assert_eq!(registration.synced().await, Err(HandlerEnded::Removed));
    informer.shutdown().await;
}

/// Holds a handler inside a call, on a real thread. Returns the registration, and the sender that releases
/// it.
async fn held_inside(
    informer: &SharedInformer<ConfigMap>,
    left: &Arc<AtomicUsize>,
) -> (Registration, mpsc::Sender<()>) {
    let (entered, entries) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let left = left.clone();
    let registration = informer
        .add_handler(move |_: Event<ConfigMap>| {
            entered.send(()).unwrap();
            let _ = released.recv();
            left.fetch_add(1, Ordering::SeqCst);
        })
        .unwrap();
    informer.start().unwrap();
    tokio::task::spawn_blocking(move || entries.recv_timeout(LONG).unwrap())
        .await
        .unwrap();
    (registration, release)
}

/// Upstream: TestRemoveEventHandler_AsynchronousPanic.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_that_is_not_awaited_returns_while_the_handler_runs() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let left = Arc::new(AtomicUsize::new(0));
    let (registration, release) = held_inside(&informer, &left).await;
    drop(registration.remove());
    assert_eq!(left.load(Ordering::SeqCst), 0, "the handler is still inside");
    assert!(registration.status().busy_for.is_some());
    drop(release);
    informer.shutdown().await;
    assert_eq!(left.load(Ordering::SeqCst), 1);
}

/// Upstream: TestRemoveEventHandler_SynchronousShutdown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_awaited_removal_waits_for_the_call_in_progress() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let left = Arc::new(AtomicUsize::new(0));
    let (registration, release) = held_inside(&informer, &left).await;
    let mut removal = registration.remove();
    assert!(
        (&mut removal).now_or_never().is_none(),
        "the handler is still inside"
    );
    let second = registration.remove();
    release.send(()).unwrap();
    removal.await;
    assert_eq!(left.load(Ordering::SeqCst), 1, "the handler has returned");
    second.await;
    informer.shutdown().await;
}

/// Upstream: TestShutDownEventHandler_Lifecycles.
#[tokio::test(start_paused = true)]
async fn a_removal_returns_at_every_point_of_a_life() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let removed = |registration: Registration| async move {
        tokio::time::timeout(LONG, registration.remove())
            .await
            .expect("it returns");
        assert!(matches!(
            registration.status().state,
            HandlerState::Ended(HandlerEnded::Removed)
        ));
    };
    removed(Recorder::new().add_to(&informer)).await;
    let before = Recorder::new().add_to(&informer);
    start(&informer).await;
    removed(before).await;
    removed(Recorder::new().add_to(&informer)).await;
    let settled_late = Recorder::new().add_to(&informer);
    quiet(&informer).await;
    removed(settled_late).await;
    informer.shutdown().await;
}

/// A handler that removes itself at its first event, and waits for that.
struct Suicidal {
    own: Arc<OnceLock<Registration>>,
    calls: Arc<AtomicUsize>,
}

impl EventHandler<ConfigMap> for Suicidal {
    fn on_event(&mut self, _: Event<ConfigMap>) {
        self.calls.fetch_add(1, Ordering::SeqCst);
        tokio::runtime::Handle::current().block_on(self.own.get().expect("set before the start").remove());
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_can_remove_itself_from_inside() {
    let server = server_with(&["a", "b"]);
    let informer = informer_of(&server);
    let (own, calls) = (Arc::new(OnceLock::new()), Arc::new(AtomicUsize::new(0)));
    let registration = informer
        .add_handler(Suicidal {
            own: own.clone(),
            calls: calls.clone(),
        })
        .unwrap();
    own.set(registration).unwrap();
    start(&informer).await;
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    tokio::time::timeout(LONG, informer.shutdown())
        .await
        .expect("no deadlock");
}

#[tokio::test(start_paused = true)]
async fn an_async_handler_can_remove_itself_from_inside() {
    let server = server_with(&["a", "b"]);
    let informer = informer_of(&server);
    let (own, calls) = (
        Arc::new(OnceLock::<Registration>::new()),
        Arc::new(AtomicUsize::new(0)),
    );
    let (inside, counted) = (own.clone(), calls.clone());
    let registration = informer
        .add_async_handler(move |_: Event<ConfigMap>| {
            let (own, calls) = (inside.clone(), counted.clone());
            async move {
                // Not in the first poll, where a removal would be easier to recognise.
                tokio::time::sleep(Duration::from_secs(1)).await;
                own.get().expect("set before the start").remove().await;
                calls.fetch_add(1, Ordering::SeqCst);
            }
        })
        .unwrap();
    own.set(registration).unwrap();
    start(&informer).await;
    assert_eq!(
        calls.load(Ordering::SeqCst),
        1,
        "it came past its own removal, once"
    );
    tokio::time::timeout(LONG, informer.shutdown())
        .await
        .expect("no deadlock");
}

#[tokio::test(start_paused = true)]
async fn a_handler_can_add_and_remove_others_from_inside() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let (received, registrations) = (Recorder::new(), Arc::new(Mutex::new(Vec::new())));
    let (inner, kept, adder) = (received.clone(), registrations.clone(), informer.clone());
    informer
        .add_handler(move |event: Event<ConfigMap>| {
            let mut kept = kept.lock().unwrap();
            match event {
                Event::Added { .. } => kept.push(inner.add_to(&adder)),
                _ => kept
                    .drain(..)
                    .for_each(|registration: Registration| drop(registration.remove())),
            }
        })
        .unwrap();
    start(&informer).await;
    quiet(&informer).await;
    assert_eq!(received.take(), ["initial a"]);
    server.update(&item("a", "2")).unwrap();
    settled(&informer, &server).await;
    server.update(&item("a", "3")).unwrap();
    settled(&informer, &server).await;
    assert!(
        received.take().len() <= 1,
        "the second change came after the removal"
    );
    informer.shutdown().await;
}

/// Upstream: TestSharedInformerHandlerAbuse.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_workers_abusing_handlers_during_events_and_shutdown() {
    const EVENTS: usize = 10_000;
    let server = Arc::new(ApiServer::start());
    let informer = informer_of(&server);
    let steady = Recorder::new();
    steady.add_to(&informer);
    start(&informer).await;
    let received = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> = (0..100)
        .map(|worker| {
            let (informer, received) = (informer.clone(), received.clone());
            tokio::spawn(async move {
                loop {
                    let received = received.clone();
                    let added = informer.add_handler(move |_: Event<ConfigMap>| {
                        received.fetch_add(1, Ordering::Relaxed);
                    });
                    let registration = match added {
                        Ok(registration) => registration,
                        Err(AddHandlerError::Stopped) => return,
                        Err(other) => panic!("{other}"),
                    };
                    tokio::time::sleep(Duration::from_millis(20 + worker % 30)).await;
                    match worker % 3 {
                        0 => registration.remove().await,
                        1 => drop(registration.remove()),
                        _ => {
                            let _ = registration.synced().await;
                            registration.remove().await;
                        }
                    }
                }
            })
        })
        .collect();
    let writes = server.clone();
    tokio::task::spawn_blocking(move || {
        for event in 0..EVENTS {
            let object = item(&format!("item-{}", event % 10), &event.to_string());
            match event < 10 {
                true => drop(writes.create(&object).unwrap()),
                false => drop(writes.update(&object).unwrap()),
            }
        }
    })
    .await
    .unwrap();
    settled(&informer, &server).await;
    assert_eq!(
        steady.len(),
        EVENTS,
        "a handler that stays receives everything, whatever the others do"
    );
    tokio::time::timeout(LONG, informer.shutdown())
        .await
        .expect("no deadlock");
    for worker in workers {
        tokio::time::timeout(LONG, worker)
            .await
            .expect("every worker ends")
            .unwrap();
    }
    assert!(received.load(Ordering::Relaxed) > 0);
}
