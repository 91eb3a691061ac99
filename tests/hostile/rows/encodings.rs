//! Compression and content types: unknown, broken, or made to burst.

use bytes::Bytes;

use crate::bodies::{
    GOOD_LIST, bookmark, event, good_and, gzip, gzipped, living_watch, packed, refusal, repeated, with_field,
};
use crate::row::{BackingOff, Live, Row, lists, watches};
use crate::script::{Answer, Call, Script, Step, body, json};

/// The most chunks of a bomb that may be unpacked before another task runs.
const PIECES: u64 = 64;

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = headers();
    rows.extend(broken());
    rows.extend(bombs());
    rows
}

fn headers() -> Vec<Row> {
    let unknown = [
        "br",
        "deflate",
        "zstd",
        "compress",
        "gzip, gzip",
        "none of your business",
    ]
    .map(|encoding| {
        lists(format!("a list in the encoding {encoding:?}"), move |_| {
            json(GOOD_LIST).header("content-encoding", encoding)
        })
        .fails()
        .error("encoding")
    });
    let known = ["", "identity", "Identity"].map(|encoding| {
        lists(format!("a plain list in the encoding {encoding:?}"), move |_| {
            json(GOOD_LIST).header("content-encoding", encoding)
        })
        .lives(2)
    });
    let packed_as = ["gzip", "x-gzip", "GZIP", " gzip "].map(|encoding| {
        lists(
            format!("a compressed list in the encoding {encoding:?}"),
            move |_| gzipped(GOOD_LIST.as_bytes()).header("content-encoding", encoding),
        )
        .lives(2)
    });
    let types = [
        "text/html",
        "application/vnd.kubernetes.protobuf",
        "",
        "\u{1b}[31m",
    ]
    .map(|kind| {
        lists(
            format!("a good list of the content type {kind:?}"),
            move |_| match kind.starts_with('\u{1b}') {
                true => json(GOOD_LIST).header("content-type", b"\xff\xfe".to_vec()),
                false => json(GOOD_LIST).header("content-type", kind),
            },
        )
        .state(Live)
        .state(BackingOff)
    });
    let mut rows = vec![
        lists("an encoding that is no text", |_| {
            json(GOOD_LIST).header("content-encoding", b"\xff\x80".to_vec())
        })
        .fails(),
        lists("an encoding of 64 KB", |_| {
            json(GOOD_LIST).header("content-encoding", "x".repeat(65_536))
        })
        .fails(),
    ];
    rows.extend(unknown.into_iter().chain(known).chain(packed_as).chain(types));
    rows
}

fn broken() -> Vec<Row> {
    let good = gzip(GOOD_LIST.as_bytes());
    let changed = |at: usize| {
        let mut bytes = good.clone();
        let at = bytes.len() - at;
        bytes[at] ^= 0xff;
        bytes
    };
    let with = |more: &[u8]| [&good[..], more].concat();
    let many_headers = [&[0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3][..], &vec![b'n'; 1 << 20]].concat();
    let texts: Vec<(&str, Vec<u8>)> = vec![
        ("a compressed list that is plain", GOOD_LIST.into()),
        ("a compressed list that is empty", Vec::new()),
        ("a compressed list cut in its header", good[..5].to_vec()),
        (
            "a compressed list cut in the middle",
            good[..good.len() / 2].to_vec(),
        ),
        (
            "a compressed list cut in its checksum",
            good[..good.len() - 6].to_vec(),
        ),
        ("a compressed list with a wrong checksum", changed(8)),
        ("a compressed list with a wrong length", changed(1)),
        ("a compressed list with a flipped byte", changed(30)),
        ("a compressed list with garbage behind it", with(b"garbage")),
        (
            "a compressed list with half a member behind it",
            with(&good[..12]),
        ),
        ("a compressed list that is compressed twice", gzip(&good)),
        ("a compressed list with a second list behind it", with(&good)),
        ("a compressed list whose header never ends", many_headers),
    ];
    let mut rows: Vec<Row> = texts
        .into_iter()
        .map(|(name, bytes)| lists(name, move |_| packed(&bytes)).fails())
        .collect();
    let in_members: Vec<u8> = GOOD_LIST.as_bytes().chunks(7).flat_map(gzip).collect();
    rows.push(lists("a compressed list in many members", move |_| packed(&in_members)).lives(2));
    rows.push(
        watches(
            "a compressed watch in a member for each event",
            |call| match call.nth {
                0 => {
                    let frames = [event("ADDED", &with_field("c", "1")), bookmark("11")]
                        .map(|frame| gzip(frame.as_bytes()));
                    let pieces: Vec<Step> = frames
                        .into_iter()
                        .map(|frame| Step::Data(Bytes::from(frame)))
                        .collect();
                    body(pieces.into_iter().chain([Step::Silence])).header("content-encoding", "gzip")
                }
                _ => living_watch(call),
            },
        )
        .minutes(3)
        .state(Live)
        .objects(3),
    );
    rows.push(
        watches("a compressed watch that is corrupt", |_| {
            packed(b"\x1f\x8b\x08\0\0\0\0\0\0\x03garbage")
        })
        .state(BackingOff)
        .objects(2)
        .synced(true),
    );
    rows
}

/// A compressed text: a start, and then 6 MB of the same.
fn bomb(start: &str, unit: &str) -> Vec<u8> {
    const SIZE: usize = 6 << 20;
    gzip(&[start.as_bytes(), &unit.as_bytes().repeat(SIZE / unit.len())].concat())
}

/// Only the first answer is a bomb, to keep the row fast.
fn first(call: &Call, bomb: impl FnOnce() -> Vec<u8>) -> Answer {
    match call.nth {
        0 => in_small_pieces(&bomb()),
        _ => refusal(503, "ServiceUnavailable", "after the bomb"),
    }
}

/// Each chunk unpacks to about 50 KB.
fn in_small_pieces(bytes: &[u8]) -> Answer {
    let pieces: Vec<Step> = bytes
        .chunks(256)
        .map(|piece| Step::Data(Bytes::copy_from_slice(piece)))
        .collect();
    body(pieces).header("content-encoding", "gzip")
}

fn bombs() -> Vec<Row> {
    const OPEN: &str = r#"{"kind":"ConfigMapList","metadata":{"resourceVersion":"10"},"items":["#;
    const OPEN_ITEM: &str = r#"{"kind":"ConfigMapList","metadata":{"resourceVersion":"10"},"items":[{"#;
    let in_lists = [
        ("newlines before a list", "", "\n"),
        ("blanks between the items of a list", OPEN, " "),
        ("an item of blanks", OPEN_ITEM, " "),
        ("a field that is skipped", "{\"extra\":\"", "x"),
        ("a field that is skipped, with brackets", "{\"extra\":[", "[],"),
        ("brackets", "", "["),
        ("quotes", "{", "\""),
    ];
    let in_watches = [
        ("newlines", "", "\n"),
        ("blanks", "", " "),
        ("carriage returns and newlines", "", "\r\n"),
        ("a frame that never ends", "{\"type\":\"", "x"),
        ("NUL bytes", "", "\0"),
    ];
    let mut rows = Vec::new();
    for (what, start, unit) in in_lists {
        rows.push(
            lists(format!("a list that bursts into {what}"), move |call| {
                first(call, || bomb(start, unit))
            })
            .fails()
            .minutes(2)
            .pieces(PIECES),
        );
    }
    for (what, start, unit) in in_watches {
        rows.push(
            watches(format!("a watch that bursts into {what}"), move |call| {
                first(call, || bomb(start, unit))
            })
            .state(BackingOff)
            .objects(2)
            .minutes(2)
            .pieces(PIECES),
        );
    }
    rows.push(members("a list of 50,000 empty members", lists));
    rows.push(members("a watch of 50,000 empty members", watches).objects(2));
    rows.push(
        watches("a watch that bursts into unknown events", move |call| {
            first(call, || gzip(event("PONG", "{}").repeat(50_000).as_bytes()))
        })
        .objects(2)
        .minutes(2)
        .pieces(PIECES),
    );
    rows.push(
        watches(
            "a watch that bursts into objects that cannot be used",
            move |call| first(call, || gzip(event("ADDED", "{}").repeat(20_000).as_bytes())),
        )
        .objects(2)
        .minutes(2)
        .pieces(PIECES),
    );
    rows.push(
        lists("a list that bursts into items that cannot be used", move |call| {
            first(call, || {
                gzip(format!("{OPEN}{}{{}}]}}", "{},".repeat(20_000)).as_bytes())
            })
        })
        .objects(0)
        .minutes(2)
        .pieces(PIECES),
    );
    rows.push(
        lists("a compressed list that is large and good", |call| {
            match call.nth {
                0 => gzipped(good_and(&with_field("c", &format!("\"{}\"", "x".repeat(1 << 20)))).as_bytes()),
                _ => Answer::Never,
            }
        })
        .lives(3)
        .minutes(2),
    );
    rows
}

fn members(name: &str, kind: fn(String, Script) -> Row) -> Row {
    let empty = gzip(b"").repeat(100);
    kind(
        name.to_owned(),
        Box::new(move |call| match call.nth {
            0 => body(repeated(empty.clone(), 500)).header("content-encoding", "gzip"),
            _ => refusal(503, "ServiceUnavailable", "after the bomb"),
        }),
    )
    .state(BackingOff)
    .minutes(2)
    .pieces(PIECES)
}
