//! Reads error responses: the `Status` in the body, or the HTTP code and the beginning of the body.

use std::time::Duration;

use http::header::{HeaderMap, RETRY_AFTER};
use k8s_openapi::jiff;

use super::ServerStatus;

/// How many characters of a body that is not a `Status` are quoted.
const QUOTED_CHARS: usize = 200;

impl ServerStatus {
    /// Builds the status of an error response from its body: `parsed` if the body is a `metav1.Status`, or
    /// else a quote.
    pub(super) fn of_response(
        code: http::StatusCode,
        headers: &HeaderMap,
        body: &[u8],
        parsed: Option<Self>,
    ) -> Self {
        let mut status = parsed.unwrap_or_else(|| Self {
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

/// Quotes the beginning of a body, unless it may be an object: a faulty server or proxy may send one with an
/// error code, and it may be a Secret. JSON and protobuf are not quoted.
fn quote(code: http::StatusCode, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    if text.trim_start().starts_with(['{', '[', '"']) || body.contains(&0) {
        return format!("a body of {} bytes that is not a Status", body.len());
    }
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
    // The standard also allows a date.
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
    use crate::source::json::internals::parse_status;

    fn read(code: StatusCode, headers: &HeaderMap, body: &[u8]) -> ServerStatus {
        ServerStatus::of_response(code, headers, body, parse_status(body))
    }

    fn check_retry(header: Option<&str>, body: &str, expected: Option<Duration>) {
        let mut headers = HeaderMap::new();
        if let Some(header) = header {
            headers.insert(RETRY_AFTER, header.parse().unwrap());
        }
        let status = read(StatusCode::TOO_MANY_REQUESTS, &headers, body.as_bytes());
        assert_eq!(status.retry_after, expected, "{header:?} {body}");
    }

    #[test]
    fn retry_after_is_read_from_the_header_or_the_details() {
        let body = r#"{"kind":"Status","code":429,"details":{"retryAfterSeconds":4}}"#;
        check_retry(Some("7"), "slow down", Some(Duration::from_secs(7)));
        check_retry(None, body, Some(Duration::from_secs(4)));
        check_retry(Some("7"), body, Some(Duration::from_secs(7)));
        check_retry(Some("soon"), "", None);
        check_retry(Some("0"), "", None);
        check_retry(Some("Wed, 21 Oct 2015 07:28:00 GMT"), "", None);
    }

    #[test]
    fn a_date_in_retry_after_is_converted_to_a_duration() {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, "Fri, 31 Dec 2399 23:59:59 GMT".parse().unwrap());
        let status = read(StatusCode::SERVICE_UNAVAILABLE, &headers, b"");
        assert!(
            status.retry_after > Some(Duration::from_secs(86_400)),
            "{status:?}"
        );
    }

    #[test]
    fn a_body_that_is_not_a_status_is_quoted_in_short() {
        let headers = HeaderMap::new();
        let long = format!("<html>\r\n  {}", "x".repeat(5_000));
        let status = read(StatusCode::BAD_GATEWAY, &headers, long.as_bytes());
        assert_eq!((status.code, status.message.chars().count()), (502, QUOTED_CHARS));
        assert!(status.message.starts_with("<html> xxx"), "{}", status.message);
        let status = read(StatusCode::NOT_FOUND, &headers, b"");
        assert_eq!(status.to_string(), "404: Not Found");
        let status = read(StatusCode::NOT_FOUND, &headers, br#"{"some":"json"}"#);
        assert_eq!((status.code, status.reason.as_str()), (404, ""));
    }

    #[test]
    fn a_body_that_may_be_an_object_is_not_quoted() {
        let headers = HeaderMap::new();
        for body in [
            &br#"{"data":{"a":"secret"}}"#[..],
            b"\n [{\"secret\":1}]",
            b"\"secret\"",
            b"k8s\0 secret",
        ] {
            let status = read(StatusCode::INTERNAL_SERVER_ERROR, &headers, body);
            let expected = format!("a body of {} bytes that is not a Status", body.len());
            assert_eq!(status.message, expected);
        }
    }
}
