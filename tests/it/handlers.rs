//! The kinds of handlers: closures, `Handlers`, trait objects, `Filtered` and async ones, and the accessors
//! of an event.

use std::sync::{Arc, Mutex};

use informer_core::{
    Deleted, Event, EventHandler, Filtered, HandlerOptions, Handlers, ObjectKey, Offload, Origin, UpdateCause,
};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::timeout;

use crate::queue_support::{LONG, object};
use crate::scripted::FeedRig;

/// Received events, in order.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    fn note(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    fn handler(&self) -> impl EventHandler<ConfigMap> + use<> {
        let diary = self.clone();
        move |event: Event<ConfigMap>| diary.note(format!("{event:?}"))
    }

    #[track_caller]
    fn check(&self, expected: &[&str]) {
        let received = std::mem::take(&mut *self.0.lock().unwrap());
        assert_eq!(received, expected);
    }
}

fn added(at: u64, origin: Origin) -> Event<ConfigMap> {
    Event::added(object("a", at), origin)
}

fn updated(old: u64, new: u64) -> Event<ConfigMap> {
    Event::updated(object("a", old), object("a", new), UpdateCause::Change)
}

fn observed(at: u64) -> Event<ConfigMap> {
    Event::Deleted(Deleted::Observed(object("a", at)))
}

fn missed(at: u64) -> Event<ConfigMap> {
    Event::missed(ObjectKey::cluster("a"), object("a", at))
}

/// Upstream: TestTypedResourceEventHandlerFuncs, TestTypedResourceEventHandlerDetailedFuncs.
#[test]
fn each_function_of_handlers_receives_its_kind_of_event() {
    let diary = Diary::default();
    let [on_add, on_update, on_delete] = [diary.clone(), diary.clone(), diary.clone()];
    let version = |object: &ConfigMap| object.metadata.resource_version.clone().unwrap();
    let mut handlers = Handlers::<ConfigMap>::new()
        .on_add(move |object, origin| on_add.note(format!("add {} {origin:?}", version(&object))))
        .on_update(move |old, new| on_update.note(format!("update {} {}", version(&old), version(&new))))
        .on_delete(move |deleted| on_delete.note(format!("delete {}", version(deleted.last_known()))));
    for event in [
        added(1, Origin::Initial),
        added(2, Origin::Live),
        updated(2, 3),
        observed(4),
        missed(5),
    ] {
        handlers.on_event(event);
    }
    diary.check(&[
        "add 1 Initial",
        "add 2 Live",
        "update 2 3",
        "delete 4",
        "delete 5",
    ]);
}

/// Upstream: TestTypedResourceEventHandlerFuncs, for its functions that are not set.
#[test]
fn handlers_ignore_what_they_have_no_function_for() {
    let diary = Diary::default();
    let on_delete = diary.clone();
    let mut handlers =
        Handlers::<ConfigMap>::default().on_delete(move |_| on_delete.note("delete".to_owned()));
    for event in [added(1, Origin::Live), updated(1, 2), observed(3)] {
        handlers.on_event(event);
    }
    diary.check(&["delete"]);
}

/// A handler with a filter for an annotation that changes.
fn wanted(diary: &Diary) -> impl EventHandler<ConfigMap> + use<> {
    Filtered::new(
        |object: &ConfigMap| {
            object
                .data
                .as_ref()
                .is_some_and(|data| data.contains_key("wanted"))
        },
        diary.handler(),
    )
}

fn state(at: u64, is_wanted: bool) -> Arc<ConfigMap> {
    let mut object = Arc::unwrap_or_clone(object("a", at));
    if is_wanted {
        object.data = Some([("wanted".to_owned(), String::new())].into());
    }
    Arc::new(object)
}

#[track_caller]
fn check_filtered(events: impl IntoIterator<Item = Event<ConfigMap>>, expected: &[&str]) {
    let diary = Diary::default();
    let mut handler = wanted(&diary);
    for event in events {
        handler.on_event(event);
    }
    diary.check(expected);
}

/// Upstream: TestTypedFilteringResourceEventHandler.
#[test]
fn an_update_across_the_filter_becomes_an_addition_or_a_deletion() {
    let add = |at, is_wanted| Event::added(state(at, is_wanted), Origin::Initial);
    let update = |(old, was_wanted), (new, is_wanted)| {
        Event::updated(state(old, was_wanted), state(new, is_wanted), UpdateCause::Change)
    };
    let delete = |at, is_wanted| Event::Deleted(Deleted::Observed(state(at, is_wanted)));

    let added = "Added(a@1, Initial)";
    check_filtered([add(1, true)], &[added]);
    check_filtered([add(1, false)], &[]);
    check_filtered(
        [add(1, true), update((1, true), (2, true))],
        &[added, "Updated(a@1 -> a@2, Change)"],
    );
    check_filtered(
        [add(1, true), update((1, true), (2, false))],
        &[added, "Deleted(Observed(a@1))"],
    );
    check_filtered(
        [add(1, false), update((1, false), (2, true))],
        &["Added(a@2, Live)"],
    );
    check_filtered([add(1, false), update((1, false), (2, false))], &[]);
    check_filtered(
        [add(1, true), delete(2, true)],
        &[added, "Deleted(Observed(a@2))"],
    );
    check_filtered([add(1, false), delete(2, false)], &[]);
    check_filtered(
        [
            add(1, true),
            update((1, true), (2, false)),
            update((2, false), (3, true)),
            delete(4, true),
            add(5, true),
        ],
        &[
            added,
            "Deleted(Observed(a@1))",
            "Added(a@3, Live)",
            "Deleted(Observed(a@4))",
            "Added(a@5, Initial)",
        ],
    );
}

/// Upstream applies the filter to the last state: there, an object that stopped matching with its last change
/// is never deleted for a handler that received its addition.
#[test]
fn a_filter_never_loses_the_deletion_of_what_it_let_through() {
    let add = |is_wanted| Event::added(state(1, is_wanted), Origin::Live);
    let last = |is_wanted| Event::Deleted(Deleted::Observed(state(2, is_wanted)));
    check_filtered(
        [add(true), last(false)],
        &["Added(a@1, Live)", "Deleted(Observed(a@2))"],
    );
    check_filtered([add(false), last(true)], &[]);
    check_filtered(
        [add(true), Event::missed(ObjectKey::cluster("a"), state(1, true))],
        &["Added(a@1, Live)", "Deleted(Missed(a, last known a@1))"],
    );
}

/// The filter is not always a function of the object alone: keys that passed before count, not its current
/// result.
#[test]
fn a_filter_that_changes_its_mind_delivers_a_consistent_history() {
    let diary = Diary::default();
    let open = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let gate = open.clone();
    let mut handler = Filtered::new(
        move |_: &ConfigMap| gate.load(std::sync::atomic::Ordering::Relaxed),
        diary.handler(),
    );
    let resync = |at| {
        let object = object("a", at);
        Event::updated(object.clone(), object, UpdateCause::Resync)
    };
    handler.on_event(added(1, Origin::Live));
    open.store(false, std::sync::atomic::Ordering::Relaxed);
    handler.on_event(resync(1));
    handler.on_event(resync(1));
    open.store(true, std::sync::atomic::Ordering::Relaxed);
    handler.on_event(updated(1, 2));
    handler.on_event(observed(3));
    diary.check(&[
        "Added(a@1, Live)",
        "Deleted(Observed(a@1))",
        "Added(a@2, Live)",
        "Deleted(Observed(a@3))",
    ]);
}

/// Upstream: TestDeltaFIFO_KeyOf, TestRealFIFO_KeyOf, TestDeletedObjectGetKey,
/// TestDeletedObjectGetObjectName, TestDeletionHandlingObjectToName, TestTypedResourceEventHandlerAdapter. A
/// tombstone without an object cannot be written.
#[test]
fn every_event_knows_its_key_and_its_newest_object() {
    let (key, last) = (ObjectKey::namespaced("web", "a"), object("web/a", 1));
    for event in [
        Event::added(last.clone(), Origin::Live),
        Event::updated(object("web/a", 0), last.clone(), UpdateCause::Change),
        Event::Deleted(Deleted::Observed(last.clone())),
        Event::missed(key.clone(), last.clone()),
    ] {
        assert_eq!(event.key().as_ref(), Some(&key), "{event:?}");
        assert!(Arc::ptr_eq(event.object(), &last), "{event:?}");
    }
    let nameless = Arc::new(ConfigMap::default());
    assert_eq!(Event::added(nameless.clone(), Origin::Live).key(), None);
    // A tombstone has the key even if its object has none.
    assert_eq!(Event::missed(key.clone(), nameless).key(), Some(key));
}

/// Objects may be Secrets, and events may be logged.
#[test]
fn debug_output_names_objects_and_never_shows_their_contents() {
    let secret = |at: u64| {
        let mut secret = Secret::default();
        secret.metadata.namespace = Some("web".to_owned());
        secret.metadata.name = Some("token".to_owned());
        secret.metadata.resource_version = Some(at.to_string());
        secret.metadata.annotations = Some([("note".to_owned(), "hunter2".to_owned())].into());
        secret.data = Some([("hunter2".to_owned(), ByteString(b"hunter2".to_vec()))].into());
        secret.string_data = Some([("plain".to_owned(), "hunter2".to_owned())].into());
        Arc::new(secret)
    };
    let check = |event: Event<Secret>, expected: &str| {
        assert_eq!(format!("{event:?}"), expected);
        assert!(!format!("{event:#?}").contains("hunter2"));
    };
    let key = ObjectKey::namespaced("web", "token");
    check(
        Event::added(secret(1), Origin::Initial),
        "Added(web/token@1, Initial)",
    );
    check(
        Event::updated(secret(1), secret(2), UpdateCause::Change),
        "Updated(web/token@1 -> web/token@2, Change)",
    );
    check(
        Event::Deleted(Deleted::Observed(secret(3))),
        "Deleted(Observed(web/token@3))",
    );
    check(
        Event::missed(key, secret(3)),
        "Deleted(Missed(web/token, last known web/token@3))",
    );
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_handler_can_be_added_and_receives_the_same() {
    let mut script = FeedRig::start(1, vec![object("a", 1)]).await;
    let diaries: [Diary; 5] = Default::default();
    let [closure, functions, boxed, filtered, awaiting] = diaries.clone();
    let options = || HandlerOptions::default().run_on(Offload::Inline);
    let informer = &script.informer;

    informer.add_handler_with(options(), closure.handler()).unwrap();
    let functions = {
        let [add, delete] = [functions.clone(), functions];
        Handlers::<ConfigMap>::new()
            .on_add(move |object, origin| add.note(format!("{:?}", Event::added(object, origin))))
            .on_delete(move |deleted| delete.note(format!("{:?}", Event::Deleted(deleted))))
    };
    informer.add_handler_with(options(), functions).unwrap();
    let boxed: Box<dyn EventHandler<ConfigMap>> = Box::new(boxed.handler());
    informer.add_handler_with(options(), boxed).unwrap();
    let filtered = Filtered::new(|_: &ConfigMap| true, filtered.handler());
    informer.add_handler_with(options(), filtered).unwrap();
    informer
        .add_async_handler(move |event: Event<ConfigMap>| {
            let diary = awaiting.clone();
            async move {
                tokio::task::yield_now().await;
                diary.note(format!("{event:?}"));
            }
        })
        .unwrap();
    // An async closure that captures nothing is a handler too.
    informer
        .add_async_handler(async |event: Event<ConfigMap>| drop(event))
        .unwrap();

    script.server.added(object("b", 2));
    script.server.deleted(object("a", 3));
    script
        .check(&[
            "Added(a@1, Initial)",
            "Added(b@2, Live)",
            "Deleted(Observed(a@3))",
        ])
        .await;
    for diary in diaries {
        diary.check(&[
            "Added(a@1, Initial)",
            "Added(b@2, Live)",
            "Deleted(Observed(a@3))",
        ]);
    }
}

/// A handler on the blocking pool, the default: it receives the same events in order.
#[tokio::test]
async fn a_handler_on_the_blocking_pool_receives_everything_in_order() {
    let script = FeedRig::start(1, vec![object("a", 1)]).await;
    let (tell, mut received) = unbounded_channel();
    let handler = move |event: Event<ConfigMap>| tell.send(format!("{event:?}")).unwrap();
    script.informer.add_handler(handler).unwrap();
    for at in 2..50 {
        script.server.modified(object("a", at));
    }
    let mut next = async || timeout(LONG, received.recv()).await.unwrap().unwrap();
    assert_eq!(next().await, "Added(a@1, Initial)");
    for at in 2..50 {
        assert_eq!(next().await, format!("Updated(a@{} -> a@{at}, Change)", at - 1));
    }
    script.informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_async_handler_receives_the_next_event_after_its_future_ends() {
    let script = FeedRig::start(2, vec![object("a", 1), object("b", 2)]).await;
    let gate = Arc::new(Semaphore::new(0));
    let (tell, mut begun) = unbounded_channel();
    let handler = {
        let gate = gate.clone();
        move |event: Event<ConfigMap>| {
            tell.send(format!("{event:?}")).unwrap();
            let gate = gate.clone();
            async move { gate.acquire().await.unwrap().forget() }
        }
    };
    script.informer.add_async_handler(handler).unwrap();
    for expected in ["Added(a@1, Initial)", "Added(b@2, Initial)"] {
        assert_eq!(timeout(LONG, begun.recv()).await.unwrap().unwrap(), expected);
        timeout(LONG, begun.recv())
            .await
            .expect_err("the last call is not done");
        gate.add_permits(1);
    }
}
