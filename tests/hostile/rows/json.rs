//! Lists that are not JSON, not lists, or not of the kind that was requested.

use informer_core::InformerStatus;

use crate::bodies::{GOOD_LIST, good_and, in_data, list_of, nested, object, repeated, with_field};
use crate::row::{BackingOff, Live, Row, lists};
use crate::script::{Step, body, json};

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = broken();
    rows.extend(not_lists());
    rows.extend(bad_items());
    rows.extend(large());
    rows
}

/// Incomplete lists: no object of them may reach the cache.
fn broken() -> Vec<Row> {
    let cut = |at: usize| GOOD_LIST[..at].to_owned();
    let with_bom = format!("\u{feff}{GOOD_LIST}");
    let utf16: Vec<u8> = GOOD_LIST.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let texts: Vec<(&str, Vec<u8>)> = vec![
        ("a list cut after its metadata", cut(80).into()),
        ("a list cut in its first item", cut(110).into()),
        (
            "a list cut before its last brace",
            cut(GOOD_LIST.len() - 1).into(),
        ),
        (
            "a list with a second list behind it",
            format!("{GOOD_LIST}{GOOD_LIST}").into(),
        ),
        (
            "a list with text behind it",
            format!("{GOOD_LIST} and more").into(),
        ),
        ("a list with a brace behind it", format!("{GOOD_LIST}}}").into()),
        ("a list behind a byte order mark", with_bom.into()),
        ("a list in UTF-16", utf16),
        (
            "a list with a comment",
            GOOD_LIST.replacen('{', "{/* hello */", 1).into(),
        ),
        ("a list in single quotes", GOOD_LIST.replace('"', "'").into()),
        ("a list without quotes", GOOD_LIST.replace('"', "").into()),
        (
            "a list with a comma too many",
            GOOD_LIST.replace("]}", ",]}").into(),
        ),
        (
            "a list whose brackets do not match",
            GOOD_LIST.replace("]}", "}]").into(),
        ),
        ("a list that is a string", format!("{GOOD_LIST:?}").into()),
        ("blanks", " \n\t\r".repeat(100).into()),
        ("NUL bytes", vec![0; 1000]),
        ("protobuf", b"k8s\0\n\x0f\n\x02v1\x12\x09ConfigMap".to_vec()),
        ("YAML", "apiVersion: v1\nkind: ConfigMapList\nitems: []\n".into()),
        ("HTML", "<html><body>Log in</body></html>".into()),
    ];
    texts
        .into_iter()
        .map(|(name, text)| lists(name, move |_| json(text.clone())).fails())
        .collect()
}

fn not_lists() -> Vec<Row> {
    let list = |rest: &str| format!(r#"{{"kind":"ConfigMapList","apiVersion":"v1",{rest}}}"#);
    let metadata = r#""metadata":{"resourceVersion":"10"}"#;
    let texts = vec![
        ("null instead of a list", "null".to_owned()),
        ("a number instead of a list", "12".to_owned()),
        ("an array instead of a list", "[]".to_owned()),
        ("an empty object instead of a list", "{}".to_owned()),
        ("a list without items", list(metadata)),
        ("a list without metadata", list(r#""items":[]"#)),
        ("a list with metadata null", list(r#""metadata":null,"items":[]"#)),
        (
            "a list with an array as metadata",
            list(r#""metadata":["10"],"items":[]"#),
        ),
        (
            "a list with metadata in a string",
            list(r#""metadata":"resourceVersion: 10","items":[]"#),
        ),
        (
            "a list whose items are an object",
            list(&format!(r#"{metadata},"items":{{"0":{{}}}}"#)),
        ),
        (
            "a list whose items are a string",
            list(&format!(r#"{metadata},"items":"none""#)),
        ),
        (
            "a list whose items are a number",
            list(&format!(r#"{metadata},"items":0"#)),
        ),
        ("a Table", GOOD_LIST.replace("ConfigMapList", "Table")),
        ("an object instead of a list", object("a", "5")),
    ];
    let mut rows: Vec<Row> = texts
        .into_iter()
        .map(|(name, text)| lists(name, move |_| json(text.clone())).fails())
        .collect();
    let null_items = list(&format!(r#"{metadata},"items":null"#));
    rows.push(lists("a list whose items are null", move |_| json(null_items.clone())).lives(0));
    let twice = format!(
        r#"{},"items":[]}}"#,
        GOOD_LIST.strip_suffix('}').expect("it ends so")
    );
    rows.push(lists("a list with items twice", move |_| json(twice.clone())));
    rows
}

/// A bad item affects no other: the two good ones are cached, and the bad one is counted.
fn bad_items() -> Vec<Row> {
    let utf8 = |bad: &[u8]| {
        let mut text = good_and(&with_field("c", "\"?\"")).into_bytes();
        let at = text.iter().position(|byte| *byte == b'?').expect("it is there");
        text.splice(at..=at, bad.iter().copied());
        text
    };
    let items: Vec<(&str, Vec<u8>)> = vec![
        (
            "an item whose data is nested 10,000 levels deep",
            good_and(&in_data("c", &nested(10_000))).into(),
        ),
        (
            "an item whose data is nested 1,000,000 levels deep",
            good_and(&in_data("c", &nested(1_000_000))).into(),
        ),
        ("an item that is null", good_and("null").into()),
        ("an item that is a number", good_and("17").into()),
        ("an item that is a string", good_and(r#""a\"b""#).into()),
        ("an item that is an array", good_and("[[],[]]").into()),
        ("an item that is empty", good_and("{}").into()),
        ("an item with NaN", good_and(&with_field("c", "NaN")).into()),
        (
            "an item with Infinity",
            good_and(&with_field("c", "-Infinity")).into(),
        ),
        ("an item with invalid UTF-8", utf8(b"\xff\xfe")),
        ("an item with an overlong NUL", utf8(b"\xc0\x80")),
        ("an item with a surrogate in UTF-8", utf8(b"\xed\xa0\x80")),
        ("an item with a raw control character", utf8(b"\x07")),
        (
            "an item of another kind",
            good_and(&object("c", "7").replace("ConfigMap", "Secret")).into(),
        ),
        (
            "an item of another version",
            good_and(&object("c", "7").replace("\"v1\"", "\"v2\"")).into(),
        ),
        (
            "an item whose data is a list",
            good_and(&object("c", "7").replace("\"metadata\"", "\"data\":[1],\"metadata\"")).into(),
        ),
        (
            "an item with a broken escape",
            good_and(&with_field("c", r#""\x""#)).into(),
        ),
        (
            "an item with a key that is no string",
            good_and(r#"{metadata:{"name":"c"}}"#).into(),
        ),
    ];
    let mut rows: Vec<Row> = items
        .into_iter()
        .map(|(name, text)| {
            lists(name, move |_| json(text.clone()))
                .state(Live)
                .synced(true)
                .objects(2)
                .undecodable(1)
        })
        .collect();
    // A decoder may accept or refuse these, if no other item is affected.
    let either: Vec<(&str, String)> = vec![
        (
            "an item nested 200 levels deep",
            good_and(&with_field("c", &nested(200))),
        ),
        (
            "an item nested 1,025 levels deep",
            good_and(&with_field("c", &nested(1_025))),
        ),
        (
            "an item nested 10,000 levels deep",
            good_and(&with_field("c", &nested(10_000))),
        ),
        (
            "an item nested 1,000,000 levels deep",
            good_and(&with_field("c", &nested(1_000_000))),
        ),
        (
            "an item whose metadata is twice",
            good_and(r#"{"metadata":{"name":"c"},"metadata":{"name":"d"}}"#),
        ),
        (
            "an item with a number of a million digits",
            good_and(&with_field("c", &"9".repeat(1_000_000))),
        ),
        (
            "an item with the number 1e999999999",
            good_and(&with_field("c", "1e999999999")),
        ),
        (
            "an item with a lone surrogate",
            good_and(&with_field("c", r#""\ud800""#)),
        ),
        (
            "an item with a name twice",
            good_and(r#"{"metadata":{"name":"c","name":"d","namespace":"default"}}"#),
        ),
        (
            "an item with a string of 4 MB",
            good_and(&with_field("c", &format!("\"{}\"", "x".repeat(1 << 22)))),
        ),
        ("an item with 100,000 fields", {
            let fields: Vec<String> = (0..100_000).map(|n| format!("\"{n}\":0")).collect();
            good_and(&with_field("c", &format!("{{{}}}", fields.join(","))))
        }),
    ];
    rows.extend(either.into_iter().map(|(name, text)| {
        lists(name, move |_| json(text.clone()))
            .state(Live)
            .synced(true)
            .check(|status| match status.objects {
                2 | 3 => Ok(()),
                other => Err(format!("{other} objects are cached")),
            })
    }));
    rows
}

/// The only unusable object is over the size limit, and its name is known.
fn unusable_is_larger(status: &InformerStatus) -> Result<(), String> {
    match &status.stale[..] {
        [(key, reason)] if key.name() == "c" && reason.contains("max_object_bytes") => Ok(()),
        other => Err(format!("stale: {other:?}")),
    }
}

fn large() -> Vec<Row> {
    let start =
        |rest: &'static str| [Step::text(r#"{"kind":"ConfigMapList","#), Step::text(rest)].into_iter();
    vec![
        lists("an item that never ends", move |_| {
            let open = start(r#""metadata":{"resourceVersion":"10"},"items":[{"data":{"x":""#);
            body(open.chain(repeated("x".repeat(65_536), 1_000)))
        })
        .with(|builder| builder.max_object_bytes(1 << 20))
        .fails()
        .error("larger")
        .minutes(2),
        lists("an item larger than the limit", |_| {
            json(good_and(&with_field("c", &format!("\"{}\"", "x".repeat(10_000)))))
        })
        .with(|builder| builder.max_object_bytes(5_000))
        .state(Live)
        .synced(true)
        .objects(2)
        .check(unusable_is_larger),
        lists("an item larger than the limit, with its name at the end", |_| {
            let large = format!(
                r#"{{"data":{{"x":"{}"}},"metadata":{{"name":"c"}}}}"#,
                "x".repeat(10_000)
            );
            json(good_and(&large))
        })
        .with(|builder| builder.max_object_bytes(5_000))
        .state(Live)
        .synced(true)
        .objects(2)
        .check(unusable_is_larger),
        lists("metadata that never ends", move |_| {
            body(start(r#""metadata":{"x":""#).chain(repeated("x".repeat(65_536), 1_000)))
        })
        .with(|builder| builder.max_object_bytes(1 << 20))
        .fails()
        .minutes(2),
        lists("a field before the items that never ends", move |_| {
            body(
                start(r#""extra":""#)
                    .chain(repeated("x".repeat(16_384), 300))
                    .chain([Step::Reset]),
            )
        })
        .fails()
        .minutes(2),
        lists("a key that never ends", move |_| {
            body(start("\"").chain(repeated("x".repeat(65_536), 100)))
        })
        .fails()
        .minutes(2),
        lists("blanks before a list that never end", |_| {
            body(repeated("\n".repeat(16_384), 300))
        })
        .fails()
        .minutes(2),
        lists("commas that never end", move |_| {
            let open = start(r#""metadata":{"resourceVersion":"10"},"items":["#);
            body(open.chain(repeated(",".repeat(1_024), 1_000)))
        })
        .fails(),
        lists("2,000 items that cannot be used", |_| {
            json(list_of(&vec!["{\"metadata\":{}}"; 2_000]))
        })
        .state(Live)
        .objects(0)
        .undecodable(2_000)
        .minutes(10),
        lists("5,000 items that are null", |_| {
            json(list_of(&vec!["null"; 5_000]))
        })
        .state(Live)
        .objects(0)
        .undecodable(5_000)
        .minutes(10),
        lists(
            "a field nested a million levels deep before the items",
            move |_| json(GOOD_LIST.replacen('{', &format!("{{\"extra\":{},", nested(1_000_000)), 1)),
        )
        .minutes(10)
        .check(|status| match (status.objects, status.synced) {
            (2, true) | (0, false) => Ok(()),
            other => Err(format!("half a list was cached: {other:?}")),
        }),
        lists("metadata nested a million levels deep", move |_| {
            let deep = format!(r#""metadata":{{"x":{},"#, nested(1_000_000));
            json(GOOD_LIST.replacen(r#""metadata":{"#, &deep, 1))
        })
        .minutes(10)
        .state(BackingOff)
        .state(Live),
    ]
}
