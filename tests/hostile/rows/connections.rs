//! Connections that are refused, break, hang or trickle, at each phase.

use std::time::Duration;

use informer_core::InformerStatus;

use crate::bodies::{GOOD_LIST, every, living_watch, object};
use crate::row::{BackingOff, Listing, Live, Row, always, by_list, lists, watches};
use crate::script::{Answer, Step, Verb, body, json};

fn late(seconds: u64, answer: Answer) -> Answer {
    Answer::Late(Duration::from_secs(seconds), Box::new(answer))
}

fn has_failed(status: &InformerStatus) -> Result<(), String> {
    let counts = status.scopes[0].counts;
    (counts.errors > 0)
        .then_some(())
        .ok_or_else(|| format!("no error was counted: {counts:?}"))
}

pub(crate) fn rows() -> Vec<Row> {
    let head = &GOOD_LIST[..80];
    vec![
        always("nobody listens", |_| Answer::Refused).fails(),
        always("every connection is reset", |_| Answer::Reset).fails(),
        always("nothing is ever answered", |_| Answer::Never)
            .synced(false)
            .objects(0)
            .check(has_failed),
        lists("lists are refused", |_| Answer::Refused).fails(),
        lists("lists are reset", |_| Answer::Reset).fails(),
        lists("lists are never answered", |_| Answer::Never)
            .synced(false)
            .check(has_failed),
        watches("watches are refused", |_| Answer::Refused)
            .state(BackingOff)
            .objects(2),
        watches("watches are reset", |_| Answer::Reset)
            .state(BackingOff)
            .objects(2),
        lists("a list of which nothing comes", |_| body([Step::Silence]))
            .synced(false)
            .check(has_failed),
        lists("a list of which the first half comes", move |_| {
            body([Step::text(head), Step::Silence])
        })
        .synced(false)
        .objects(0)
        .check(has_failed),
        lists("a list that is reset in the middle", move |_| {
            body([Step::text(head), Step::Reset])
        })
        .fails(),
        lists("a list of all but the last byte", |_| {
            body([Step::text(&GOOD_LIST[..GOOD_LIST.len() - 1]), Step::Silence])
        })
        .synced(false)
        .objects(0)
        .check(has_failed),
        lists("a list that is whole and whose connection stays open", |_| {
            body([Step::text(GOOD_LIST), Step::Silence])
        })
        .check(|status| match (status.synced, status.scopes[0].counts.errors) {
            (true, _) | (_, 1..) => Ok(()),
            _ => Err("it waits for ever".to_owned()),
        }),
        lists("a list of a byte in 30 s", |_| {
            let bytes: Vec<Step> = GOOD_LIST
                .chars()
                .flat_map(|c| [Step::wait(30), Step::text(c)])
                .collect();
            body(bytes)
        })
        .minutes(240)
        .check(has_failed),
        lists("a list that sends a blank each second", |_| body(every(1, " ")))
            .minutes(240)
            .synced(false)
            .check(has_failed),
        lists("an item that comes a byte each second", |_| {
            let open = [Step::text(&GOOD_LIST[..90])];
            body(open.into_iter().chain(every(1, "x")))
        })
        .minutes(240)
        .synced(false)
        .objects(0)
        .check(has_failed),
        lists("a list of an item each second that never ends", |_| {
            let open = [Step::text(&GOOD_LIST[..GOOD_LIST.len() - 2])];
            let items = (0..).flat_map(|n: u64| {
                [
                    Step::wait(1),
                    Step::text(format!(",{}", object(&format!("o-{n}"), "5"))),
                ]
            });
            body(open.into_iter().chain(items))
        })
        .state(Listing)
        .state(BackingOff)
        .objects(0),
        lists("a list byte by byte, at once", |_| {
            let bytes: Vec<Step> = GOOD_LIST.chars().map(Step::text).collect();
            body(bytes)
        })
        .lives(2),
        lists("a list in pieces without content", |_| {
            let bytes: Vec<Step> = GOOD_LIST
                .chars()
                .flat_map(|c| [Step::text(""), Step::text(c)])
                .collect();
            body(bytes)
        })
        .lives(2),
        lists("a list that is answered after 45 s", |_| {
            late(45, json(GOOD_LIST))
        })
        .lives(2),
        lists("a list that is answered after 5 minutes", |_| {
            late(300, json(GOOD_LIST))
        })
        .minutes(120)
        .lives(2),
        watches("a watch that is answered after 45 s", |call| {
            late(45, living_watch(call))
        })
        .objects(2)
        .synced(true),
        by_list("lists are good, and then nobody listens", |call| {
            match call.verb {
                Verb::List if call.nth == 0 => json(GOOD_LIST),
                _ => Answer::Refused,
            }
        })
        .state(BackingOff)
        .objects(2)
        .synced(true),
        by_list(
            "lists are good, and then nothing is answered",
            |call| match call.verb {
                Verb::List if call.nth == 0 => json(GOOD_LIST),
                _ => Answer::Never,
            },
        )
        .objects(2)
        .synced(true)
        .check(has_failed),
        lists("a good server, as a comparison", |_| json(GOOD_LIST))
            .lives(2)
            .warnings(0)
            .state(Live),
    ]
}
