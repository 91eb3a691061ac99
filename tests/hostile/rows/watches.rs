//! Watches that are silent, short, or send invalid frames.

use std::iter;

use informer_core::InformerStatus;

use crate::bodies::{
    GOOD_LIST, bookmark, event, every, frames_then_good, frames_then_silence, in_data, living_watch, meta,
    nested, object, refusal, repeated, status, with_field,
};
use crate::row::{BackingOff, Forbidden, Live, NotFound, Row, watches};
use crate::script::{Answer, Step, body, json};

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = silent();
    rows.extend(short());
    rows.extend(error_events());
    rows.extend(bad_frames());
    rows.extend(odd_events());
    rows
}

fn has_errors(status: &InformerStatus) -> Result<(), String> {
    let counts = status.scopes[0].counts;
    (counts.errors > 0)
        .then_some(())
        .ok_or_else(|| format!("no error was counted: {counts:?}"))
}

/// Long silence is an error, and eventually leads to a list.
fn relisted_after_errors(status: &InformerStatus) -> Result<(), String> {
    let counts = status.scopes[0].counts;
    (counts.lists > 1)
        .then_some(())
        .ok_or_else(|| format!("it was never listed again: {counts:?}"))?;
    has_errors(status)
}

fn silent() -> Vec<Row> {
    vec![
        watches("a watch that is never answered", |_| Answer::Never)
            .state(BackingOff)
            .objects(2)
            .check(relisted_after_errors),
        watches("a watch that answers and is silent for ever", |_| {
            body([Step::Silence])
        })
        .minutes(180)
        .objects(2)
        .check(relisted_after_errors),
        watches("a watch of which half an event comes", |_| {
            body([Step::text("{\"type\":\"ADDED\",\"obj"), Step::Silence])
        })
        .minutes(180)
        .objects(2)
        .check(relisted_after_errors),
        watches("a watch that sends a byte each second and never an event", |_| {
            body(iter::once(Step::text("{\"type\":\"")).chain(every(1, "x")))
        })
        .minutes(180)
        .objects(2)
        .check(has_errors),
        watches("a watch that sends an empty line each second", |_| {
            body(every(1, "\n"))
        })
        .minutes(180)
        .objects(2)
        .check(has_errors),
        watches("a watch that sends an unknown event each second", |_| {
            body(every(1, event("PING", "null")))
        })
        .minutes(30)
        .objects(2)
        .synced(true),
        watches("a watch with bookmarks that falls silent", |_| {
            let bookmarks = (0..5).flat_map(|_| [Step::wait(60), Step::text(bookmark("10"))]);
            body(bookmarks.chain([Step::Silence]))
        })
        .minutes(120)
        .objects(2)
        .synced(true)
        .check(has_errors),
        watches("a watch that outlives its timeout, with bookmarks", |_| {
            body(every(60, bookmark("10")))
        })
        .minutes(180)
        .lives(2),
        watches("a quiet watch that ends in time, without bookmarks", |call| {
            body([Step::Wait(call.timeout())])
        })
        .minutes(180)
        .synced(true)
        .objects(2)
        .check(|status| match status.scopes[0].counts.errors {
            0 => Ok(()),
            errors => Err(format!("{errors} errors were counted, and all was well")),
        }),
    ]
}

fn short() -> Vec<Row> {
    vec![
        watches("a watch that is closed at once", |_| body([]))
            .state(BackingOff)
            .objects(2),
        watches("a watch that is reset at once", |_| body([Step::Reset]))
            .state(BackingOff)
            .objects(2),
        watches("a watch that is closed after one event", |call| {
            json(event("MODIFIED", &object("a", &(11 + call.nth).to_string())))
        })
        .objects(2)
        .requests(1_200),
        watches("a watch that is reset after one event", |call| {
            body([
                Step::text(event("MODIFIED", &object("a", &(11 + call.nth).to_string()))),
                Step::Reset,
            ])
        })
        .objects(2)
        .requests(1_200),
        watches("a watch that is closed after the same event", |_| {
            json(event("MODIFIED", &object("a", "11")))
        })
        .objects(2)
        .requests(1_200),
        watches("a watch that is closed after a bookmark", |_| {
            json(bookmark("10"))
        })
        .objects(2)
        .requests(1_200),
        watches("a watch that is closed after an unknown event", |_| {
            json(event("PING", "null"))
        })
        .objects(2)
        .requests(1_200),
        watches("a watch that is closed after half an event", |_| {
            json("{\"type\":\"ADDED\",\"obj")
        })
        .objects(2),
        watches("a watch that is reset each minute after events", |call| {
            let base = 11 + call.nth * 10;
            let events = (0..10).flat_map(move |n| {
                [
                    Step::wait(6),
                    Step::text(event("MODIFIED", &object("a", &(base + n).to_string()))),
                ]
            });
            body(events.chain([Step::Reset]))
        })
        .minutes(180)
        .objects(2)
        // One watch a minute, with short waits in between.
        .check(|status| match status.scopes[0].counts.watches {
            150.. => Ok(()),
            watches => Err(format!("only {watches} watches in 180 minutes")),
        }),
    ]
}

fn error_events() -> Vec<Row> {
    let errors = [
        (400, "BadRequest"),
        (401, "Unauthorized"),
        (409, "Conflict"),
        (410, "Expired"),
        (410, "Gone"),
        (422, "Invalid"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
        (504, "Timeout"),
        (0, ""),
    ];
    let mut rows: Vec<Row> = errors
        .into_iter()
        .map(|(code, reason)| {
            watches(
                format!("a watch whose one event is an ERROR {code} {reason}"),
                move |_| json(event("ERROR", &status(code, reason, "in the stream"))),
            )
            .state(BackingOff)
            .objects(2)
            .error("in the stream")
        })
        .collect();
    let with = |name: &str, object: &str| {
        let frame = event("ERROR", object);
        watches(name, move |_| json(frame.clone()))
            .state(BackingOff)
            .objects(2)
    };
    rows.extend([
        watches("a watch whose one event is an ERROR 403", |_| {
            json(event("ERROR", &status(403, "Forbidden", "m")))
        })
        .state(Forbidden)
        .requests(600)
        .objects(2),
        watches("a watch whose one event is an ERROR 404", |_| {
            json(event("ERROR", &status(404, "NotFound", "m")))
        })
        .state(NotFound)
        .requests(600)
        .objects(2),
        watches("watches are forbidden, lists are not", |_| {
            refusal(403, "Forbidden", "no watch")
        })
        .state(Forbidden)
        .requests(600)
        .objects(2),
        watches("watches are 405, lists are not", |_| {
            refusal(405, "MethodNotAllowed", "no watch")
        })
        .objects(2),
        watches("watches are 504 because the version is too large", |_| {
            refusal(504, "Timeout", "Too large resource version: 10, current: 5")
        })
        .objects(2),
        watches("watches are 410, lists are not", |_| {
            refusal(410, "Expired", "too old resource version")
        })
        .objects(2),
        with("an ERROR that is null", "null"),
        with("an ERROR that is a string", "\"no\""),
        with("an ERROR that is an object of the kind", &object("a", "11")),
        with(
            "an ERROR with escape sequences",
            &status(500, r"\u001b[31m", r"\u001b]0;x\u0007\r\nforged"),
        ),
        with(
            "an ERROR nested 100,000 levels deep",
            &format!(r#"{{"kind":"Status","x":{}}}"#, nested(100_000)),
        ),
        watches("an ERROR with a message of 15 MB", |call| match call.nth {
            0 => {
                let open = Step::text(r#"{"type":"ERROR","object":{"kind":"Status","code":500,"message":""#);
                body(
                    iter::once(open)
                        .chain(repeated("x".repeat(65_536), 240))
                        .chain([Step::text("\"}}\n")]),
                )
            }
            _ => refusal(503, "ServiceUnavailable", "later"),
        })
        .minutes(2)
        .memory(96)
        .objects(2),
    ]);
    rows
}

fn bad_frames() -> Vec<Row> {
    let frames: Vec<(&str, Vec<u8>)> = vec![
        ("garbage", b"garbage\n".to_vec()),
        ("HTML", b"<html>\n<body>Log in</body>\n</html>\n".to_vec()),
        ("binary", [&(1..=255).collect::<Vec<u8>>()[..], b"\n"].concat()),
        ("a list", format!("{GOOD_LIST}\n").into()),
        ("an array", b"[1,2]\n".to_vec()),
        ("a string", b"\"ADDED\"\n".to_vec()),
        ("null", b"null\n".to_vec()),
        ("an event without a type", b"{\"object\":{}}\n".to_vec()),
        (
            "an event whose type is a number",
            b"{\"type\":5,\"object\":{}}\n".to_vec(),
        ),
        (
            "two events in one line",
            format!(
                "{}{}",
                event("ADDED", &object("c", "11")).trim(),
                event("ADDED", "{}")
            )
            .into(),
        ),
        (
            "an event over two lines",
            event("ADDED", &object("c", "11")).replace(",", ",\n").into(),
        ),
        (
            "an event with invalid UTF-8 in its type",
            b"{\"type\":\"\xff\xfe\",\"object\":{}}\n".to_vec(),
        ),
        (
            "a Table",
            event(
                "ADDED",
                r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}"#,
            )
            .into(),
        ),
    ];
    let mut rows: Vec<Row> = frames
        .into_iter()
        .map(|(what, frame)| {
            watches(format!("a watch whose one frame is {what}"), move |_| {
                json(frame.clone())
            })
            .state(BackingOff)
            .objects(2)
        })
        .collect();
    rows.push(
        watches("a watch with a frame larger than the limit", |_| {
            json(event(
                "ADDED",
                &with_field("c", &format!("\"{}\"", "x".repeat(20_000))),
            ))
        })
        .with(|builder| builder.max_object_bytes(10_000))
        // Each attempt logs both kinds of warning.
        .warnings(300)
        .objects(2)
        .check(|status| match &status.stale[..] {
            [(key, reason)] if key.name() == "c" && reason.contains("max_object_bytes") => Ok(()),
            other => Err(format!("stale: {other:?}")),
        }),
    );
    rows.push(
        watches("a watch with a frame that never ends", |call| match call.nth {
            0 => body(iter::once(Step::text("{\"type\":\"")).chain(repeated("x".repeat(65_536), 600))),
            _ => refusal(503, "ServiceUnavailable", "later"),
        })
        .minutes(2)
        .memory(64)
        .objects(2),
    );
    rows
}

/// Frames of a watch that a good server does not send.
fn odd_events() -> Vec<Row> {
    let first = |name: &str, frames: Vec<String>| {
        watches(name, move |call| match call.nth {
            0 => frames_then_good(call, frames.clone()),
            _ => living_watch(call),
        })
        .minutes(30)
        .synced(true)
    };
    vec![
        first("an ADDED that is null", vec![event("ADDED", "null")])
            .objects(2)
            .undecodable(1),
        first(
            "an ADDED that is a Status",
            vec![event("ADDED", &status(500, "InternalError", "m"))],
        )
        .objects(2),
        first(
            "an ADDED of another kind",
            vec![event("ADDED", &object("c", "11").replace("ConfigMap", "Secret"))],
        )
        .objects(2)
        .undecodable(1),
        first(
            "an ADDED nested 1,025 levels deep",
            vec![event("ADDED", &in_data("c", &nested(1_025)))],
        )
        .state(Live)
        .objects(2)
        .undecodable(1),
        first(
            "an ADDED nested 100,000 levels deep",
            vec![event("ADDED", &in_data("c", &nested(100_000)))],
        )
        .state(Live)
        .objects(2)
        .undecodable(1),
        first(
            "an ADDED without an object",
            vec!["{\"type\":\"ADDED\"}\n".to_owned()],
        )
        .objects(2),
        first(
            "an ADDED with a type twice",
            vec!["{\"type\":\"ADDED\",\"type\":\"DELETED\",\"object\":{}}\n".to_owned()],
        ),
        first("a type in lower case", vec![event("added", &object("c", "11"))]).objects(2),
        first(
            "a type with escape sequences",
            vec![event(r"\u001b[31m\n", &object("c", "11"))],
        )
        .objects(2),
        first("a type of 1 MB", vec![event(&"X".repeat(1 << 20), "null")]).objects(2),
        first(
            "a MODIFIED of an object that was never added",
            vec![event("MODIFIED", &object("c", "11"))],
        )
        .lives(3),
        first(
            "an ADDED of an object that exists",
            vec![event("ADDED", &object("a", "11"))],
        )
        .lives(2),
        first(
            "a DELETED of an object that does not exist",
            vec![event("DELETED", &object("c", "11"))],
        )
        .lives(2),
        first("a DELETED without a name", vec![event("DELETED", &meta(""))]).objects(2),
        first("a DELETED that is null", vec![event("DELETED", "null")]).objects(2),
        first(
            "a DELETED twice",
            vec![
                event("DELETED", &object("a", "11")),
                event("DELETED", &object("a", "11")),
            ],
        )
        .lives(1),
        first(
            "an initial-events-end bookmark in a plain watch",
            vec![crate::bodies::end_bookmark("11")],
        )
        .lives(2),
        first(
            "events with carriage returns",
            vec![event("ADDED", &object("c", "11")).replace('\n', "\r\n")],
        )
        .lives(3),
        first(
            "an event after the first, in the same piece as half of the next",
            vec![
                event("ADDED", &object("c", "11")) + "{\"type\":",
                "\"ADDED\",\"object\":".to_owned() + &object("d", "12") + "}\n",
            ],
        )
        .lives(4),
        watches("an event byte by byte", |call| match call.nth {
            0 => {
                let text = event("ADDED", &object("c", "11"));
                let bytes: Vec<Step> = text.chars().map(Step::text).collect();
                body(bytes.into_iter().chain([Step::Silence]))
            }
            _ => living_watch(call),
        })
        .minutes(3)
        .state(Live)
        .objects(3),
        watches("the same event 20,000 times", |call| match call.nth {
            0 => body(repeated(event("MODIFIED", &object("a", "11")), 20_000).chain([Step::Silence])),
            _ => living_watch(call),
        })
        .minutes(3)
        .objects(2)
        .synced(true),
        watches("20,000 unknown events", |call| match call.nth {
            0 => body(repeated(event("PING", "null"), 20_000).chain([Step::Silence])),
            _ => living_watch(call),
        })
        .minutes(3)
        .objects(2)
        .synced(true),
        watches("5,000 objects that come and go", |call| match call.nth {
            0 => frames_then_silence((0..5_000).map(|n| {
                let object = object(&format!("o-{n}"), &(11 + n).to_string());
                event("ADDED", &object) + &event("DELETED", &object)
            })),
            _ => living_watch(call),
        })
        .minutes(3)
        .objects(2)
        .synced(true),
    ]
}
