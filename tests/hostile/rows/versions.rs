//! Invalid resource versions, and versions that go back.

use crate::bodies::{
    GOOD_LIST, bookmark, end_bookmark, event, frames_then_good, list_at, living_watch, meta, object,
};
use crate::row::{BackingOff, Live, Row, always, by_list, initial, lists, watches};
use crate::script::{Call, Verb, json};

/// Texts that no server accepts as a version: requests with one are always refused.
fn impossible() -> Vec<(&'static str, String)> {
    vec![
        ("with an escape sequence", r"1\u001b[31m0".to_owned()),
        ("with lines", r"10\r\nX: y".to_owned()),
        ("with a NUL", r"10\u0000".to_owned()),
        ("with blanks", " 10 ".to_owned()),
        ("in Arabic digits", "١٠".to_owned()),
        ("of 100 KB", "1".repeat(100_000)),
        ("of 100 KB of text", "v".repeat(100_000)),
    ]
}

/// Unusual texts that a client must accept, because versions are opaque.
const ODD: [(&str, &str); 6] = [
    ("negative", "-1"),
    ("text", "abc"),
    ("with leading zeros", "0000000007"),
    ("of the largest number", "18446744073709551615"),
    ("past 64 bits", "99999999999999999999999999"),
    ("that needs to be encoded", "a&b=c#d%00+?"),
];

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (what, version) in impossible() {
        let list = list_at(&version, "", &[object("a", "5")]);
        rows.push(
            lists(format!("a list at a version {what}"), move |_| json(list.clone()))
                .fails()
                .minutes(10),
        );
        let item = list_at("10", "", &[object("a", &version), object("b", "6")]);
        rows.push(
            lists(format!("an item at a version {what}"), move |_| {
                json(item.clone())
            })
            .state(Live)
            .minutes(10),
        );
        let frame = event("ADDED", &object("c", &version));
        rows.push(after_list(format!("an event at a version {what}"), frame));
        rows.push(after_list(
            format!("a bookmark at a version {what}"),
            bookmark(&version),
        ));
        let end = end_bookmark(&version);
        rows.push(
            initial(
                format!("an initial stream that ends at a version {what}"),
                move |call| frames_then_good(call, [event("ADDED", &object("a", "5")), end.clone()]),
            )
            .minutes(10)
            .synced(true)
            .check(|status| match &status.scopes[0].watch_list {
                informer_core::WatchListVerdict::Refused(reason) => {
                    Err(format!("streaming was given up: {reason:.80}"))
                }
                _ => Ok(()),
            }),
        );
    }
    for (what, version) in ODD {
        let list = list_at(version, "", &[object("a", "5")]);
        let odd = [
            lists(format!("a list at a version {what}"), move |_| json(list.clone()))
                .state(Live)
                .objects(1),
            after_list(
                format!("an event at a version {what}"),
                event("ADDED", &object("c", version)),
            ),
            after_list(format!("a bookmark at a version {what}"), bookmark(version)),
        ];
        rows.extend(odd);
    }
    rows.extend(missing());
    rows.extend(unordered());
    rows
}

/// The first watch sends this frame; later ones are good.
fn after_list(name: String, frame: String) -> Row {
    watches(name, move |call| match call.nth {
        0 => frames_then_good(call, [frame.clone()]),
        _ => living_watch(call),
    })
    .synced(true)
    .minutes(30)
}

fn missing() -> Vec<Row> {
    vec![
        lists("a list without a version", |_| {
            json(GOOD_LIST.replace(r#""resourceVersion":"10""#, ""))
        })
        .fails(),
        // A watch from 0 starts with additions and never reports what was deleted.
        lists("a list at version 0", |_| {
            json(list_at("0", "", &[object("a", "5")]))
        })
        .fails(),
        after_list(
            "an event at version 0".to_owned(),
            event("ADDED", &object("c", "0")),
        ),
        after_list("a bookmark at version 0".to_owned(), bookmark("0")),
        lists("a list at an empty version", |_| {
            json(list_at("", "", &[object("a", "5")]))
        })
        .fails(),
        lists("a list at a version that is a number", |_| {
            json(GOOD_LIST.replace(r#":"10""#, ":10"))
        })
        .fails(),
        lists("a list at a version that is null", |_| {
            json(GOOD_LIST.replace(r#":"10""#, ":null"))
        })
        .fails(),
        lists("a list at a version that is an array", |_| {
            json(GOOD_LIST.replace(r#":"10""#, r#":["10"]"#))
        })
        .fails(),
        lists("items without versions", |_| {
            json(list_at(
                "10",
                "",
                &[meta(r#""name":"a","namespace":"default""#), object("b", "")],
            ))
        })
        .state(Live),
        after_list(
            "an event without a version".to_owned(),
            event("ADDED", &meta(r#""name":"c","namespace":"default""#)),
        ),
        after_list(
            "a bookmark without a version".to_owned(),
            event("BOOKMARK", &meta("")),
        ),
        after_list("a bookmark that is null".to_owned(), event("BOOKMARK", "null")),
        after_list(
            "a bookmark of another kind".to_owned(),
            bookmark("11").replace("ConfigMap", "Secret"),
        ),
        after_list(
            "a bookmark with a name".to_owned(),
            event("BOOKMARK", &object("c", "11")),
        ),
    ]
}

fn unordered() -> Vec<Row> {
    let falling = |call: &Call| 1_000_u64.saturating_sub(call.nth * 100).max(1).to_string();
    vec![
        by_list(
            "every list is older than the one before",
            move |call| match call.verb {
                Verb::List => json(list_at(&falling(call), "", &[object("a", "1")])),
                _ => crate::bodies::refusal(410, "Expired", "too old"),
            },
        )
        .synced(true),
        by_list("every list is at the same version", |call| match call.verb {
            Verb::List => json(GOOD_LIST),
            _ => crate::bodies::refusal(410, "Expired", "too old"),
        })
        .synced(true)
        .objects(2),
        by_list("every list is a billion versions newer", |call| match call.verb {
            Verb::List => json(list_at(
                &(call.nth * 1_000_000_000 + 10).to_string(),
                "",
                &[object("a", "1")],
            )),
            _ => crate::bodies::refusal(410, "Expired", "too old"),
        })
        .synced(true)
        .objects(1),
        lists("items that are newer than their list", |_| {
            json(list_at(
                "10",
                "",
                &[object("a", "5000"), object("b", "18446744073709551615")],
            ))
        })
        .state(Live)
        .objects(2),
        watches("events that are older than the list", |call| {
            frames_then_good(
                call,
                [
                    event("MODIFIED", &object("a", "2")),
                    event("ADDED", &object("c", "3")),
                ],
            )
        })
        .synced(true),
        watches("bookmarks that go backwards", |call| {
            frames_then_good(call, (1..=9).rev().map(|version| bookmark(&version.to_string())))
        })
        .synced(true),
        watches("bookmarks that jump to the largest version", |call| {
            frames_then_good(call, [bookmark("18446744073709551615")])
        })
        .synced(true),
        watches("1,000 bookmarks at once", |call| {
            frames_then_good(call, (10..1_010).map(|version| bookmark(&version.to_string())))
        })
        .minutes(30)
        .state(Live)
        .objects(2),
        always(
            "the format of versions changes with every list",
            |call| match call.verb {
                Verb::List | Verb::WatchList if call.nth.is_multiple_of(2) => {
                    json(list_at("10", "", &[object("a", "5")]))
                }
                Verb::List | Verb::WatchList => json(list_at("v-abc", "", &[object("a", "v-5")])),
                Verb::Watch => crate::bodies::refusal(410, "Expired", "too old"),
            },
        )
        .warnings(150)
        .synced(true)
        .objects(1)
        .state(Live)
        .state(BackingOff),
    ]
}
