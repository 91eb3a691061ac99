//! Six listeners with different speeds and options on one informer: `cargo run --example many_handlers --
//! --help`.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use informer_testing::demo::{self, Demo, Program, Script};
use informers::{
    Event, Filtered, HandlerOptions, Origin, Overflow, SharedInformer, SharedInformerFactory, UpdateCause,
    client,
};
use k8s_openapi::api::core::v1::Pod;

#[tokio::main]
async fn main() -> ExitCode {
    let program = Program::new("Shows what different handlers receive from one informer.");
    program.script(Script::resyncs()).run(compare_handlers).await
}

async fn compare_handlers(demo: &mut Demo) -> demo::Result {
    // The cluster of your kubeconfig, or an embedded server on which something happens.
    let client = demo.connect(client::try_default()).await?;
    // Handlers receive every object again after this time, unless their options say otherwise.
    let mut builder = SharedInformerFactory::builder(client).resync(Duration::from_secs(2));
    if let Some(namespaces) = demo.namespaces() {
        builder = builder.namespaces(namespaces);
    }
    let factory = builder.build()?;
    let pods = factory.core().v1().pods().informer();
    let tally = Tally::default();
    add_handlers(&pods, &tally)?;
    // The sixth listener is a stream, read here.
    let mut events = pods.events_with(&named("stream").resync(Some(Duration::from_secs(1))));

    factory.start();
    let mut progress = factory.progress();
    // Waits for the cache and for the handlers: the slow one delays this, and nothing else.
    let synced = factory.wait_for_sync_within(demo.timeout());
    demo.wait(synced, async || progress.next().await).await?;

    let screen = demo.screen();
    while let Some(event) = demo.or_end(events.next()).await.flatten() {
        tally.count("stream", &event);
        match &event {
            Event::Added { object, .. } => screen.added(object),
            Event::Updated {
                new,
                cause: UpdateCause::Resync,
                ..
            } => screen.resync(new),
            Event::Updated { old, new, .. } => screen.updated(old, new),
            Event::Deleted(deleted) => screen.deleted(deleted.last_known()),
        }
    }
    demo.line("handler    state    initial  added  updated  deleted  resyncs  panics");
    for handler in pods.status().handlers {
        let [initial, added, updated, deleted, resyncs] = tally.of(&handler.name);
        demo.line(format_args!(
            "{:<10} {:<8} {initial:>7}  {added:>5}  {updated:>7}  {deleted:>7}  {resyncs:>7}  {:>6}",
            handler.name,
            format!("{:?}", handler.state),
            handler.panics,
        ));
    }
    factory.shutdown().await;
    Ok(())
}

/// Adds five handlers. Each has its own buffer and its own task: none of them affects another.
fn add_handlers(pods: &SharedInformer<Pod>, tally: &Tally) -> demo::Result {
    // Receives everything again every second, changed or not.
    let audit = tally.clone();
    let options = named("audit").resync(Some(Duration::from_secs(1)));
    pods.add_handler_with(options, move |event: Event<Pod>| audit.count("audit", &event))?;

    // Blocks its thread. When more than four events wait, they are folded into the newest state of each pod.
    let slow = tally.clone();
    let options = named("slow")
        .resync(None)
        .buffer(4)
        .on_overflow(Overflow::Coalesce);
    pods.add_handler_with(options, move |event: Event<Pod>| {
        std::thread::sleep(Duration::from_millis(100));
        slow.count("slow", &event);
    })?;

    // Panics at its first event, and continues with the next.
    let (fragile, panicked) = (tally.clone(), AtomicBool::new(false));
    pods.add_handler_with(named("fragile").resync(None), move |event: Event<Pod>| {
        assert!(
            panicked.swap(true, Ordering::Relaxed),
            "the fragile handler panicked, once"
        );
        fragile.count("fragile", &event);
    })?;

    // Awaits, and has the resync of the factory.
    let awaits = tally.clone();
    pods.add_async_handler_with(named("async"), move |event: Event<Pod>| {
        let awaits = awaits.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            awaits.count("async", &event);
        }
    })?;

    // Receives running pods only: a pod that stops running is a deletion.
    let running = tally.clone();
    let is_running =
        |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running");
    let filtered = Filtered::new(is_running, move |event: Event<Pod>| {
        running.count("filtered", &event)
    });
    pods.add_handler_with(named("filtered").resync(None), filtered)?;
    Ok(())
}

/// Options with nothing but a name, by which the status of the informer lists a handler.
fn named(name: &str) -> HandlerOptions {
    HandlerOptions::default().name(name)
}

/// The events of each handler: initial, added, updated, deleted, resyncs.
#[derive(Clone, Default)]
struct Tally(Arc<Mutex<BTreeMap<String, [usize; 5]>>>);

impl Tally {
    fn count(&self, handler: &str, event: &Event<Pod>) {
        let kind = match event {
            Event::Added { origin, .. } => usize::from(*origin != Origin::Initial),
            Event::Updated { cause, .. } if *cause == UpdateCause::Resync => 4,
            Event::Updated { .. } => 2,
            Event::Deleted(_) => 3,
        };
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.entry(handler.to_owned()).or_default()[kind] += 1;
    }

    fn of(&self, handler: &str) -> [usize; 5] {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(handler).copied().unwrap_or_default()
    }
}
