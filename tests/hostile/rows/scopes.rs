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

/// An object that was refused is counted in the status.
fn is_reported(status: &InformerStatus) -> Result<(), String> {
    (status.scopes[0].counts.out_of_scope > 0)
        .then_some(())
        .ok_or_else(|| "nothing was reported".to_owned())
}

pub(crate) fn rows() -> Vec<Row> {
    vec![
        lists("an item of another namespace", |_| json(good_and(&foreign())))
            .namespace("default")
            .lives(2)
            .check(is_reported),
        lists("an item of no namespace", |_| json(good_and(&without())))
            .namespace("default")
            .lives(2)
            .check(is_reported),
        lists("a list of nothing but another namespace", |_| {
            json(list_of(&[foreign(), foreign()]))
        })
        .namespace("default")
        .state(Live)
        .objects(0)
        .check(is_reported),
        lists("another namespace that begins like ours", |_| {
            json(good_and(&object_in("default-2", "c", "7")))
        })
        .namespace("default")
        .lives(2)
        .check(is_reported),
        watches("an event of another namespace", |call| {
            frames_then_good(call, [event("ADDED", &foreign())])
        })
        .namespace("default")
        .minutes(30)
        .synced(true)
        .objects(2)
        .check(is_reported),
        watches("an event of no namespace", |call| {
            frames_then_good(call, [event("MODIFIED", &without())])
        })
        .namespace("default")
        .minutes(30)
        .synced(true)
        .objects(2)
        .check(is_reported),
        watches("a deletion in another namespace", |call| {
            frames_then_good(call, [event("DELETED", &object_in("other", "a", "11"))])
        })
        .namespace("default")
        .minutes(30)
        .synced(true)
        .objects(2),
        watches("an object that moves to another namespace", |call| {
            frames_then_good(
                call,
                [event(
                    "MODIFIED",
                    &object_in("other", "a", "11").replace("u-other-a", "u-a"),
                )],
            )
        })
        .namespace("default")
        .minutes(30)
        .synced(true)
        .objects(2),
        watches("10,000 events of another namespace", |call| {
            frames_then_good(call, vec![event("ADDED", &foreign()); 10_000])
        })
        .namespace("default")
        .minutes(10)
        .synced(true)
        .objects(2)
        .check(is_reported),
        initial("an initial object of another namespace", |call| {
            let frames = [
                event("ADDED", &foreign()),
                event("ADDED", &object("a", "5")),
                end_bookmark("10"),
            ];
            frames_then_good(call, frames)
        })
        .namespace("default")
        .minutes(30)
        .synced(true)
        .objects(1)
        .check(is_reported),
        initial("an initial object of no namespace", |call| {
            let frames = [
                event("ADDED", &without()),
                event("ADDED", &object("a", "5")),
                end_bookmark("10"),
            ];
            frames_then_good(call, frames)
        })
        .namespace("default")
        .minutes(30)
        .synced(true)
        .objects(1)
        .check(is_reported),
        lists("an item of another namespace, which is transformed", |_| {
            json(good_and(&foreign()))
        })
        .transformed()
        .namespace("default")
        .lives(2)
        .check(is_reported),
        lists("every list is of another namespace, for all", |_| {
            json(list_of(&[foreign()]))
        })
        .lives(1),
        lists("a good list, for one namespace", |_| json(GOOD_LIST))
            .namespace("default")
            .lives(2),
    ]
}
