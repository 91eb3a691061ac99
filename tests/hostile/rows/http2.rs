//! Frames of HTTP/2 that are wrong, out of order, or without an end.

use crate::tcp::Act::{self, Hang, ReadStream, Repeat, Write};
use crate::tcp::Wire;

/// The types of frames.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;

/// Flags.
const NONE: u8 = 0;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;

/// Status 200 from the static table of HPACK.
const OK: &[u8] = b"\x88";

const HALF_AN_EVENT: &[u8] = br#"{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metada"#;

/// Without an acknowledgement, and each costs the client an answer.
const EMPTY_SETTINGS: &[u8] = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00";
const PING: &[u8] = b"\x00\x00\x08\x06\x00\x00\x00\x00\x00abcdefgh";
const EMPTY_CONTINUATION: &[u8] = b"\x00\x00\x00\x09\x00\x00\x00\x00\x01";
const EMPTY_DATA: &[u8] = b"\x00\x00\x00\x00\x00\x00\x00\x00\x01";

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("it is short").to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

fn wire(name: &'static str, acts: Vec<Act>) -> Wire {
    Wire { name, acts }
}

/// A setting, and then nothing.
fn setting(name: &'static str, identifier: u16, value: u32) -> Wire {
    let payload = [&identifier.to_be_bytes()[..], &value.to_be_bytes()].concat();
    wire(name, vec![Write(frame(SETTINGS, NONE, 0, &payload)), Hang])
}

/// Good settings, the request of a watch, and then these acts on its stream, which is the first.
fn watch(name: &'static str, acts: Vec<Act>) -> Wire {
    let begin = vec![Write(EMPTY_SETTINGS.to_vec()), ReadStream];
    wire(name, [begin, acts].concat())
}

pub(crate) fn rows() -> Vec<Wire> {
    let mut rows = handshakes();
    rows.extend(connections());
    rows.extend(streams());
    rows
}

fn handshakes() -> Vec<Wire> {
    vec![
        wire("HTTP/2 that is closed after the handshake", vec![]),
        wire("HTTP/2 without settings", vec![Hang]),
        wire(
            "HTTP/1.1 although HTTP/2 was negotiated",
            vec![Write(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()), Hang],
        ),
        wire("NUL bytes instead of frames", vec![Write(vec![0; 4096]), Hang]),
        wire(
            "another frame before the settings",
            vec![Write(frame(WINDOW_UPDATE, NONE, 0, &[0, 0, 0, 1])), Hang],
        ),
        wire(
            "settings of a wrong length",
            vec![Write(frame(SETTINGS, NONE, 0, &[0; 5])), Hang],
        ),
        wire(
            "settings on a stream",
            vec![Write(frame(SETTINGS, NONE, 1, &[])), Hang],
        ),
        setting("no streams at all", 3, 0),
        setting("a window past 31 bits", 4, 1 << 31),
        setting("frames of at most one byte", 5, 1),
    ]
}

fn connections() -> Vec<Wire> {
    let goaway = |code: u8| frame(GOAWAY, NONE, 0, &[0, 0, 0, 0, 0, 0, 0, code]);
    vec![
        watch("a watch that is not answered", vec![Hang]),
        watch("HTTP/2 that is closed when the request has come", vec![]),
        watch("GOAWAY for the request", vec![Write(goaway(0)), Hang]),
        watch("GOAWAY to calm down", vec![Write(goaway(11))]),
        wire(
            "GOAWAY with the settings",
            vec![Write([EMPTY_SETTINGS.to_vec(), goaway(0)].concat())],
        ),
        watch("settings without an end", vec![Repeat(EMPTY_SETTINGS, 50_000)]),
        watch("pings without an end", vec![Repeat(PING, 50_000)]),
        watch(
            "a frame of 16 MB",
            vec![Write(b"\xff\xff\xff\x00\x00\x00\x00\x00\x01".to_vec()), Hang],
        ),
        watch(
            "windows past 31 bits",
            vec![
                Write(frame(WINDOW_UPDATE, NONE, 0, &[0x7f, 0xff, 0xff, 0xff])),
                Hang,
            ],
        ),
        watch(
            "an answer on a stream that is not open",
            vec![Write(frame(HEADERS, END_HEADERS, 3, OK)), Hang],
        ),
        watch(
            "a pushed answer",
            vec![
                Write(frame(PUSH_PROMISE, END_HEADERS, 1, b"\x00\x00\x00\x02\x82")),
                Hang,
            ],
        ),
    ]
}

fn streams() -> Vec<Wire> {
    let answered = || frame(HEADERS, END_HEADERS, 1, OK);
    let half = || [answered(), frame(DATA, NONE, 1, HALF_AN_EVENT)].concat();
    vec![
        watch(
            "headers that are not HPACK",
            vec![Write(frame(HEADERS, END_HEADERS, 1, &[0xff; 100])), Hang],
        ),
        watch(
            "headers without a status",
            vec![Write(frame(HEADERS, END_HEADERS, 1, b"\x82")), Hang],
        ),
        watch(
            "headers in parts without an end",
            vec![
                Write(frame(HEADERS, NONE, 1, OK)),
                Repeat(EMPTY_CONTINUATION, 50_000),
            ],
        ),
        watch(
            "data before headers",
            vec![Write(frame(DATA, NONE, 1, b"{}")), Hang],
        ),
        watch(
            "padding longer than its frame",
            vec![
                Write([answered(), frame(DATA, PADDED, 1, &[200, 1])].concat()),
                Hang,
            ],
        ),
        watch(
            "empty frames without an end",
            vec![Write(answered()), Repeat(EMPTY_DATA, 50_000)],
        ),
        watch(
            "half an event and the end",
            vec![Write([half(), frame(DATA, END_STREAM, 1, b"")].concat()), Hang],
        ),
        watch(
            "half an event and a reset",
            vec![
                Write([half(), frame(RST_STREAM, NONE, 1, &[0, 0, 0, 2])].concat()),
                Hang,
            ],
        ),
        watch("half an event and a closed connection", vec![Write(half())]),
    ]
}
