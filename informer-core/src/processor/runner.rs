//! The task of one handler: takes events from its listener and calls the handler, one event after the
//! other.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use super::listener::Listener;
use crate::handler::{AsyncEventHandler, Event, EventHandler};
use crate::mutant;
use crate::object::Object;
use crate::sync::{Offload, panic_text, simulation};

/// Serves a handler that may block, until its listener ends.
pub(crate) async fn run_blocking<K: Object, H: EventHandler<K>>(
    listener: Arc<Listener<K>>,
    mut handler: H,
    run_on: Offload,
) {
    let _serving = listener.serve();
    while listener.ready().await {
        match run_on {
            Offload::Inline => {
                simulation::yield_point().await;
                if let Some(event) = listener.take() {
                    call(&listener, &mut handler, event);
                }
                tokio::task::yield_now().await;
            }
            Offload::BlockingPool => {
                if let Some(time) = simulation::work_time() {
                    tokio::time::sleep(time).await;
                    if let Some(event) = listener.take() {
                        call(&listener, &mut handler, event);
                    }
                    continue;
                }
                let worker = listener.clone();
                let drained = tokio::task::spawn_blocking(move || {
                    while let Some(event) = worker.take() {
                        call(&worker, &mut handler, event);
                    }
                    handler
                });
                match drained.await {
                    Ok(back) => handler = back,
                    // The runtime is shutting down, and the handler was dropped with its thread.
                    Err(_) => return,
                }
            }
        }
    }
}

fn call<K: Object>(listener: &Listener<K>, handler: &mut impl EventHandler<K>, event: Event<K>) {
    if mutant::is("I14") {
        handler.on_event(event);
        listener.returned(None);
        return;
    }
    let outcome = catch_unwind(AssertUnwindSafe(|| listener.inside(|| handler.on_event(event))));
    listener.returned(outcome.err().map(|payload| panic_text(payload.as_ref())));
}

/// Serves an async handler until its listener ends.
pub(crate) async fn run_async<K: Object, H: AsyncEventHandler<K>>(
    listener: Arc<Listener<K>>,
    mut handler: H,
) {
    let _serving = listener.serve();
    while listener.ready().await {
        simulation::yield_point().await;
        if let Some(event) = listener.take() {
            let panic = call_async(&listener, &mut handler, event).await;
            listener.returned(panic);
        }
        tokio::task::yield_now().await;
    }
}

/// Polls one call to its end, and catches a panic in any poll. Returns the panic's message.
async fn call_async<K: Object>(
    listener: &Listener<K>,
    handler: &mut impl AsyncEventHandler<K>,
    event: Event<K>,
) -> Option<String> {
    let begun = catch_unwind(AssertUnwindSafe(|| listener.inside(|| handler.on_event(event))));
    let mut future = match begun {
        Ok(future) => pin!(future),
        Err(payload) => return Some(panic_text(payload.as_ref())),
    };
    std::future::poll_fn(|cx| {
        match catch_unwind(AssertUnwindSafe(|| listener.inside(|| future.as_mut().poll(cx)))) {
            Ok(poll) => poll.map(|()| None),
            Err(payload) => Poll::Ready(Some(panic_text(payload.as_ref()))),
        }
    })
    .await
}
