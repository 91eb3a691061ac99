//! Five handlers. Each has a buffer and a task of its own: what one does is nothing to the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use informers::{Event, Filtered, HandlerOptions, Overflow, SharedInformer};
use k8s_openapi::api::core::v1::Pod;

use super::report::Tally;
use super::shared::{Failure, pod};

/// Adds them all.
pub(crate) fn add(pods: &SharedInformer<Pod>, tally: &Arc<Tally>) -> Result<(), Failure> {
    // Hears everything again every second, changed or not.
    let audit = tally.clone();
    let options = named("audit").resync(Some(Duration::from_secs(1)));
    pods.add_handler_with(options, move |event: Event<Pod>| audit.count("audit", &event))?;

    // Blocks its thread. When more than four events wait, they are folded: the newest state of each pod.
    let slow = tally.clone();
    let options = named("slow")
        .resync(None)
        .buffer(4)
        .on_overflow(Overflow::Coalesce);
    pods.add_handler_with(options, move |event: Event<Pod>| {
        std::thread::sleep(Duration::from_millis(100));
        slow.count("slow", &event);
    })?;

    // Panics at its first event, and goes on with the next.
    let (fragile, panicked) = (tally.clone(), AtomicBool::new(false));
    pods.add_handler_with(named("fragile").resync(None), move |event: Event<Pod>| {
        assert!(
            panicked.swap(true, Ordering::Relaxed),
            "the fragile handler fell over, once"
        );
        fragile.count("fragile", &event);
    })?;

    // Awaits, and takes the factory's resync.
    let awaits = tally.clone();
    pods.add_async_handler_with(named("async"), move |event: Event<Pod>| {
        let awaits = awaits.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            awaits.count("async", &event);
        }
    })?;

    // Hears of running pods only: one that stops running is a deletion to it.
    let running = tally.clone();
    let filtered = Filtered::new(
        |pod: &Pod| pod::phase(pod) == "Running",
        move |event: Event<Pod>| running.count("filtered", &event),
    );
    pods.add_handler_with(named("filtered").resync(None), filtered)?;
    Ok(())
}

/// Options with nothing but a name, which is how the informer speaks of a handler.
pub(crate) fn named(name: &str) -> HandlerOptions {
    HandlerOptions::default().name(name)
}
