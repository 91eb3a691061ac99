//! I14: user code that blocks delays only its own informer, and never an async worker.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use informer_core::{Event, InitialState, SharedInformer, SharedInformerBuilder};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::support::{Recorder, builder_of, informer_of, item, items, settled, value};

/// Blocks user code until the test opens it.
#[derive(Clone)]
struct Gate(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    changed: Condvar,
    entered: watch::Sender<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Open,
    /// The gate was not opened in time. It opens so that the test ends and fails.
    GaveUp,
}

impl Gate {
    fn new() -> Self {
        Self(Arc::new(Inner {
            state: Mutex::new(State::Closed),
            changed: Condvar::new(),
            entered: watch::Sender::new(0),
        }))
    }

    /// Blocks the thread until the gate is open.
    fn wait(&self) {
        self.0.entered.send_modify(|entered| *entered += 1);
        let state = self.0.state.lock().unwrap();
        let closed = |state: &mut State| *state == State::Closed;
        let waited = self
            .0
            .changed
            .wait_timeout_while(state, Duration::from_secs(30), closed);
        let (mut state, _) = waited.unwrap();
        if *state == State::Closed {
            *state = State::GaveUp;
            self.0.changed.notify_all();
        }
    }

    /// Waits until this many callers wait at the gate.
    async fn entered(&self, callers: usize) {
        let mut entered = self.0.entered.subscribe();
        entered.wait_for(|entered| *entered >= callers).await.unwrap();
    }

    /// Opens the gate, which must have been closed until now.
    fn open(&self) {
        let mut state = self.0.state.lock().unwrap();
        assert_eq!(
            *state,
            State::Closed,
            "something waited for user code that blocks"
        );
        *state = State::Open;
        self.0.changed.notify_all();
    }
}

/// The runtimes under test: two workers, or one thread for everything.
fn runtimes(max_blocking_threads: usize) -> Vec<Runtime> {
    let multi = Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(max_blocking_threads)
        .enable_all()
        .build();
    let current = Builder::new_current_thread()
        .max_blocking_threads(max_blocking_threads)
        .enable_all()
        .build();
    vec![multi.unwrap(), current.unwrap()]
}

/// Starts two informers that block at the gate, and shows that a third one syncs and works meanwhile.
async fn check_that_others_go_on(
    server: &ApiServer,
    gate: &Gate,
    blocked: impl Fn(SharedInformerBuilder<ConfigMap>) -> SharedInformer<ConfigMap>,
) {
    let blocked: Vec<_> = (0..2).map(|_| blocked(builder_of(server.client()))).collect();
    for informer in &blocked {
        informer.start().unwrap();
    }
    server.create(&item("late", "0")).unwrap();
    gate.entered(2).await;
    let other = informer_of(server);
    let received = Recorder::new();
    received.add_to(&other);
    other.start().unwrap();
    other.synced().await.unwrap();
    server.create(&item("last", "0")).unwrap();
    settled(&other, server).await;
    assert_eq!(items(&other), ["early=0", "last=0", "late=0"]);
    gate.open();
    for informer in &blocked {
        settled(informer, server).await;
        assert_eq!(informer.indexer().len(), 3);
        informer.shutdown().await;
    }
    other.shutdown().await;
}

/// Transforms ran on the async workers: two that blocked, on two workers, stopped the whole program.
#[test]
fn i14_blocking_transforms_stall_only_their_informers() {
    // In the initial state, read in both ways, and in a change.
    for (initial, blocks_at) in [
        (InitialState::WatchList, "early"),
        (InitialState::List, "early"),
        (InitialState::WatchList, "late"),
    ] {
        for runtime in runtimes(512) {
            runtime.block_on(async {
                let server = ApiServer::start();
                server.create(&item("early", "0")).unwrap();
                let gate = Gate::new();
                check_that_others_go_on(&server, &gate, |builder| {
                    let gate = gate.clone();
                    builder
                        .initial_state(initial)
                        .transform(move |object| {
                            if object.metadata.name.as_deref() == Some(blocks_at) {
                                gate.wait();
                            }
                        })
                        .build()
                        .unwrap()
                })
                .await;
            });
        }
    }
}

#[test]
fn i14_blocking_index_functions_stall_only_their_informers() {
    for blocks_at in ["early", "late"] {
        for runtime in runtimes(512) {
            runtime.block_on(async {
                let server = ApiServer::start();
                server.create(&item("early", "0")).unwrap();
                let gate = Gate::new();
                check_that_others_go_on(&server, &gate, |builder| {
                    let gate = gate.clone();
                    let informer = builder.build().unwrap();
                    informer
                        .add_index("gate", move |object: &ConfigMap| {
                            if object.metadata.name.as_deref() == Some(blocks_at) {
                                gate.wait();
                            }
                            [value(object).to_owned()]
                        })
                        .unwrap();
                    informer
                })
                .await;
            });
        }
    }
}

/// Decoding and large commits shared tokio's blocking pool with handlers: the second informer never synced.
#[test]
fn i14_handlers_that_occupy_all_threads_of_the_pool_delay_no_informer() {
    for runtime in runtimes(4) {
        runtime.block_on(async {
            let server = ApiServer::start();
            // Enough to be decoded, and committed, off the async workers.
            let large = "x".repeat(200);
            for number in 0..1_200 {
                server.create(&item(&format!("item-{number}"), &large)).unwrap();
            }
            let gate = Gate::new();
            let blocked = informer_of(&server);
            for _ in 0..4 {
                let gate = gate.clone();
                blocked
                    .add_handler(move |_: Event<ConfigMap>| gate.wait())
                    .unwrap();
            }
            blocked.start().unwrap();
            gate.entered(4).await;
            for initial in [InitialState::List, InitialState::WatchList] {
                let other = builder_of::<ConfigMap>(server.client())
                    .initial_state(initial)
                    .transform(|object| object.metadata.labels = None)
                    .build()
                    .unwrap();
                other.start().unwrap();
                other.synced().await.unwrap();
                assert_eq!(other.indexer().len(), 1_200);
                other.shutdown().await;
            }
            gate.open();
            blocked.shutdown().await;
        });
    }
}

/// A paused clock moves on as soon as the runtime has nothing to do; while work is on another thread it must
/// not.
#[tokio::test(start_paused = true)]
async fn i14_a_paused_clock_waits_for_work_on_other_threads() {
    let begun = Instant::now();
    let server = ApiServer::start();
    let large = "x".repeat(200);
    for number in 0..1_200 {
        server.create(&item(&format!("item-{number}"), &large)).unwrap();
    }
    for initial in [InitialState::List, InitialState::WatchList] {
        let informer = builder_of::<ConfigMap>(server.client())
            .initial_state(initial)
            .transform(|_| std::thread::yield_now())
            .build()
            .unwrap();
        informer
            .add_index("value", |object: &ConfigMap| [value(object).len()])
            .unwrap();
        informer.start().unwrap();
        informer.synced().await.unwrap();
        assert_eq!(informer.status().scopes[0].counts.errors, 0);
        informer.shutdown().await;
    }
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

/// A handler that always had a next event kept its thread for ever, and with one thread the other handler
/// was never called.
#[test]
fn i14_handlers_take_turns_if_the_pool_has_fewer_threads() {
    for runtime in runtimes(1) {
        runtime.block_on(async {
            let server = ApiServer::start();
            let informer = informer_of(&server);
            let calls = watch::Sender::new([0_usize; 2]);
            for handler in 0..2 {
                let calls = calls.clone();
                informer
                    .add_handler(move |_: Event<ConfigMap>| {
                        // Slower than the changes below, so that the next event always waits.
                        std::thread::sleep(Duration::from_millis(1));
                        calls.send_modify(|calls| calls[handler] += 1);
                    })
                    .unwrap();
            }
            informer.start().unwrap();
            informer.synced().await.unwrap();
            server.create(&item("busy", "0")).unwrap();
            let mut called = calls.subscribe();
            let both = called.wait_for(|calls| calls.iter().all(|calls| *calls > 0));
            let both = tokio::time::timeout(Duration::from_secs(60), both);
            let changes = async {
                loop {
                    server.update(&item("busy", "1")).unwrap();
                    server.update(&item("busy", "2")).unwrap();
                    tokio::time::sleep(Duration::from_micros(500)).await;
                }
            };
            tokio::select! {
                () = changes => unreachable!("it has no end"),
                both = both => drop(both.expect("both handlers are called").unwrap()),
            }
            informer.shutdown().await;
        });
    }
}
