//! Protobuf that is cut, malformed, of another kind, or made to take much memory.

use bytes::Bytes;

use crate::bodies::{every_bytes, living_watch, refusal, repeated};
use crate::row::{BackingOff, Live, Row, Stalled, initial, lists, watches};
use crate::script::{Answer, Call, Step, body};

const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// Fields of `ObjectMeta`.
const NAME: u8 = 1;
const NAMESPACE: u8 = 3;
const UID: u8 = 5;
const VERSION: u8 = 6;
const LABELS: u8 = 11;
const OWNERS: u8 = 13;

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = broken_lists();
    rows.extend(odd_items());
    rows.extend(broken_watches());
    rows.extend(odd_events());
    rows
}

fn answer(bytes: impl Into<Bytes>) -> Answer {
    body([Step::Data(bytes.into())]).header("content-type", MEDIA_TYPE)
}

/// A field with bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![(number << 3) | 2];
    let mut length = bytes.len();
    while length >= 0x80 {
        field.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    field.push(length as u8);
    [field.as_slice(), bytes].concat()
}

fn envelope(kind: &str, object: &[u8]) -> Vec<u8> {
    let types = [field(1, b"v1"), field(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), field(1, &types), field(2, object)].concat()
}

/// A ConfigMap with these bytes as its name, and further fields in its metadata.
fn item(name: &[u8], more: &[u8]) -> Vec<u8> {
    let metadata = [
        field(NAME, name),
        field(NAMESPACE, b"default"),
        field(UID, name),
        field(VERSION, b"7"),
        more.to_vec(),
    ];
    field(1, &metadata.concat())
}

/// The body of a list at version 10, without its envelope.
fn items(items: &[Vec<u8>]) -> Vec<u8> {
    let mut list = field(1, &field(2, b"10"));
    for item in items {
        list.extend(field(2, item));
    }
    list
}

fn list_of(more: &[Vec<u8>]) -> Vec<u8> {
    let good = [item(b"a", b""), item(b"b", b"")];
    envelope("ConfigMapList", &items(&[&good, more].concat()))
}

/// A frame of a watch: its length, its type, and an object in these bytes.
fn frame(kind: &str, object: &[u8]) -> Vec<u8> {
    let event = [field(1, kind.as_bytes()), field(2, &field(1, object))].concat();
    let length = u32::try_from(event.len()).expect("frames here are small");
    [&length.to_be_bytes()[..], &event].concat()
}

fn bookmark(version: &[u8]) -> Vec<u8> {
    frame(
        "BOOKMARK",
        &envelope("ConfigMap", &field(1, &field(VERSION, version))),
    )
}

fn broken_lists() -> Vec<Row> {
    let good = list_of(&[]);
    let cut = |at: usize| good[..at].to_vec();
    let mut too_long = good[..good.len() - 40].to_vec();
    too_long.extend([0x12, 0xff, 0xff, 0xff, 0xff, 0x7f]);
    let in_item = envelope(
        "ConfigMapList",
        &[items(&[]), vec![0x12, 0xff, 0xff, 0xff, 0xff, 0x7f]].concat(),
    );
    let bodies: Vec<(&str, Vec<u8>)> = vec![
        ("that is empty", Vec::new()),
        ("without an envelope", items(&[item(b"a", b"")])),
        ("of JSON", crate::bodies::GOOD_LIST.into()),
        ("cut within its magic bytes", cut(3)),
        ("cut within its type", cut(9)),
        ("cut within an item", cut(good.len() - 5)),
        (
            "cut between two items",
            cut(good.len() - item(b"b", b"").len() - 2),
        ),
        ("with a field of 32 GB in its envelope", too_long),
        ("with an item of 32 GB", in_item),
        (
            "with a varint that never ends",
            [b"k8s\0".to_vec(), vec![0xff; 64]].concat(),
        ),
        ("with a field of number 0", envelope("ConfigMapList", b"\x02\x00")),
        ("with a group", envelope("ConfigMapList", b"\x0b\x0c")),
        ("whose item is a number", envelope("ConfigMapList", b"\x10\x01")),
    ];
    let rows = bodies.into_iter().map(|(name, bytes)| {
        lists(format!("a protobuf list {name}"), move |_| answer(bytes.clone())).fails()
    });
    let whole = list_of(&[item(b"c", b"")]);
    let good = lists("a good protobuf list, byte by byte", move |_| {
        let bytes: Vec<Step> = whole
            .iter()
            .map(|byte| Step::Data(Bytes::copy_from_slice(&[*byte])))
            .collect();
        body(bytes).header("content-type", MEDIA_TYPE)
    });
    // Each chunk is one byte, and so are many of them.
    rows.chain([good.lives(3).pieces(1024)]).collect()
}

fn odd_items() -> Vec<Row> {
    let owners = field(OWNERS, b"").repeat(1_000_000);
    let in_lists: Vec<(&str, Vec<u8>)> = vec![
        ("with a name that is not UTF-8", item(b"\xff\xfe", b"")),
        (
            "with a label that is not UTF-8",
            item(b"c", &field(LABELS, &field(1, b"\xff"))),
        ),
        ("with labels that are a number", item(b"c", b"\x58\x01")),
        ("with metadata that is a number", b"\x08\x01".to_vec()),
        ("that is empty", Vec::new()),
        ("with garbage", b"garbage".to_vec()),
    ];
    let mut rows: Vec<Row> = in_lists
        .into_iter()
        .map(|(name, odd)| {
            lists(format!("a protobuf list with an item {name}"), move |_| {
                answer(list_of(std::slice::from_ref(&odd)))
            })
            .lives(2)
            .undecodable(1)
        })
        .collect();
    rows.push(
        lists("a protobuf list of another kind", |_| {
            answer(envelope("SecretList", &items(&[item(b"a", b"")])))
        })
        .objects(0),
    );
    rows.push(
        lists(
            "a protobuf list with an item of 1,000,000 empty owners",
            move |call| first(call, list_of(&[item(b"c", &owners)])),
        )
        .minutes(2)
        .memory(512),
    );
    rows
}

/// Only the first answer is a bomb, to keep the row fast.
fn first(call: &Call, bomb: Vec<u8>) -> Answer {
    match call.nth {
        0 => answer(bomb),
        _ => refusal(503, "ServiceUnavailable", "after the bomb"),
    }
}

fn broken_watches() -> Vec<Row> {
    let bodies: Vec<(&str, Vec<u8>)> = vec![
        (
            "with a frame of 4 GB",
            [&[0xff; 4][..], b"\x0a\x05ADDED"].concat(),
        ),
        ("of JSON", crate::bodies::bookmark("11").into()),
        ("with a frame that is no event", b"\0\0\0\x02\xff\xff".to_vec()),
        (
            "with an object without an envelope",
            frame("ADDED", &item(b"c", b"")),
        ),
        (
            "with an object in half an envelope",
            frame("ADDED", b"k8s\0\x0a\x7f"),
        ),
        (
            "with an error that is no status",
            frame("ERROR", b"k8s\0\x0a\x7f"),
        ),
    ];
    let mut rows: Vec<Row> = bodies
        .into_iter()
        .map(|(name, bytes)| {
            watches(format!("a protobuf watch {name}"), move |_| answer(bytes.clone()))
                .state(BackingOff)
                .synced(true)
                .objects(2)
        })
        .collect();
    rows.push(
        watches(
            "a protobuf watch that bursts into frames of no length",
            |call| match call.nth {
                0 => body(repeated(vec![0; 4096], 2_000)).header("content-type", MEDIA_TYPE),
                _ => refusal(503, "ServiceUnavailable", "after the bomb"),
            },
        )
        .state(BackingOff)
        .objects(2)
        .minutes(2),
    );
    rows.push(
        watches("a protobuf watch of a frame of no length each second", |_| {
            body(every_bytes(1, vec![0; 4])).header("content-type", MEDIA_TYPE)
        })
        .synced(true)
        .objects(2),
    );
    rows.push(
        watches("a protobuf watch that stops within a frame", |_| {
            let start = bookmark(b"11")[..9].to_vec();
            body([Step::Data(start.into()), Step::Silence]).header("content-type", MEDIA_TYPE)
        })
        .state(Stalled)
        .state(BackingOff)
        .state(Live)
        .objects(2),
    );
    rows.push(
        initial("a protobuf initial stream that ends early", |_| {
            answer(frame("ADDED", &envelope("ConfigMap", &item(b"z", b""))))
        })
        .lives(2),
    );
    rows
}

fn odd_events() -> Vec<Row> {
    let good = |object: Vec<u8>| frame("ADDED", &envelope("ConfigMap", &object));
    let events: Vec<(&str, Vec<u8>)> = vec![
        (
            "of another kind",
            frame("ADDED", &envelope("Secret", &item(b"c", b""))),
        ),
        ("whose name is not UTF-8", good(item(b"\xff\xfe", b""))),
        (
            "with a label that is not UTF-8",
            good(item(b"c", &field(LABELS, &field(1, b"\xff")))),
        ),
        ("that is empty", good(Vec::new())),
        ("with garbage", good(b"garbage".to_vec())),
    ];
    events
        .into_iter()
        .map(|(name, event)| {
            watches(
                format!("a protobuf watch with an object {name}"),
                move |call| match call.nth {
                    0 => body([Step::Data([event.clone(), bookmark(b"11")].concat().into())])
                        .header("content-type", MEDIA_TYPE),
                    _ => living_watch(call),
                },
            )
            .undecodable(1)
            .state(Live)
            .objects(2)
        })
        .collect()
}
