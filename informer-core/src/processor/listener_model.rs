//! Loom models of a listener: its task is always woken, and takes nothing after the listener has ended.
//! `cargo test -p informer-core --features __model --lib model` runs them.

use k8s_openapi::api::core::v1::ConfigMap;
use loom::future::block_on;
use loom::thread;
use tokio::time::Instant;

use super::*;
use crate::handler::{Origin, Overflow};
use crate::key::ObjectKey;
use crate::store;

fn object(name: &str) -> Arc<ConfigMap> {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    Arc::new(object)
}

fn added(name: &str) -> [(Audience, Notification<ConfigMap>); 1] {
    [(Audience::All, Event::added(object(name), Origin::Live).into())]
}

fn listener(options: &HandlerOptions) -> Arc<Listener<ConfigMap>> {
    let name = "model".to_owned();
    Arc::new(Listener::new(
        1,
        name,
        "configmaps".into(),
        options,
        Served::ByTask,
        Signal::new(),
    ))
}

/// Runs a model with few enough preemptions to end in seconds.
fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

/// Takes events as a handler's task does, until it has `enough` or the listener ends. Returns their names.
fn serve(listener: &Listener<ConfigMap>, enough: usize) -> Vec<String> {
    let mut names = Vec::new();
    block_on(async {
        while names.len() < enough && listener.ready().await {
            let event = listener.take();
            names.extend(event.and_then(|event| event.object().metadata.name.clone()));
        }
    });
    names
}

#[track_caller]
fn assert_ended(listener: &Listener<ConfigMap>, reason: HandlerEnded) {
    let status = listener.status();
    assert_eq!(
        (status.state, status.depth),
        (HandlerState::Ended(reason), 0),
        "an ended listener keeps no events"
    );
}

#[test]
fn a_push_wakes_the_task() {
    check(|| {
        let listener = listener(&HandlerOptions::default());
        let pusher = {
            let listener = listener.clone();
            thread::spawn(move || {
                listener.push_all(added("a"), Instant::now());
                listener.push_initial_end();
                listener.push_all(added("b"), Instant::now());
            })
        };
        assert_eq!(serve(&listener, 2), ["a", "b"]);
        assert!(listener.synced.is_set());
        pusher.join().unwrap();
    });
}

#[test]
fn the_end_of_the_initial_state_wakes_the_task() {
    check(|| {
        let listener = listener(&HandlerOptions::default());
        let pusher = {
            let listener = listener.clone();
            thread::spawn(move || listener.push_initial_end())
        };
        assert!(block_on(listener.ready()));
        assert!(listener.take().is_none());
        assert!(listener.synced.is_set());
        pusher.join().unwrap();
    });
}

#[test]
fn two_pushers_wake_the_task_for_both() {
    check(|| {
        let listener = listener(&HandlerOptions::default());
        let pushers = ["a", "b"].map(|name| {
            let listener = listener.clone();
            thread::spawn(move || listener.push_all(added(name), Instant::now()))
        });
        let mut names = serve(&listener, 2);
        names.sort();
        assert_eq!(names, ["a", "b"]);
        for pusher in pushers {
            pusher.join().unwrap();
        }
    });
}

#[test]
fn nothing_is_taken_after_a_removal() {
    check(|| {
        let listener = listener(&HandlerOptions::default());
        let pusher = {
            let listener = listener.clone();
            thread::spawn(move || {
                listener.push_all(added("a"), Instant::now());
                listener.push_all(added("b"), Instant::now());
            })
        };
        let remover = {
            let listener = listener.clone();
            thread::spawn(move || {
                listener.remove();
                assert!(listener.take().is_none(), "a removal takes effect at the call");
            })
        };
        let names = serve(&listener, usize::MAX);
        assert!(["a", "b"].starts_with(&names.iter().map(String::as_str).collect::<Vec<_>>()));
        pusher.join().unwrap();
        remover.join().unwrap();
        assert_ended(&listener, HandlerEnded::Removed);
    });
}

#[test]
fn a_removal_waits_for_the_call_that_was_taken() {
    check(|| {
        let listener = listener(&HandlerOptions::default());
        listener.push_all(added("a"), Instant::now());
        let serving = listener.serve();
        let remover = {
            let listener = listener.clone();
            thread::spawn(move || {
                let last_call = listener.remove();
                assert!(last_call.is_some(), "a task serves the listener");
            })
        };
        if listener.take().is_some() {
            assert!(listener.is_busy(), "busy from the moment the event is taken");
            assert!(!listener.ended.is_set(), "the call has not returned");
            listener.returned(None);
        }
        remover.join().unwrap();
        drop(serving);
        assert!(listener.ended.is_set());
    });
}

#[test]
fn an_overflow_wakes_the_task_to_its_end() {
    check(|| {
        let options = HandlerOptions::default()
            .buffer(1)
            .on_overflow(Overflow::Disconnect);
        let listener = listener(&options);
        let pusher = {
            let listener = listener.clone();
            thread::spawn(move || {
                listener.push_all(added("a"), Instant::now());
                listener.push_all(added("b"), Instant::now());
                listener.stop();
            })
        };
        let names = serve(&listener, usize::MAX);
        pusher.join().unwrap();
        match listener.status().state {
            HandlerState::Ended(HandlerEnded::Disconnected) => {
                assert!(names.is_empty(), "the first event still waited: {names:?}");
            }
            state => assert_eq!(state, HandlerState::Ended(HandlerEnded::Stopped)),
        }
    });
}

#[test]
fn a_listener_that_ends_during_the_replay_keeps_nothing() {
    check(|| {
        let (mut writer, indexer) = store::new();
        let mut commit = writer.begin();
        commit.upsert(ObjectKey::cluster("a"), object("a"));
        commit.publish();
        let listener = listener(&HandlerOptions::default());
        listener.replay(indexer.snapshot());
        let remover = {
            let listener = listener.clone();
            thread::spawn(move || {
                listener.remove();
            })
        };
        let names = serve(&listener, usize::MAX);
        assert!(names.len() <= 1, "{names:?}");
        remover.join().unwrap();
        assert_ended(&listener, HandlerEnded::Removed);
    });
}
