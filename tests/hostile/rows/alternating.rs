//! Servers that are good and bad in turn, and replicas that disagree.

use crate::bodies::{
    GOOD_LIST, end_bookmark, event, frames_then_good, good_initial, list_at, list_of, living_watch, object,
    refusal,
};
use crate::row::{Live, Row, always, by_list, lists, watches};
use crate::script::{Answer, Step, Verb, body, json};

pub(crate) fn rows() -> Vec<Row> {
    vec![
        lists("every second list fails", |call| match call.nth % 2 {
            0 => refusal(500, "InternalError", "odd"),
            _ => json(GOOD_LIST),
        })
        .lives(2),
        by_list("every second request fails", |call| {
            match (call.nth % 2, call.verb) {
                (0, _) => refusal(503, "ServiceUnavailable", "odd"),
                (_, Verb::List) => json(GOOD_LIST),
                _ => living_watch(call),
            }
        })
        .objects(2)
        .synced(true),
        watches("every second watch is reset", |call| match call.nth % 2 {
            0 => body([Step::Reset]),
            _ => living_watch(call),
        })
        .objects(2)
        .synced(true),
        by_list(
            "lists are good, and watches are always expired",
            |call| match call.verb {
                Verb::List => json(GOOD_LIST),
                _ => refusal(410, "Expired", "too old resource version"),
            },
        )
        .objects(2)
        .synced(true),
        by_list("two replicas, one of which is behind", |call| {
            match (call.verb, call.nth % 2) {
                (Verb::List, 0) => json(list_at("100", "", &[object("a", "90"), object("b", "100")])),
                (Verb::List, _) => json(list_at("50", "", &[object("a", "40")])),
                (_, 0) => refusal(410, "Expired", "too old resource version"),
                _ => refusal(504, "Timeout", "Too large resource version: 100, current: 50"),
            }
        })
        .synced(true),
        by_list("lists that are empty every second time", |call| {
            match (call.verb, call.nth % 2) {
                (Verb::List, 0) => json(list_at(&(10 + call.nth).to_string(), "", &[object("a", "5")])),
                (Verb::List, _) => json(list_at(&(10 + call.nth).to_string(), "", &[] as &[&str])),
                _ => refusal(410, "Expired", "too old resource version"),
            }
        })
        .synced(true),
        by_list("objects that can be used every second time", |call| {
            match (call.verb, call.nth % 2) {
                (Verb::List, 0) => json(list_of(&[object("a", "5")])),
                (Verb::List, _) => json(list_of(&[object("a", "5").replace("ConfigMap", "Secret")])),
                _ => refusal(410, "Expired", "too old resource version"),
            }
        })
        .objects(1)
        .synced(true),
        always(
            "streaming works, and is refused after a while",
            |call| match call.verb {
                Verb::WatchList if call.nth == 0 => {
                    let frames: Vec<Step> = good_initial().into_iter().map(Step::text).collect();
                    body(frames.into_iter().chain([Step::wait(30), Step::Reset]))
                }
                Verb::WatchList => refusal(422, "Invalid", "sendInitialEvents is forbidden"),
                Verb::List => json(GOOD_LIST),
                Verb::Watch if call.nth == 0 => refusal(410, "Expired", "too old resource version"),
                Verb::Watch => living_watch(call),
            },
        )
        .lives(2),
        always("streams of a server that restarts twice", |call| {
            match call.verb {
                Verb::WatchList if call.nth < 2 => {
                    body([Step::text(event("ADDED", &object("a", "5"))), Step::wait(2)])
                }
                Verb::WatchList => {
                    frames_then_good(call, [event("ADDED", &object("a", "5")), end_bookmark("10")])
                }
                Verb::List => json(GOOD_LIST),
                Verb::Watch => living_watch(call),
            }
        })
        .synced(true)
        .state(Live),
        by_list("good for a minute, then hanging for a minute", |call| {
            match (call.verb, call.nth % 2) {
                (Verb::List, 0) => json(GOOD_LIST),
                (Verb::Watch, 0) => body([Step::wait(60), Step::Reset]),
                _ => Answer::Late(std::time::Duration::from_secs(60), Box::new(Answer::Reset)),
            }
        })
        .objects(2)
        .synced(true),
        always("healthy, but every third request is reset", |call| {
            match call.nth % 3 {
                2 => Answer::Reset,
                _ => Answer::Healthy,
            }
        })
        .objects(3)
        .synced(true),
        always("healthy, but every list and stream takes 20 s", |_| {
            Answer::Late(std::time::Duration::from_secs(20), Box::new(Answer::Healthy))
        })
        .lives(3),
    ]
}
