//! Objects outside the namespace that was requested. None of them may be cached, and they must be reported.

use informer_core::InformerStatus;

use crate::bodies::{
    GOOD_LIST, end_bookmark, event, frames_then_good, good_and, list_of, meta, object, object_in,
};
use crate::row::{Live, Row, initial, lists, watches};
use crate::script::json;

fn foreign() -> String {
    object_in("other", "secret-of-others", "7")
}

fn without() -> String {
    meta(r#""name":"without","uid":"u","resourceVersion":"7""#)
}

/// An informer of one namespace that refuses what it is sent, and reports it.
fn refusing(row: Row) -> Row {
    row.namespace("default").check(is_reported)
}

/// A watch that sends this, to an informer of one namespace with two objects.
fn watch(name: &str, frames: Vec<String>) -> Row {
    watches(name, move |call| frames_then_good(call, frames.clone()))
        .namespace("default")
        .minutes(30)
        .synced(true)
        .objects(2)
}

/// An initial stream of this and one good object.
fn initial_stream(name: &str, first: String) -> Row {
    let frames = [
        event("ADDED", &first),
        event("ADDED", &object("a", "5")),
        end_bookmark("10"),
    ];
    let row = initial(name, move |call| frames_then_good(call, frames.clone()));
    refusing(row).minutes(30).synced(true).objects(1)
}

/// An object that was refused is counted in the status.
fn is_reported(status: &InformerStatus) -> Result<(), String> {
    (status.scopes[0].counts.out_of_scope > 0)
        .then_some(())
        .ok_or_else(|| "nothing was reported".to_owned())
}

pub(crate) fn rows() -> Vec<Row> {
    let moved = object_in("other", "a", "11").replace("u-other-a", "u-a");
    vec![
        refusing(lists("an item of another namespace", |_| {
            json(good_and(&foreign()))
        }))
        .lives(2),
        refusing(lists("an item of no namespace", |_| json(good_and(&without())))).lives(2),
        refusing(lists("a list of nothing but another namespace", |_| {
            json(list_of(&[foreign(), foreign()]))
        }))
        .state(Live)
        .objects(0),
        refusing(lists("another namespace that begins like ours", |_| {
            json(good_and(&object_in("default-2", "c", "7")))
        }))
        .lives(2),
        refusing(lists(
            "an item of another namespace, which is transformed",
            |_| json(good_and(&foreign())),
        ))
        .transformed()
        .lives(2),
        refusing(watch(
            "an event of another namespace",
            vec![event("ADDED", &foreign())],
        )),
        refusing(watch(
            "an event of no namespace",
            vec![event("MODIFIED", &without())],
        )),
        refusing(watch(
            "a deletion in another namespace",
            vec![event("DELETED", &object_in("other", "a", "11"))],
        )),
        refusing(watch(
            "an object that moves to another namespace",
            vec![event("MODIFIED", &moved)],
        )),
        refusing(watch(
            "10,000 events of another namespace",
            vec![event("ADDED", &foreign()); 10_000],
        ))
        .minutes(10),
        initial_stream("an initial object of another namespace", foreign()),
        initial_stream("an initial object of no namespace", without()),
        lists("every list is of another namespace, for all", |_| {
            json(list_of(&[foreign()]))
        })
        .lives(1),
        lists("a good list, for one namespace", |_| json(GOOD_LIST))
            .namespace("default")
            .lives(2),
    ]
}
