//! Initial streams that do not start with the whole state, or never end.

use std::time::Duration;

use informer_core::{InformerStatus, WatchListVerdict};

use crate::bodies::{
    bookmark, end_bookmark, event, every, frames_then_good, good_initial, meta, object, object_in, refusal,
    status,
};
use crate::row::{BackingOff, Listing, Live, Row, initial};
use crate::script::{Answer, Step, body, json};

fn not_given_up(status: &InformerStatus) -> Result<(), String> {
    match &status.scopes[0].watch_list {
        WatchListVerdict::Refused(reason) => Err(format!("streaming was given up: {reason:.80}")),
        _ => Ok(()),
    }
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = refused();
    rows.extend(without_end());
    rows.extend(odd());
    rows
}

/// A list provides the state, whatever happens to the stream.
fn refused() -> Vec<Row> {
    let codes = [
        (400, "BadRequest"),
        (405, "MethodNotAllowed"),
        (406, "NotAcceptable"),
        (422, "Invalid"),
        (501, ""),
    ];
    let mut rows: Vec<Row> = codes
        .into_iter()
        .map(|(code, reason)| {
            initial(format!("streaming is refused with {code}"), move |_| {
                refusal(
                    code,
                    reason,
                    "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
                )
            })
            .lives(2)
        })
        .collect();
    rows.extend([
        initial("streaming is never answered", |_| Answer::Never).lives(2),
        initial("streaming is reset", |_| Answer::Reset).lives(2),
        initial("streaming is 500", |_| refusal(500, "InternalError", "oops")).lives(2),
        initial("streaming is 504", |_| refusal(504, "Timeout", "slow")).lives(2),
        initial("streaming is answered with a list", |_| {
            json(crate::bodies::GOOD_LIST)
        })
        .lives(2),
        initial("streaming is answered with HTML", |_| json("<html>\n</html>\n")).lives(2),
        initial("streaming is answered with nothing", |_| body([])).lives(2),
        initial("streaming is an ERROR 410", |_| {
            json(event("ERROR", &status(410, "Expired", "old")))
        })
        .synced(false)
        .state(BackingOff),
        initial("streaming is an ERROR 500", |_| {
            json(event("ERROR", &status(500, "InternalError", "m")))
        })
        .lives(2),
    ]);
    rows
}

fn without_end() -> Vec<Row> {
    vec![
        initial("the initial state never ends, in silence", |_| {
            body([Step::text(event("ADDED", &object("a", "5"))), Step::Silence])
        })
        .lives(2),
        initial("the initial stream is silent from the start", |_| {
            body([Step::Silence])
        })
        .lives(2),
        initial(
            "the initial state never ends, with the same object each 20 s",
            |_| body(every(20, event("MODIFIED", &object("a", "5")))),
        )
        .minutes(360)
        .lives(2),
        initial(
            "the initial state never ends, with the same object, which is transformed",
            |_| body(every(20, event("MODIFIED", &object("a", "5")))),
        )
        .transformed()
        .minutes(360)
        .lives(2),
        initial("the initial state never ends, with a bookmark each 20 s", |_| {
            body(every(20, bookmark("5")))
        })
        .minutes(360)
        .lives(2),
        initial(
            "the initial state never ends, with an unknown event each second",
            |_| body(every(1, event("PING", "null"))),
        )
        .lives(2),
        initial(
            "the initial state never ends, with objects that cannot be used",
            |_| body(every(20, event("ADDED", "{}"))),
        )
        .minutes(360)
        .lives(2),
        initial(
            "the initial state never ends, with an object added and deleted in turn",
            |_| {
                let both = event("ADDED", &object("a", "5")) + &event("DELETED", &object("a", "6"));
                body(every(20, both))
            },
        )
        .minutes(360)
        .lives(2),
        initial("the initial state grows by an object each 20 s, for ever", |_| {
            let grow = (0..).flat_map(|n: u64| {
                [
                    Step::wait(20),
                    Step::text(event("ADDED", &object(&format!("o-{n}"), "5"))),
                ]
            });
            body(grow)
        })
        .state(Listing)
        .state(Live),
        initial("the initial state is closed before its end, each time", |_| {
            json(event("ADDED", &object("a", "5")))
        })
        .lives(2),
        initial("the initial state is reset before its end, each time", |_| {
            body([Step::text(event("ADDED", &object("a", "5"))), Step::Reset])
        })
        .lives(2)
        .check(not_given_up),
        initial(
            "two initial streams are closed early, and the third is good",
            |call| match call.nth {
                0 | 1 => json(event("ADDED", &object("a", "5"))),
                _ => frames_then_good(call, good_initial()),
            },
        )
        .minutes(30)
        .lives(2),
        initial("the initial state is sent at one object in ten seconds", |call| {
            let slow = (0..30).flat_map(|n| {
                [
                    Step::wait(10),
                    Step::text(event("ADDED", &object(&format!("o-{n}"), "5"))),
                ]
            });
            body(slow.chain([
                Step::text(end_bookmark("10")),
                Step::Wait(call.timeout().saturating_sub(Duration::from_secs(300))),
            ]))
        })
        .minutes(8)
        .lives(30)
        .check(not_given_up),
    ]
}

fn odd() -> Vec<Row> {
    let stream = |name: &str, frames: Vec<String>| {
        initial(name, move |call| frames_then_good(call, frames.clone()))
            .minutes(15)
            .synced(true)
    };
    let a = event("ADDED", &object("a", "5"));
    let end = end_bookmark("10");
    vec![
        stream("an initial state that is empty", vec![end.clone()])
            .lives(0)
            .check(not_given_up),
        stream(
            "an initial state that ends twice",
            vec![a.clone(), end.clone(), end.clone()],
        )
        .lives(1),
        stream(
            "an initial state that ends twice, the second time older",
            vec![a.clone(), end.clone(), end_bookmark("4")],
        ),
        stream(
            "an initial state that ends at 0",
            vec![a.clone(), end_bookmark("0")],
        )
        .lives(2),
        stream(
            "an initial state that ends before its objects",
            vec![event("ADDED", &object("a", "500")), end.clone()],
        ),
        stream(
            "an initial state that ends without a version",
            vec![a.clone(), end_bookmark("")],
        )
        .lives(2),
        stream(
            "an end that is said to be false",
            vec![a.clone(), end.replace("\"true\"", "\"false\"")],
        )
        .lives(2),
        stream(
            "an end in an event that is no bookmark",
            vec![a.clone(), end.replace("BOOKMARK", "ADDED")],
        )
        .lives(2),
        stream(
            "an object twice in the initial state",
            vec![a.clone(), a.clone(), end.clone()],
        )
        .lives(1),
        stream(
            "an object deleted in the initial state",
            vec![
                a.clone(),
                event("ADDED", &object("b", "6")),
                event("DELETED", &object("a", "7")),
                end.clone(),
            ],
        )
        .lives(1),
        stream(
            "an object that cannot be used in the initial state",
            vec![
                a.clone(),
                event("ADDED", &object("c", "7").replace("ConfigMap", "Secret")),
                end.clone(),
            ],
        )
        .lives(1)
        .undecodable(1),
        stream(
            "a deletion without a name in the initial state",
            vec![a.clone(), event("DELETED", &meta("")), end.clone()],
        )
        .objects(2),
        stream("an initial state of 5,000 objects", {
            let objects = (0..5_000).map(|n| {
                event(
                    "ADDED",
                    &object_in(&format!("ns-{}", n % 50), &format!("o-{n}"), "5"),
                )
            });
            objects.chain([end.clone()]).collect()
        })
        .lives(5_000)
        .check(not_given_up),
        stream("an initial state without its old objects", vec![a, end]).lives(1),
    ]
}
