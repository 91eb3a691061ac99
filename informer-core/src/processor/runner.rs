//! The task of one handler: takes events from its listener and calls the handler, one event after the
//! other.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use tokio::time::Instant;
use tracing::Span;
use tracing::level_filters::LevelFilter;

use super::listener::Listener;
use super::shift::Shift;
use crate::handler::{AsyncEventHandler, Event, EventHandler};
use crate::mutant;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::sync::{Offload, panic_text, simulation};

/// Serves a handler that may block, until its listener ends.
pub(crate) async fn run_blocking<K: Object, H: EventHandler<K>>(
    listener: Arc<Listener<K>>,
    mut handler: H,
    run_on: Offload,
) {
    let _serving = listener.serve();
    let mut shift = Shift::of_current_runtime();
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
                let served = tokio::task::spawn_blocking(move || {
                    shift.begin();
                    serve(&worker, &mut handler, &mut shift);
                    (handler, shift)
                });
                match served.await {
                    Ok(back) => (handler, shift) = back,
                    // The runtime is shutting down, and the handler was dropped with its thread.
                    Err(_) => return,
                }
            }
        }
    }
}

/// Calls the handler for every event until the shift is over.
fn serve<K: Object>(listener: &Listener<K>, handler: &mut impl EventHandler<K>, shift: &mut Shift) {
    loop {
        let mut now = None;
        while let Some(event) = listener.take_at(now) {
            let returned = call(listener, handler, event);
            now = Some(returned);
            if shift.ends(returned) {
                return;
            }
        }
        if !shift.wait(listener) {
            return;
        }
    }
}

/// Calls the handler, and returns when it has returned.
fn call<K: Object>(listener: &Listener<K>, handler: &mut impl EventHandler<K>, event: Event<K>) -> Instant {
    if mutant::is("I14") {
        handler.on_event(event);
        return listener.returned(None);
    }
    let _entered = span(listener, &event).entered();
    let outcome = catch_unwind(AssertUnwindSafe(|| listener.inside(|| handler.on_event(event))));
    listener.returned(outcome.err().map(|payload| panic_text(payload.as_ref())))
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
        // Yields from time to time. To yield after each event would cost more than most handlers.
        tokio::task::coop::consume_budget().await;
    }
}

/// Polls one call to its end, and catches a panic in any poll. Returns the panic's message.
async fn call_async<K: Object>(
    listener: &Listener<K>,
    handler: &mut impl AsyncEventHandler<K>,
    event: Event<K>,
) -> Option<String> {
    let span = span(listener, &event);
    let begun =
        span.in_scope(|| catch_unwind(AssertUnwindSafe(|| listener.inside(|| handler.on_event(event)))));
    let mut future = match begun {
        Ok(future) => pin!(future),
        Err(payload) => return Some(panic_text(payload.as_ref())),
    };
    std::future::poll_fn(|cx| {
        let _entered = span.enter();
        match catch_unwind(AssertUnwindSafe(|| listener.inside(|| future.as_mut().poll(cx)))) {
            Ok(poll) => poll.map(|()| None),
            Err(payload) => Poll::Ready(Some(panic_text(payload.as_ref()))),
        }
    })
    .await
}

/// The span of one call. At `TRACE`, because there is one per event; else this reads one variable.
fn span<K: Object>(listener: &Listener<K>, event: &Event<K>) -> Span {
    // Without a subscriber, tracing computes the fields of a disabled span if its feature `log` is on.
    if LevelFilter::current() < LevelFilter::TRACE {
        return Span::none();
    }
    tracing::trace_span!(
        "handler",
        handler = listener.name(),
        resource = listener.resource(),
        key = event.key().map(tracing::field::display),
        rv = ResourceVersion::of(event.object().meta()).map(tracing::field::display),
    )
}
