//! Objects with duplicate, missing or unprintable names, namespaces or UIDs.

use crate::bodies::{GOOD_LIST, event, frames_then_good, good_and, list_of, living_watch, meta, object};
use crate::row::{Live, Row, lists, watches};
use crate::script::json;

/// Metadata, as fields of JSON.
fn odd() -> Vec<(&'static str, String)> {
    let named =
        |name: &str| format!(r#""name":"{name}","namespace":"default","uid":"u-c","resourceVersion":"7""#);
    vec![
        ("a name with lines", named(r"c\r\nWARN forged")),
        (
            "a name with escape sequences",
            named(r"c\u001b[31m\u001b]0;title\u0007"),
        ),
        ("a name with a NUL", named(r"c\u0000d")),
        ("a name that turns its direction", named(r"c\u202etxt.exe\u2066")),
        ("a name with a line separator", named(r"c\u2028d")),
        ("a name of 1 MB", named(&"n".repeat(1 << 20))),
        ("a name of 1 MB of escapes", named(&r"\u001b".repeat(1 << 17))),
        ("an empty name", named("")),
        ("a name of blanks", named("   ")),
        ("a name with slashes", named("../../c/d")),
        ("a name with a replacement", named("c\u{fffd}\u{1f600}")),
        (
            "a name that is null",
            r#""name":null,"namespace":"default""#.to_owned(),
        ),
        (
            "a name that is a number",
            r#""name":5,"namespace":"default""#.to_owned(),
        ),
        ("no name", r#""namespace":"default","uid":"u-c""#.to_owned()),
        ("no namespace", r#""name":"c","uid":"u-c""#.to_owned()),
        (
            "a namespace with escape sequences",
            r#""name":"c","namespace":"d\u001b[31m\n""#.to_owned(),
        ),
        (
            "a namespace of 1 MB",
            format!(r#""name":"c","namespace":"{}""#, "n".repeat(1 << 20)),
        ),
        (
            "a namespace with a slash",
            r#""name":"c","namespace":"a/b""#.to_owned(),
        ),
        (
            "a UID with escape sequences",
            r#""name":"c","namespace":"default","uid":"\u001b[31m\n""#.to_owned(),
        ),
        (
            "a UID of 1 MB",
            format!(
                r#""name":"c","namespace":"default","uid":"{}""#,
                "u".repeat(1 << 20)
            ),
        ),
        (
            "an empty UID",
            r#""name":"c","namespace":"default","uid":"""#.to_owned(),
        ),
        ("labels that are null", format!(r#"{},"labels":null"#, named("c"))),
        (
            "labels that are numbers",
            format!(r#"{},"labels":{{"a":1}}"#, named("c")),
        ),
        (
            "a label with escape sequences",
            format!(r#"{},"labels":{{"\u001b[31m\n":1}}"#, named("c")),
        ),
        (
            "a time that is none",
            format!(r#"{},"creationTimestamp":"tomorrow\u001b[31m""#, named("c")),
        ),
        (
            "a time in the year 99999",
            format!(r#"{},"creationTimestamp":"99999-01-01T00:00:00Z""#, named("c")),
        ),
        ("10,000 owners", {
            let owner = r#"{"apiVersion":"v1","kind":"P","name":"o","uid":"u"}"#;
            format!(
                r#"{},"ownerReferences":[{}]"#,
                named("c"),
                vec![owner; 10_000].join(",")
            )
        }),
        (
            "managed fields that are no fields",
            format!(r#"{},"managedFields":[17,{{"a":[[]]}},null]"#, named("c")),
        ),
        (
            "managed fields that are text",
            format!(r#"{},"managedFields":"none""#, named("c")),
        ),
    ]
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (what, fields) in odd() {
        let list = good_and(&meta(&fields));
        rows.push(
            lists(format!("an item with {what}"), move |_| json(list.clone()))
                .state(Live)
                .synced(true)
                .minutes(10),
        );
        let frame = event("ADDED", &meta(&fields));
        rows.push(
            watches(format!("an event with {what}"), move |call| {
                frames_then_good(call, [frame.clone()])
            })
            .synced(true)
            .minutes(10),
        );
    }
    for (what, fields) in odd().into_iter().filter(|(what, _)| what.contains("name")) {
        let unusable = meta(&fields).replace("ConfigMap", "Secret");
        let (list, frame) = (good_and(&unusable), event("DELETED", &unusable));
        rows.push(
            lists(format!("an unusable item with {what}"), move |_| {
                json(list.clone())
            })
            .state(Live)
            .minutes(10),
        );
        rows.push(
            watches(
                format!("a deletion of an unusable object with {what}"),
                move |call| match call.nth {
                    0 => frames_then_good(call, [frame.clone()]),
                    _ => living_watch(call),
                },
            )
            .synced(true)
            .minutes(10),
        );
    }
    rows.extend(twice());
    rows
}

fn with_uid(name: &str, uid: &str, version: &str) -> String {
    meta(&format!(
        r#""name":"{name}","namespace":"default","uid":"{uid}","resourceVersion":"{version}""#
    ))
}

fn twice() -> Vec<Row> {
    vec![
        lists("an item twice", |_| {
            json(list_of(&[object("a", "5"), object("b", "6"), object("a", "5")]))
        })
        .lives(2),
        lists("an item 1,000 times, which is transformed", |_| {
            json(list_of(&vec![object("a", "5"); 1_000]))
        })
        .transformed()
        .lives(1)
        .minutes(10),
        lists("an item twice, with another UID", |_| {
            json(list_of(&[with_uid("a", "one", "5"), with_uid("a", "two", "6")]))
        })
        .lives(1),
        lists("two items with one UID", |_| {
            json(list_of(&[with_uid("a", "one", "5"), with_uid("b", "one", "6")]))
        })
        .lives(2),
        lists("an item 20,000 times", |_| {
            json(list_of(&vec![object("a", "5"); 20_000]))
        })
        .lives(1)
        .minutes(10),
        watches("a UID that changes with each event", |call| {
            frames_then_good(
                call,
                (11..31).map(|n| event("MODIFIED", &with_uid("a", &n.to_string(), &n.to_string()))),
            )
        })
        .minutes(30)
        .lives(2),
        lists("a UID that changes with each list", |call| {
            json(GOOD_LIST.replace("u-a", &format!("u-{}", call.nth)))
        })
        .lives(2),
        watches("a deletion with another UID", |call| {
            frames_then_good(call, [event("DELETED", &with_uid("a", "other", "11"))])
        })
        .minutes(30)
        .synced(true),
    ]
}
