//! Models of a handler's inbox under every schedule loom can think of: the handler's task is always woken, and takes nothing
//! once the inbox has ended. `cargo test -p informer-core --features __model --lib model` runs them.

use std::future::poll_fn;

use k8s_openapi::api::core::v1::ConfigMap;
use loom::future::block_on;
use loom::thread;

use super::*;
use crate::handler::Overflow;
use crate::key::ObjectKey;
use crate::store;

fn object(name: &str) -> Arc<ConfigMap> {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    Arc::new(object)
}

fn added(name: &str) -> Event<ConfigMap> {
    Event::added(object(name), Origin::Live)
}

fn mailbox(options: &HandlerOptions) -> Arc<Mailbox<ConfigMap>> {
    Arc::new(Mailbox::new(options))
}

/// Runs a model with few enough switches between threads to end in seconds.
fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

/// Serves the inbox as a handler's task does, until it has taken `enough` or the inbox ends; what it took, by name.
fn serve(mailbox: &Mailbox<ConfigMap>, enough: usize) -> Vec<String> {
    let mut heard = Vec::new();
    block_on(async {
        while heard.len() < enough {
            poll_fn(|cx| mailbox.poll_ready(cx)).await;
            match mailbox.take() {
                Taken::Item(Item::Event(event)) => {
                    heard.extend(event.object().metadata.name.clone());
                }
                Taken::Item(Item::InitialEnd) => heard.push("(initial end)".to_owned()),
                Taken::Nothing => {}
                Taken::End => break,
            }
        }
    });
    heard
}

#[test]
fn a_push_wakes_the_handler() {
    check(|| {
        let mailbox = mailbox(&HandlerOptions::default());
        let pusher = {
            let mailbox = mailbox.clone();
            thread::spawn(move || {
                mailbox.push_all([added("a")].into_iter());
                mailbox.push_initial_end();
                mailbox.push_all([added("b")].into_iter());
            })
        };
        assert_eq!(serve(&mailbox, 3), ["a", "(initial end)", "b"]);
        pusher.join().unwrap();
    });
}

#[test]
fn two_pushers_wake_the_handler_for_both() {
    check(|| {
        let mailbox = mailbox(&HandlerOptions::default());
        let pushers = ["a", "b"].map(|name| {
            let mailbox = mailbox.clone();
            thread::spawn(move || mailbox.push_all([added(name)].into_iter()))
        });
        let mut heard = serve(&mailbox, 2);
        heard.sort();
        assert_eq!(heard, ["a", "b"]);
        for pusher in pushers {
            pusher.join().unwrap();
        }
    });
}

#[test]
fn nothing_is_taken_after_the_end() {
    check(|| {
        let mailbox = mailbox(&HandlerOptions::default());
        let pusher = {
            let mailbox = mailbox.clone();
            thread::spawn(move || {
                mailbox.push_all([added("a")].into_iter());
                mailbox.push_all([added("b")].into_iter());
            })
        };
        let remover = {
            let mailbox = mailbox.clone();
            thread::spawn(move || {
                mailbox.end(HandlerState::Removed);
                // Whoever removed a handler may rely on this from now on.
                assert!(matches!(mailbox.take(), Taken::End));
            })
        };
        let heard = serve(&mailbox, usize::MAX);
        assert!(["a", "b"].starts_with(&heard.iter().map(String::as_str).collect::<Vec<_>>()));
        pusher.join().unwrap();
        remover.join().unwrap();
        assert_eq!(mailbox.overview(), (HandlerState::Removed, 0, BufferMode::Exact));
    });
}

#[test]
fn an_overflow_wakes_the_handler_to_its_end() {
    check(|| {
        let options = HandlerOptions::default()
            .buffer(1)
            .on_overflow(Overflow::Disconnect);
        let mailbox = mailbox(&options);
        let pusher = {
            let mailbox = mailbox.clone();
            thread::spawn(move || {
                mailbox.push_all([added("a")].into_iter());
                mailbox.push_all([added("b")].into_iter());
                mailbox.end(HandlerState::Stopped);
            })
        };
        let heard = serve(&mailbox, usize::MAX);
        pusher.join().unwrap();
        match mailbox.state() {
            HandlerState::Disconnected => assert!(heard.is_empty(), "the first still waited: {heard:?}"),
            state => assert_eq!(state, HandlerState::Stopped),
        }
    });
}

#[test]
fn an_inbox_that_ends_during_the_replay_keeps_nothing() {
    check(|| {
        let (mut writer, indexer) = store::new();
        let mut commit = writer.begin();
        commit.upsert(ObjectKey::cluster("a"), object("a"));
        commit.publish();
        let mailbox = mailbox(&HandlerOptions::default());
        mailbox.replay(indexer.snapshot());
        let remover = {
            let mailbox = mailbox.clone();
            thread::spawn(move || mailbox.end(HandlerState::Removed))
        };
        let heard = serve(&mailbox, usize::MAX);
        assert!(heard.len() <= 1, "{heard:?}");
        remover.join().unwrap();
        assert_eq!(mailbox.overview(), (HandlerState::Removed, 0, BufferMode::Exact));
    });
}
