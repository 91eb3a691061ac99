//! Micro-benchmarks of decode, queues, store and handlers: `cargo bench -p informer-bench`.
//!
//! For comparing two commits on one machine; `cargo xtask bench` compares with other libraries.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use informer_bench::feed::{Feed, NAMESPACE, name, pod, pod_at};
use informer_bench::template::{PODS_PER_NAMESPACE, PodSize, Template};
use informer_core::delta::{DeltaFifo, QueueOptions};
use informer_core::source::{Decode as _, JsonDecoder, ManagedFields, WatchEvent};
use informer_core::workqueue::WorkQueue;
use informer_core::{Event, ObjectKey, Scope, SharedInformer};
use informers::{Lister, Selector};
use k8s_openapi::api::core::v1::Pod;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;

fn main() {
    divan::main();
}

/// Decoding of one Pod, and dropping it.
mod decode {
    use super::*;

    #[divan::bench]
    fn json(bencher: Bencher<'_, '_>) {
        let bytes = Template::json(PodSize::Large).pod(7);
        let decoder = JsonDecoder::of::<Pod>(&(), ManagedFields::Drop);
        bencher
            .counter(BytesCount::of_slice(&bytes))
            .bench(|| -> Pod { decoder.decode(black_box(&bytes)).expect("a Pod") });
    }

    #[divan::bench]
    fn protobuf(bencher: Bencher<'_, '_>) {
        let bytes = Template::protobuf(PodSize::Large).pod(7);
        let decode = informer_protobuf::decoder::<Pod>().expect("a built-in kind");
        bencher
            .counter(BytesCount::of_slice(&bytes))
            .bench(|| decode(black_box(&bytes), ManagedFields::Drop).expect("a Pod"));
    }
}

/// One key or change through a queue, on one thread.
mod queue {
    use super::*;

    #[divan::bench]
    fn work_queue_add_get_done(bencher: Bencher<'_, '_>) {
        let runtime = runtime();
        let (queue, key) = (WorkQueue::new(), ObjectKey::namespaced(NAMESPACE, name(7)));
        bencher.bench_local(|| {
            queue.add(key.clone());
            runtime.block_on(queue.get()).expect("the key was added")
        });
    }

    #[divan::bench]
    fn delta_fifo_update_pop(bencher: Bencher<'_, '_>) {
        let runtime = runtime();
        let (mut senders, mut receiver) =
            DeltaFifo::channel::<Pod>([Scope::All], QueueOptions::default(), None);
        let sender = &mut senders[0];
        let mut version = 1;
        bencher
            .with_inputs(|| {
                version += 1;
                changed(version)
            })
            .bench_local_values(|pod| {
                runtime.block_on(async {
                    sender.updated(pod).await.expect("the receiver exists");
                    receiver.pop().await
                })
            });
    }
}

/// Reads of a store, by the number of its objects.
mod store {
    use super::*;

    const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

    /// 200 Pods in each namespace.
    fn lister(objects: usize) -> Lister<Pod> {
        Lister::from_objects((0..objects).map(|number| {
            let mut pod = Arc::unwrap_or_clone(pod(number));
            pod.metadata.namespace = Some(namespace(number));
            pod
        }))
    }

    fn namespace(number: usize) -> String {
        format!("namespace-{:04}", number / PODS_PER_NAMESPACE)
    }

    #[divan::bench(args = SIZES)]
    fn get(bencher: Bencher<'_, '_>, objects: usize) {
        let lister = lister(objects);
        let number = objects / 2;
        let key = ObjectKey::namespaced(namespace(number), name(number));
        bencher.bench(|| lister.get_key(black_box(&key)).expect("it is in the store"));
    }

    #[divan::bench(args = SIZES)]
    fn list_of_200(bencher: Bencher<'_, '_>, objects: usize) {
        let lister = lister(objects).namespace(&namespace(objects / 2));
        bencher
            .counter(ItemsCount::new(PODS_PER_NAMESPACE))
            .bench(|| lister.list(&Selector::everything()));
    }

    #[divan::bench(args = SIZES)]
    fn for_each_of_200(bencher: Bencher<'_, '_>, objects: usize) {
        let lister = lister(objects).namespace(&namespace(objects / 2));
        bencher.counter(ItemsCount::new(PODS_PER_NAMESPACE)).bench(|| {
            let mut count = 0;
            lister.for_each(&Selector::everything(), |_| count += 1);
            count
        });
    }

    /// From the source to the published snapshot: the store's writer has no public API of its own.
    #[divan::bench(args = SIZES)]
    fn commit_of_one_change(bencher: Bencher<'_, '_>, objects: usize) {
        let runtime = runtime();
        let running = Running::start(&runtime, objects, 0);
        let mut version = 1;
        bencher
            .with_inputs(|| {
                version += 1;
                changed(version)
            })
            .bench_local_values(|pod| {
                let version = pod
                    .metadata
                    .resource_version
                    .as_deref()
                    .unwrap_or_default()
                    .into();
                runtime.block_on(async {
                    running.send(pod).await;
                    running
                        .informer
                        .wait_until(&version)
                        .await
                        .expect("the informer runs");
                });
            });
    }
}

/// One change through an informer, until every handler was called.
mod processor {
    use super::*;

    #[divan::bench(args = [1, 10, 100])]
    fn one_change(bencher: Bencher<'_, '_>, handlers: usize) {
        let runtime = runtime();
        let running = Running::start(&runtime, 1_000, handlers);
        let mut version = 1;
        bencher
            .counter(ItemsCount::new(handlers))
            .with_inputs(|| {
                version += 1;
                changed(version)
            })
            .bench_local_values(|pod| {
                runtime.block_on(async {
                    running.send(pod).await;
                    running.handled.notified().await;
                });
            });
    }
}

fn runtime() -> Runtime {
    Runtime::new().expect("threads can be started")
}

/// The next state of one Pod.
fn changed(version: usize) -> Arc<Pod> {
    pod_at(&name(7), version)
}

/// A synced informer without a server.
struct Running {
    informer: SharedInformer<Pod>,
    events: Sender<WatchEvent<Pod>>,
    /// Notified by the last handler that receives a change.
    handled: Arc<Notify>,
}

impl Running {
    fn start(runtime: &Runtime, objects: usize, handlers: usize) -> Self {
        let (feed, events) = Feed::new(objects, 1);
        let handled = Arc::new(Notify::new());
        let calls = Arc::new(AtomicUsize::new(0));
        let informer = runtime.block_on(async {
            let informer = SharedInformer::from_source(feed);
            for _ in 0..handlers {
                let (handled, calls) = (handled.clone(), calls.clone());
                let handler = move |event: Event<Pod>| {
                    if matches!(event, Event::Updated { .. })
                        && (calls.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(handlers)
                    {
                        handled.notify_one();
                    }
                };
                informer.add_handler(handler).expect("not stopped");
            }
            informer.start().expect("not started before");
            informer.synced().await.expect("the source lists");
            informer
        });
        Self {
            informer,
            events,
            handled,
        }
    }

    async fn send(&self, pod: Arc<Pod>) {
        let sent = self.events.send(WatchEvent::Modified(pod.into())).await;
        sent.expect("the informer watches");
    }
}
