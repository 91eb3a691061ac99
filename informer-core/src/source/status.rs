//! Error answers: reading them from responses and events, and telling what they mean for a reflector.

use std::fmt;
use std::time::Duration;

use http::header::{HeaderMap, RETRY_AFTER};
use k8s_openapi::jiff;
use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::{ServerStatus, SourceError};
use crate::printable::Printable;

/// What the server says when asked for a version it has not reached yet, in every release since 1.15.
const TOO_LARGE_MESSAGE: &str = "Too large resource version";
/// The cause that says the same to machines, since 1.20.
const TOO_LARGE_CAUSE: &str = "ResourceVersionTooLarge";
/// The parameters that request a streamed initial state. A kube-apiserver names them when it refuses them.
const STREAMING_PARAMETERS: [&str; 2] = ["sendInitialEvents", "resourceVersionMatch"];
/// What a [`SourceError::Deadline`] says was waited for, when no answer began in time.
pub(super) const ANSWER: &str = "the answer to a request";
/// How much of an answer that is not a `Status` is quoted.
const QUOTED_CHARS: usize = 200;
/// How many causes are kept. Real answers have a handful.
const CAUSES: usize = 16;

impl SourceError {
    /// What the server said, if it was the server that refused.
    pub fn status(&self) -> Option<&ServerStatus> {
        match self {
            Self::Status { status } => Some(status),
            _ => None,
        }
    }

    /// The version asked for is no longer known (410, `Expired` or `Gone`): list again.
    pub fn is_expired(&self) -> bool {
        self.is_code_or_reason(410, &["Expired", "Gone"])
    }

    /// The version asked for is not known yet, for example by a replica that lags behind: list again, without a version.
    ///
    /// Recognises the three forms servers have used: a cause `ResourceVersionTooLarge`, a timeout whose cause says
    /// "Too large resource version", and a message that says so.
    pub fn is_too_large_version(&self) -> bool {
        let Some(status) = self.status() else { return false };
        let is_timeout = status.reason == "Timeout" || status.code == 504;
        status.causes.iter().any(|(reason, message)| {
            reason == TOO_LARGE_CAUSE || (is_timeout && message.contains(TOO_LARGE_MESSAGE))
        }) || status.message.contains(TOO_LARGE_MESSAGE)
    }

    /// The server asks for fewer requests (429): wait and ask the same again. [`retry_after`](Self::retry_after) may
    /// say for how long.
    pub fn is_too_many_requests(&self) -> bool {
        self.is_code_or_reason(429, &["TooManyRequests"])
    }

    /// No connection could be made: nobody listens, the name does not resolve, the handshake failed. Wait and ask the
    /// same again.
    pub fn is_connection_refused(&self) -> bool {
        matches!(self, Self::Connect(_))
    }

    /// The connection broke while it was in use. A watch can go on from the last version it saw.
    pub fn is_disconnect(&self) -> bool {
        matches!(self, Self::Transport(_))
    }

    /// The credentials are good, but not for this resource (403). Passes only when someone grants the right.
    pub fn is_forbidden(&self) -> bool {
        self.is_code_or_reason(403, &["Forbidden"])
    }

    /// The credentials are missing, wrong or expired (401).
    pub fn is_unauthorized(&self) -> bool {
        self.is_code_or_reason(401, &["Unauthorized"])
    }

    /// The resource does not exist (404): a custom resource definition that is not installed, or was removed.
    pub fn is_not_found(&self) -> bool {
        self.is_code_or_reason(404, &["NotFound"])
    }

    /// The server understood the request and finds a parameter invalid (422).
    pub fn is_invalid(&self) -> bool {
        self.is_code_or_reason(422, &["Invalid"])
    }

    /// The server does not take the parameters of a streamed initial state, and says so: 400 or 422 with the
    /// name of one of them, `sendInitialEvents` or `resourceVersionMatch`, in its message or causes. Use a
    /// list instead.
    pub fn is_watch_list_refused(&self) -> bool {
        let Some(status) = self.status() else { return false };
        let is_named = |text: &str| STREAMING_PARAMETERS.iter().any(|name| text.contains(name));
        let causes = status.causes.iter();
        (self.is_invalid() || self.is_code_or_reason(400, &["BadRequest"]))
            && (is_named(&status.message) || causes.into_iter().any(|(_, message)| is_named(message)))
    }

    /// The server may have refused the parameters of a streamed initial state, or anything else in the
    /// request: 400 and 422 without a parameter's name, and 405, 406 or 501, which servers other than a
    /// kube-apiserver send. Whether a list works shows which.
    pub(crate) fn may_refuse_watch_list(&self) -> bool {
        self.is_invalid()
            || self.is_code_or_reason(400, &["BadRequest"])
            || self.is_code_or_reason(405, &["MethodNotAllowed"])
            || self.is_code_or_reason(406, &["NotAcceptable"])
            || self.is_code_or_reason(501, &[])
    }

    /// The server may have refused the resource version of the request: it cannot parse it (400, 422), or the
    /// request became too long by it (414, 431).
    pub(crate) fn may_refuse_version(&self) -> bool {
        self.is_invalid()
            || self.is_code_or_reason(400, &["BadRequest"])
            || self.is_code_or_reason(414, &[])
            || self.is_code_or_reason(431, &[])
    }

    /// How long the answer to a request was waited for, if it did not come in time.
    pub(crate) fn answer_deadline(&self) -> Option<Duration> {
        match self {
            Self::Deadline { what: ANSWER, after } => Some(*after),
            _ => None,
        }
    }

    /// The server failed (500).
    pub fn is_internal(&self) -> bool {
        self.is_code_or_reason(500, &["InternalError"])
    }

    /// How long the server asks to wait before the next request.
    pub fn retry_after(&self) -> Option<Duration> {
        self.status().and_then(|status| status.retry_after)
    }

    /// Proxies send codes without reasons, and events may carry reasons without codes: either is enough.
    fn is_code_or_reason(&self, code: u16, reasons: &[&str]) -> bool {
        self.status()
            .is_some_and(|status| status.code == code || reasons.contains(&status.reason.as_str()))
    }
}

impl ServerStatus {
    /// Reads a `metav1.Status`; `None` if the bytes are something else.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let wire: Wire = serde_json::from_slice(bytes).ok()?;
        // Every field of a Status is optional, so any JSON object would pass for one.
        let is_status = wire.kind.is_some_and(|Word(kind)| kind == "Status");
        if !is_status && wire.code.is_none() && wire.reason.is_none() {
            return None;
        }
        let details = wire.details.unwrap_or_default();
        Some(Self {
            code: wire.code.unwrap_or_default(),
            reason: wire.reason.unwrap_or_default().0,
            message: wire.message.unwrap_or_default().0,
            retry_after: seconds(details.retry_after_seconds.unwrap_or_default()),
            causes: details.causes.unwrap_or_default().0,
        })
    }

    /// Reads an error response: its `Status`, or else its code and the beginning of its text.
    pub(super) fn of_response(code: http::StatusCode, headers: &HeaderMap, body: &[u8]) -> Self {
        let mut status = Self::parse(body).unwrap_or_else(|| Self {
            message: quote(code, body),
            ..Self::default()
        });
        if status.code == 0 {
            status.code = code.as_u16();
        }
        status.retry_after = retry_after(headers).or(status.retry_after);
        status
    }
}

/// A `Status` on the wire. Its texts are escaped and cut while they are read.
#[derive(serde::Deserialize)]
struct Wire {
    kind: Option<Word>,
    code: Option<u16>,
    reason: Option<Word>,
    message: Option<Sentence>,
    details: Option<WireDetails>,
}

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireDetails {
    retry_after_seconds: Option<u64>,
    causes: Option<WireCauses>,
}

/// The first causes; the others are not kept.
#[derive(Default)]
struct WireCauses(Vec<(String, String)>);

#[derive(serde::Deserialize)]
struct WireCause {
    reason: Option<Word>,
    message: Option<Sentence>,
}

#[derive(Default)]
struct Word(String);

#[derive(Default)]
struct Sentence(String);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_str(Cut(|text| Printable::name(text).into_cow().into_owned()))
            .map(Self)
    }
}

impl<'de> Deserialize<'de> for Sentence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_str(Cut(|text| Printable::message(text).into_cow().into_owned()))
            .map(Self)
    }
}

/// Reads a text without copying all of it.
struct Cut(fn(&str) -> String);

impl Visitor<'_> for Cut {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E>(self, text: &str) -> Result<String, E> {
        Ok(self.0(text))
    }
}

impl<'de> Deserialize<'de> for WireCauses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(CausesVisitor)
    }
}

struct CausesVisitor;

impl<'de> Visitor<'de> for CausesVisitor {
    type Value = WireCauses;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of causes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<WireCauses, A::Error> {
        let mut causes = Vec::new();
        while causes.len() < CAUSES
            && let Some(WireCause { reason, message }) = seq.next_element()?
        {
            causes.push((reason.unwrap_or_default().0, message.unwrap_or_default().0));
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(WireCauses(causes))
    }
}

fn quote(code: http::StatusCode, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let words: String = text.split_whitespace().flat_map(|word| [word, " "]).collect();
    let quoted: String = words
        .trim_end()
        .chars()
        .filter(|c| !c.is_control())
        .take(QUOTED_CHARS)
        .collect();
    if quoted.is_empty() {
        code.canonical_reason().unwrap_or_default().to_owned()
    } else {
        quoted
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(number) = text.parse() {
        return seconds(number);
    }
    // The other form the standard allows is a date.
    let date = jiff::fmt::rfc2822::parse(text).ok()?;
    let wait = date.timestamp().duration_since(jiff::Timestamp::now());
    Some(Duration::try_from(wait).unwrap_or_default()).filter(|wait| !wait.is_zero())
}

fn seconds(number: u64) -> Option<Duration> {
    (number > 0).then(|| Duration::from_secs(number))
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn status(json: &str) -> SourceError {
        SourceError::Status {
            status: ServerStatus::parse(json.as_bytes()).expect("this is a Status"),
        }
    }

    fn bare(code: u16) -> SourceError {
        SourceError::Status {
            status: ServerStatus {
                code,
                ..ServerStatus::default()
            },
        }
    }

    type Case = (u16, &'static str, fn(&SourceError) -> bool);

    #[test]
    fn codes_and_reasons_are_each_enough() {
        let cases: [Case; 8] = [
            (410, "Expired", SourceError::is_expired),
            (410, "Gone", SourceError::is_expired),
            (429, "TooManyRequests", SourceError::is_too_many_requests),
            (403, "Forbidden", SourceError::is_forbidden),
            (401, "Unauthorized", SourceError::is_unauthorized),
            (404, "NotFound", SourceError::is_not_found),
            (422, "Invalid", SourceError::is_invalid),
            (500, "InternalError", SourceError::is_internal),
        ];
        for (code, reason, is) in cases {
            assert!(is(&bare(code)), "{code} alone");
            assert!(
                is(&status(&format!(r#"{{"kind":"Status","reason":"{reason}"}}"#))),
                "{reason} alone"
            );
            assert!(!is(&bare(418)), "{reason} against 418");
            assert!(
                !is(&SourceError::Connect("refused".into())),
                "{reason} against a refused connection"
            );
        }
    }

    #[test]
    fn only_a_refusal_that_names_the_parameters_is_one_of_streams() {
        for (json, is_refused, may_be) in [
            (
                r#"{"kind":"Status","code":422,"reason":"Invalid","message":"ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"}"#,
                true,
                true,
            ),
            (
                r#"{"kind":"Status","code":422,"details":{"causes":[{"message":"Forbidden: resourceVersionMatch is forbidden for watch"}]}}"#,
                true,
                true,
            ),
            (
                r#"{"kind":"Status","code":400,"reason":"BadRequest","message":"field label not supported: spec.nodename"}"#,
                false,
                true,
            ),
            (
                r#"{"kind":"Status","code":405,"message":"sendInitialEvents"}"#,
                false,
                true,
            ),
            (r#"{"kind":"Status","code":431}"#, false, false),
            (
                r#"{"kind":"Status","code":500,"message":"sendInitialEvents"}"#,
                false,
                false,
            ),
        ] {
            let error = status(json);
            assert_eq!(error.is_watch_list_refused(), is_refused, "{json}");
            assert_eq!(error.may_refuse_watch_list(), may_be, "{json}");
        }
    }

    /// Upstream: isTooLargeResourceVersionError and its three forms (rule R12).
    #[test]
    fn the_three_forms_of_a_too_large_version_are_known() {
        for json in [
            r#"{"kind":"Status","code":504,"reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"x"}]}}"#,
            r#"{"kind":"Status","code":504,"reason":"Timeout","details":{"causes":[{"message":"Too large resource version"}]}}"#,
            r#"{"kind":"Status","code":504,"message":"Timeout: Too large resource version: 9, current: 3"}"#,
        ] {
            assert!(status(json).is_too_large_version(), "{json}");
        }
        assert!(!status(r#"{"kind":"Status","code":504,"reason":"Timeout"}"#).is_too_large_version());
    }

    fn check_retry(header: Option<&str>, body: &str, expected: Option<Duration>) {
        let mut headers = HeaderMap::new();
        if let Some(header) = header {
            headers.insert(RETRY_AFTER, header.parse().unwrap());
        }
        let status = ServerStatus::of_response(StatusCode::TOO_MANY_REQUESTS, &headers, body.as_bytes());
        assert_eq!(status.retry_after, expected, "{header:?} {body}");
    }

    #[test]
    fn retry_after_comes_from_the_header_or_the_details() {
        let body = r#"{"kind":"Status","code":429,"details":{"retryAfterSeconds":4}}"#;
        check_retry(Some("7"), "slow down", Some(Duration::from_secs(7)));
        check_retry(None, body, Some(Duration::from_secs(4)));
        check_retry(Some("7"), body, Some(Duration::from_secs(7)));
        check_retry(Some("soon"), "", None);
        check_retry(Some("0"), "", None);
        check_retry(Some("Wed, 21 Oct 2015 07:28:00 GMT"), "", None);
    }

    #[test]
    fn a_date_as_retry_after_is_a_wait_from_now() {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, "Fri, 31 Dec 2399 23:59:59 GMT".parse().unwrap());
        let status = ServerStatus::of_response(StatusCode::SERVICE_UNAVAILABLE, &headers, b"");
        assert!(
            status.retry_after > Some(Duration::from_secs(86_400)),
            "{status:?}"
        );
    }

    #[test]
    fn texts_of_the_server_are_escaped_and_cut() {
        let long = "x".repeat(1_000_000);
        let cause = format!(r#"{{"reason":"\u001b[31m{long}","message":"a\nb"}}"#);
        let json = format!(
            r#"{{"kind":"Status","code":500,"reason":"Bad\nReason{long}","message":"\u001b[2J\nfake line {long}",
                "details":{{"causes":[{}]}}}}"#,
            vec![cause; 20].join(",")
        );
        let status = ServerStatus::parse(json.as_bytes()).expect("this is a Status");
        let texts = status
            .causes
            .iter()
            .flat_map(|(reason, message)| [reason, message]);
        for text in texts.chain([&status.reason, &status.message]) {
            assert!(
                text.chars().count() <= 1024 && text.capacity() < 8192,
                "{}",
                text.len()
            );
            assert!(!text.chars().any(char::is_control), "{text}");
        }
        assert_eq!(
            (status.causes.len(), status.causes[0].1.as_str()),
            (CAUSES, "a\\nb")
        );
        assert!(
            status.message.starts_with("\\u{1b}[2J\\nfake line xxx"),
            "{status}"
        );
        assert!(status.message.ends_with("(1000015 bytes)"), "{status}");
    }

    /// A source that is not ours may put anything into an error.
    #[test]
    fn errors_print_no_control_characters_whatever_they_hold() {
        let text = format!("\u{1b}[2J\n{}", "x".repeat(10_000));
        let status = ServerStatus {
            code: 500,
            reason: text.clone(),
            message: text.clone(),
            ..ServerStatus::default()
        };
        for error in [
            SourceError::Status { status },
            SourceError::Connect(text.clone()),
            SourceError::Transport(text.clone()),
            SourceError::Protocol(text.clone()),
            SourceError::Request(text.clone()),
        ] {
            let printed = error.to_string();
            assert!(
                printed.len() < 1500 && !printed.chars().any(char::is_control),
                "{printed}"
            );
        }
    }

    #[test]
    fn an_answer_that_is_no_status_is_quoted_shortly() {
        let headers = HeaderMap::new();
        let long = format!("<html>\r\n  {}", "x".repeat(5_000));
        let status = ServerStatus::of_response(StatusCode::BAD_GATEWAY, &headers, long.as_bytes());
        assert_eq!((status.code, status.message.chars().count()), (502, QUOTED_CHARS));
        assert!(status.message.starts_with("<html> xxx"), "{}", status.message);
        let status = ServerStatus::of_response(StatusCode::NOT_FOUND, &headers, b"");
        assert_eq!(status.to_string(), "404: Not Found");
        let status = ServerStatus::of_response(StatusCode::NOT_FOUND, &headers, br#"{"some":"json"}"#);
        assert_eq!((status.code, status.reason.as_str()), (404, ""));
    }
}
