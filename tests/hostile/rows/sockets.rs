//! Bytes that are not HTTP, or not quite.

use crate::bodies::GOOD_LIST;
use crate::tcp::Act::{self, Hang, Read, Repeat, Reset, Trickle, Write};
use crate::tcp::Wire;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";

/// A request, and then this text as the whole answer.
fn answer(name: &'static str, text: impl Into<Vec<u8>>) -> Wire {
    wire(name, vec![Read, Write(text.into())])
}

fn wire(name: &'static str, acts: Vec<Act>) -> Wire {
    Wire { name, acts }
}

fn ok(headers: &str, body: &str) -> Vec<u8> {
    format!("{OK}{headers}\r\n{body}").into_bytes()
}

/// Half of a good list.
fn half() -> &'static str {
    &GOOD_LIST[..GOOD_LIST.len() / 2]
}

pub(crate) fn rows() -> Vec<Wire> {
    let mut rows = not_http();
    rows.extend(headers());
    rows.extend(bodies());
    rows
}

fn not_http() -> Vec<Wire> {
    vec![
        wire("closed when accepted", vec![]),
        wire("reset when accepted", vec![Reset]),
        wire("closed when the request has come", vec![Read]),
        wire("reset when the request has come", vec![Read, Reset]),
        wire("accepted and left alone", vec![Hang]),
        wire("read and left alone", vec![Read, Hang]),
        wire(
            "an SSH server",
            vec![Write(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()), Hang],
        ),
        answer("a TLS alert", b"\x15\x03\x01\x00\x02\x02\x50".to_vec()),
        answer(
            "HTTP/2 frames",
            b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x80".to_vec(),
        ),
        answer("HTTP/0.9", "<html>hello</html>"),
        answer("NUL bytes", vec![0; 4096]),
        wire(
            "an answer before the request",
            vec![Write(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()), Read],
        ),
    ]
}

fn headers() -> Vec<Wire> {
    vec![
        answer("a status line without a code", "HTTP/1.1\r\n\r\n"),
        answer("a code of six digits", "HTTP/1.1 200000 OK\r\n\r\n"),
        answer("a code that is negative", "HTTP/1.1 -200 OK\r\n\r\n"),
        answer("HTTP/9.9", "HTTP/9.9 200 OK\r\n\r\n"),
        answer(
            "a reason with escape sequences",
            "HTTP/1.1 500 \x1b[31mOops\r\nContent-Length: 0\r\n\r\n",
        ),
        answer("a header without a colon", ok("nonsense\r\n", GOOD_LIST)),
        answer("a header with a NUL", ok("X: a\0b\r\n", GOOD_LIST)),
        answer(
            "a header of 1 MB",
            ok(&format!("X: {}\r\n", "x".repeat(1 << 20)), GOOD_LIST),
        ),
        wire(
            "headers that never end",
            vec![
                Read,
                Write(OK.into()),
                Repeat(b"X-Filler: xxxxxxxxxxxxxxxxxx\r\n", 100_000),
            ],
        ),
        wire(
            "headers that stop in the middle",
            vec![Read, Write(OK.into()), Hang],
        ),
        wire(
            "headers a byte at a time",
            vec![Read, Trickle(OK.as_bytes()), Hang],
        ),
        wire(
            "100 Continue without an end",
            vec![Read, Repeat(b"HTTP/1.1 100 Continue\r\n\r\n", 20_000)],
        ),
        answer(
            "101 Switching Protocols",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhello",
        ),
        answer(
            "a redirect to itself",
            "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
        ),
        answer(
            "two content lengths that differ",
            ok("Content-Length: 5\r\nContent-Length: 7\r\n", GOOD_LIST),
        ),
        answer(
            "a content length that is negative",
            ok("Content-Length: -5\r\n", GOOD_LIST),
        ),
        answer(
            "a content length past 64 bits",
            ok("Content-Length: 99999999999999999999999\r\n", GOOD_LIST),
        ),
        answer(
            "a transfer encoding that does not exist",
            ok("Transfer-Encoding: morse\r\n", half()),
        ),
    ]
}

fn bodies() -> Vec<Wire> {
    let chunked = |body: &str| ok("Transfer-Encoding: chunked\r\n", body);
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    vec![
        answer(
            "a body shorter than its length",
            ok("Content-Length: 100000\r\n", GOOD_LIST),
        ),
        answer(
            "a body longer than its length",
            ok("Content-Length: 40\r\n", GOOD_LIST),
        ),
        answer(
            "a body that ends with the connection, too early",
            ok("Connection: close\r\n", half()),
        ),
        wire(
            "a body that stops",
            vec![Read, Write(ok("Content-Length: 100000\r\n", half())), Hang],
        ),
        wire(
            "a body that is reset",
            vec![Read, Write(ok("Content-Length: 100000\r\n", half())), Reset],
        ),
        answer(
            "a chunk whose size is no number",
            chunked(&format!("zz\r\n{GOOD_LIST}\r\n0\r\n\r\n")),
        ),
        answer(
            "a chunk whose size is past 64 bits",
            chunked(&format!("FFFFFFFFFFFFFFFFFF\r\n{GOOD_LIST}")),
        ),
        answer(
            "a chunk that is negative",
            chunked(&format!("-5\r\n{GOOD_LIST}\r\n0\r\n\r\n")),
        ),
        answer("a chunk that is cut", chunked(&format!("fffff\r\n{GOOD_LIST}"))),
        answer("chunks without a last one", chunked(&chunk(half()))),
        answer(
            "a chunk without its line end",
            chunked(&format!("5\r\n{GOOD_LIST}")),
        ),
        answer(
            "chunks with extensions of 1 MB",
            chunked(&format!("5;x={}\r\n", "x".repeat(1 << 20))),
        ),
        wire(
            "trailers that never end",
            vec![
                Read,
                Write(chunked(&format!("{}0\r\n", chunk(half())))),
                Repeat(b"X: xxxxxxxxxxxxxxxx\r\n", 100_000),
            ],
        ),
    ]
}
