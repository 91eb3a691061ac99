//! The handlers and streams of one informer.

use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use informer_core::{
    Event, EventStream, HandlerEnded, HandlerOptions, HandlerState, Offload, Overflow, Registration,
    simulation,
};
use k8s_openapi::api::core::v1::ConfigMap;

use super::Subject;
use crate::observer::Observer;
use crate::plan::{HandlerKind, HandlerPlan};
use crate::verdict::report;

/// A handler or a stream that was added.
pub(super) struct Listening {
    pub(super) observer: Arc<Observer>,
    pub(super) plan: HandlerPlan,
    stream: Option<EventStream<ConfigMap>>,
    pub(super) removed: bool,
}

impl Subject {
    pub(crate) fn add_handler(&mut self, plan: HandlerPlan) {
        if self.is_stopped() {
            return;
        }
        let folds = plan.overflow == Overflow::Coalesce && plan.buffer.is_some();
        let kind = if folds { "folding" } else { "exact" };
        let name = format!("informer {} {kind} handler {}", self.number, self.added);
        self.added += 1;
        let observer = Observer::new(name.clone(), self.facts());
        let options = options(name, plan);
        let mut stream = None;
        let added = match plan.kind {
            HandlerKind::Quick | HandlerKind::Panicking(_) => {
                let receiving = observer.clone();
                self.informer
                    .add_handler_with(options, move |event: Event<ConfigMap>| {
                        let call = receiving.receive(&event);
                        panic_in(plan.kind, call);
                    })
            }
            HandlerKind::Slow(_) | HandlerKind::Async | HandlerKind::AsyncPanicking(_) => {
                let receiving = observer.clone();
                self.informer
                    .add_async_handler_with(options, move |event: Event<ConfigMap>| {
                        let receiving = receiving.clone();
                        async move {
                            let call = receiving.receive(&event);
                            simulation::yield_point().await;
                            if let HandlerKind::Slow(time) = plan.kind {
                                tokio::time::sleep(time).await;
                            }
                            panic_in(plan.kind, call);
                        }
                    })
            }
            HandlerKind::Stream => {
                let events = self.informer.events_with(&options);
                let registration = events.registration().clone();
                stream = Some(events);
                Ok(registration)
            }
        };
        match added {
            Ok(registration) => observer.registered(registration),
            Err(error) => report("I8", || format!("{} cannot be added: {error}", observer.name())),
        }
        self.listening.push(Listening {
            observer,
            plan,
            stream,
            removed: false,
        });
        // Adding a handler drops removed ones, so that short-lived handlers do not accumulate.
        let expected = self.listening.iter().filter(|one| !one.removed).count();
        let kept = self.informer.kept_handlers();
        if kept > expected {
            report("I12", || format!("{kept} handlers are kept of {expected} in use"));
        }
    }

    /// Removes a handler. The removal takes effect at the call; once awaited, the handler does not run any
    /// more.
    pub(crate) async fn remove_handler(&mut self, which: usize) {
        let mut active: Vec<&mut Listening> = self.listening.iter_mut().filter(|one| !one.removed).collect();
        if active.is_empty() {
            return;
        }
        let at = which % active.len();
        let listening = &mut active[at];
        listening.removed = true;
        listening.observer.end();
        listening.stream = None;
        if let Some(registration) = listening.observer.registration() {
            let gone = tokio::time::timeout(Duration::from_secs(60), registration.remove()).await;
            if gone.is_err() {
                report("I14", || format!("{} does not return", listening.observer.name()));
            }
        }
    }
}

impl Subject {
    /// Creates streams and drops them, every other one with a pending event: none is kept, and waits for
    /// their sync end.
    pub(crate) async fn short_streams(&mut self, count: usize) {
        if self.is_stopped() {
            return;
        }
        let in_use = self.listening.iter().filter(|one| !one.removed).count();
        for turn in 0..count {
            let name = format!("informer {} short stream", self.number);
            let mut stream = self.informer.events_with(&HandlerOptions::default().name(name));
            let kept = self.informer.kept_handlers();
            if kept > in_use + 1 {
                report("I12", || {
                    format!("{kept} handlers are kept of {} in use", in_use + 1)
                });
            }
            let registration = stream.registration().clone();
            let mut synced = std::pin::pin!(registration.synced());
            let ended = futures::future::poll_immediate(&mut synced).await.is_some();
            if turn % 2 == 0 {
                let _ = futures::future::poll_immediate(stream.next()).await;
            }
            simulation::yield_point().await;
            drop(stream);
            if !ended
                && tokio::time::timeout(Duration::from_secs(60), synced)
                    .await
                    .is_err()
            {
                report("I9", || {
                    "a wait for a stream that was dropped does not end".to_owned()
                });
            }
        }
    }
}

impl Listening {
    pub(super) fn state(&self) -> HandlerState {
        let registration = self.observer.registration().map(Registration::status);
        registration.map_or(HandlerState::Ended(HandlerEnded::Removed), |status| status.state)
    }

    /// Reads up to this many available events, if this is a stream.
    pub(super) async fn read(&mut self, events: usize) {
        let Some(stream) = &mut self.stream else { return };
        for _ in 0..events {
            let next = futures::future::poll_immediate(stream.next()).await;
            let Some(Some(event)) = next else { return };
            self.observer.receive(&event);
            simulation::yield_point().await;
        }
    }

    /// Checks the handler after the shutdown of its informer.
    pub(super) fn check_stopped(&self) {
        self.observer.end();
        if self.state() == HandlerState::Active {
            report("I9", || {
                format!("{} is active after the shutdown", self.observer.name())
            });
        }
        let synced = self.observer.registration().map(Registration::synced);
        if synced.is_some_and(|synced| synced.now_or_never().is_none()) {
            report("I9", || {
                format!("a wait for {} does not end", self.observer.name())
            });
        }
    }
}

fn options(name: String, plan: HandlerPlan) -> HandlerOptions {
    let mut options = HandlerOptions::default()
        .name(name)
        .run_on(Offload::Inline)
        .on_overflow(plan.overflow);
    if let Some(buffer) = plan.buffer {
        options = options.buffer(buffer);
    }
    match plan.resync {
        None => options,
        Some(0) => options.resync(None),
        Some(seconds) => options.resync(Some(Duration::from_secs(seconds))),
    }
}

fn panic_in(kind: HandlerKind, call: u64) {
    if let HandlerKind::Panicking(every) | HandlerKind::AsyncPanicking(every) = kind {
        assert!(!call.is_multiple_of(every), "simulated");
    }
}
