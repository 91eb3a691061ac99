//! Codes, redirects, error bodies and `Retry-After`.

use bytes::Bytes;
use informer_core::WatchListVerdict;

use crate::bodies::{GOOD_LIST, every, gzip, packed, refusal, repeated, status};
use crate::row::{BackingOff, Forbidden, NotFound, Row, always, by_list, lists};
use crate::script::{Answer, Step, body, json};

/// Codes that only mean that the request failed.
const FAILURES: [(u16, &str); 27] = [
    (400, "BadRequest"),
    (401, "Unauthorized"),
    (402, ""),
    (405, "MethodNotAllowed"),
    (406, "NotAcceptable"),
    (407, ""),
    (408, "Timeout"),
    (409, "Conflict"),
    (410, "Expired"),
    (411, ""),
    (412, ""),
    (413, "RequestEntityTooLarge"),
    (414, ""),
    (415, "UnsupportedMediaType"),
    (418, ""),
    (422, "Invalid"),
    (429, "TooManyRequests"),
    (431, ""),
    (451, ""),
    (500, "InternalError"),
    (501, ""),
    (502, ""),
    (503, "ServiceUnavailable"),
    (504, "Timeout"),
    (505, ""),
    (511, ""),
    (599, ""),
];

const RETRY_AFTER: [(&str, &[u8]); 10] = [
    ("zero", b"0"),
    ("one", b"1"),
    ("negative", b"-5"),
    ("a number past 64 bits", b"99999999999999999999999"),
    ("a century", b"3153600000"),
    ("a date in the past", b"Wed, 21 Oct 2015 07:28:00 GMT"),
    ("a date in 2099", b"Wed, 21 Oct 2099 07:28:00 GMT"),
    ("words", b"soon, or never"),
    ("nothing", b""),
    ("bytes that are no text", b"\xff\xfe\x80"),
];

pub(crate) fn rows() -> Vec<Row> {
    let failures = FAILURES.map(|(code, reason)| {
        always(format!("every answer is {code} with a Status"), move |_| {
            refusal(code, reason, "not today")
        })
        .fails()
        .error("not today")
    });
    let retry_after = RETRY_AFTER.map(|(what, value)| {
        always(format!("429 with a Retry-After of {what}"), move |_| {
            refusal(429, "TooManyRequests", "not now").header("retry-after", value)
        })
        .fails()
        .error("not now")
    });
    let redirects = [300, 301, 302, 303, 304, 305, 307, 308].map(|code| {
        always(format!("every answer is a redirect with {code}"), move |_| {
            json("")
                .code(code)
                .header("location", "http://example.com/elsewhere")
        })
        .fails()
    });
    let odd = [100, 101, 103, 600, 999].map(|code| {
        always(format!("every answer is {code}"), move |_| {
            json(GOOD_LIST).code(code)
        })
        .fails()
    });
    let empty = [200, 201, 202, 204, 205, 206].map(|code| {
        by_list(format!("every answer is an empty {code}"), move |_| {
            body([]).code(code)
        })
        .fails()
    });
    failures
        .into_iter()
        .chain(retry_after)
        .chain(redirects)
        .chain(odd)
        .chain(empty)
        .chain(bodies())
        .chain(refusals())
        .collect()
}

fn refusals() -> Vec<Row> {
    vec![
        always("every answer is 403", |_| {
            refusal(403, "Forbidden", "no such right")
        })
        .state(Forbidden)
        .synced(false)
        .error("no such right"),
        always("every answer is 404", |_| {
            refusal(404, "NotFound", "no such resource")
        })
        .state(NotFound)
        .synced(false)
        // A request every 15 s on average, and discovery once a minute.
        .requests(360)
        .error("no such resource"),
        always("400 because of a field selector", |_| {
            refusal(400, "BadRequest", "field label not supported: spec.x")
        })
        .fails()
        .error("field label not supported")
        .check(|status| match &status.scopes[0].watch_list {
            WatchListVerdict::Refused(reason) => Err(format!("streaming was given up: {reason}")),
            _ => Ok(()),
        }),
        always("a Status whose message has escape sequences and lines", |_| {
            refusal(
                500,
                "InternalError",
                r"bad\u001b[31m\r\nfatal: forged line\u0000\u202e",
            )
        })
        .fails()
        .error("forged"),
        always("a Status whose reason has escape sequences and lines", |_| {
            refusal(500, r"Inter\u001b[2J\nnal", "x")
        })
        .fails(),
        always("a Status with a message of 15 MB", |_| {
            let parts = [Step::text(r#"{"kind":"Status","code":500,"message":""#)];
            let message = repeated("x".repeat(65_536), 240);
            body(parts.into_iter().chain(message).chain([Step::text("\"}")])).code(500)
        })
        .fails()
        .minutes(10),
        always("a Status with a thousand causes", |_| {
            let cause = r#"{"reason":"R","message":"\u001b[1mM"}"#;
            let causes = vec![cause; 1000].join(",");
            json(format!(
                r#"{{"kind":"Status","code":500,"message":"m","details":{{"causes":[{causes}]}}}}"#
            ))
            .code(500)
        })
        .fails()
        .minutes(10),
        always("a Status that contradicts its code", |_| {
            json(status(200, "", "all is well")).code(500)
        })
        .fails(),
        always("a Status with code 0", |_| json(status(0, "", "zero")).code(503))
            .fails()
            .error("zero"),
        always("a Status whose code is out of range", |_| {
            json(r#"{"kind":"Status","code":-70000,"message":"m"}"#).code(500)
        })
        .fails(),
        always("a Status that asks to wait for ever", |_| {
            let details = r#"{"retryAfterSeconds":18446744073709551615}"#;
            json(format!(
                r#"{{"kind":"Status","code":429,"message":"m","details":{details}}}"#
            ))
            .code(429)
        })
        .fails(),
        lists("a Status with 200 instead of a list", |_| {
            json(status(500, "InternalError", "m"))
        })
        .fails()
        .error("Status"),
    ]
}

/// Bodies of error answers.
fn bodies() -> Vec<Row> {
    let html = "<html><body>\u{1b}[31m<h1>502 Bad Gateway</h1>\r\n\r\n</body></html>";
    vec![
        always("502 with HTML", move |_| {
            json(html).code(502).header("content-type", "text/html")
        })
        .fails()
        .error("Bad Gateway"),
        always("503 without a body", |_| body([]).code(503))
            .fails()
            .error("503"),
        always("500 with binary", |_| {
            let bytes: Vec<u8> = (0..=255).cycle().take(4096).collect();
            body([Step::Data(Bytes::from(bytes))]).code(500)
        })
        .fails(),
        always("500 with text that turns its direction", |_| {
            json("\u{202e}\u{2066}txet\u{2028}").code(500)
        })
        .fails(),
        always("500 with 16 MB of text", |_| {
            body(repeated("word ".repeat(13_000), 256)).code(500)
        })
        .fails()
        .minutes(10),
        always("500 with 64 MB of blanks", |_| {
            body(repeated(" ".repeat(262_144), 256)).code(500)
        })
        .fails()
        .minutes(2),
        always("500 with a body that never ends", |_| {
            body(every(1, "x")).code(500)
        })
        .fails(),
        always("500 with a body that never comes", |_| {
            body([Step::Silence]).code(500)
        })
        .fails(),
        always("500 with a body that breaks off", |_| {
            body([Step::text("half"), Step::Reset]).code(500)
        })
        .fails()
        .error("half"),
        always("500 with a compressed Status", |_| {
            packed(&gzip(status(500, "InternalError", "packed").as_bytes())).code(500)
        })
        .fails()
        .error("packed"),
        always("500 with a compressed bomb", |_| {
            packed(&gzip(&vec![b' '; 1 << 22])).code(500)
        })
        .fails()
        .minutes(2),
        always("500 in an unknown encoding", |_| {
            json("x").code(500).header("content-encoding", "br")
        })
        .fails(),
        always("401 without a challenge, then reset", |call| match call.nth % 2 {
            0 => json("").code(401),
            _ => Answer::Reset,
        })
        .state(BackingOff)
        .synced(false),
    ]
}
