//! When a thread stays with a handler, and when it leaves.

use k8s_openapi::api::core::v1::ConfigMap;

use super::*;
use crate::handler::{Event, HandlerOptions, Origin};
use crate::processor::distribution::Audience;
use crate::processor::listener::Served;
use crate::sync::Signal;

fn listener() -> Arc<Listener<ConfigMap>> {
    let (options, served) = (HandlerOptions::default(), Served::ByTask);
    let (name, resource) = ("it".to_owned(), "configmaps".into());
    Arc::new(Listener::new(1, name, resource, &options, served, Signal::new()))
}

fn push(listener: &Listener<ConfigMap>) {
    let event = Event::added(Arc::new(ConfigMap::default()), Origin::Live).into();
    listener.push_all([(Audience::All, event)], Instant::now());
}

/// A shift that began just now.
fn shift(rest: Rest) -> Shift {
    let now = Instant::now();
    Shift {
        began: now,
        idle_since: now,
        rest,
    }
}

#[test]
fn a_thread_that_does_not_stay_leaves_at_once() {
    for rest in [Rest::Never, Rest::Leave] {
        assert!(!shift(rest).wait(&*listener()));
    }
}

#[test]
fn a_thread_leaves_when_no_event_came() {
    let mut shift = shift(Rest::Look);
    assert!(!shift.wait(&*listener()));
    assert!(shift.idle_since.elapsed() >= STAY);
}

#[tokio::test(start_paused = true)]
async fn the_gap_before_an_event_decides_what_follows_it() {
    let soon = match can_spin() {
        true => Rest::Look,
        false => Rest::Sleep,
    };
    let gaps = [
        (Duration::ZERO, soon),
        (LOOK * 2, Rest::Sleep),
        (STAY, Rest::Leave),
        (STAY - LOOK, Rest::Sleep),
    ];
    let mut later = shift(Rest::Leave);
    for (gap, expected) in gaps {
        later.idle_since = Instant::now();
        tokio::time::advance(gap).await;
        later.begin();
        assert_eq!(later.rest, expected, "after {gap:?}");
    }
    let mut never = shift(Rest::Never);
    never.begin();
    assert_eq!(never.rest, Rest::Never);
}

#[test]
fn a_thread_that_stays_is_given_the_next_event() {
    for rest in [Rest::Sleep, Rest::Look] {
        let listener = listener();
        // The thread may leave before the event comes: another shift waits for it then.
        let worker = listener.clone();
        let waits = thread::spawn(move || while !shift(rest).wait(&worker) {});
        push(&listener);
        waits.join().unwrap();
        assert!(listener.take().is_some());
    }
}

#[test]
fn a_thread_leaves_when_its_listener_ends() {
    for rest in [Rest::Sleep, Rest::Look] {
        let listener = listener();
        listener.stop();
        assert!(!shift(rest).wait(&listener));
    }
}

#[tokio::test(start_paused = true)]
async fn a_shift_ends_although_events_wait() {
    let mut shift = shift(Rest::Sleep);
    assert!(!shift.is_over(Instant::now()));
    tokio::time::advance(LONGEST).await;
    assert!(shift.is_over(Instant::now()));
    let listener = listener();
    push(&listener);
    assert!(!shift.wait(&listener), "no wait begins after its end");
}

#[tokio::test]
async fn threads_do_not_stay_on_a_runtime_whose_clock_may_be_paused() {
    assert_eq!(Shift::of_current_runtime().rest, Rest::Never);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn threads_stay_on_the_multi_thread_runtime() {
    let expected = match fast_paths::are_on() {
        true => Rest::Leave,
        false => Rest::Never,
    };
    assert_eq!(Shift::of_current_runtime().rest, expected);
}

#[test]
fn a_thread_that_looks_knows_without_the_lock_whether_events_wait() {
    let listener = listener();
    assert!(!listener.has_event());
    push(&listener);
    push(&listener);
    assert!(listener.take().is_some() && listener.has_event());
    assert!(listener.take().is_some() && !listener.has_event());
    push(&listener);
    listener.stop();
    assert!(
        !listener.has_event(),
        "the events of an ended listener were dropped"
    );
}
