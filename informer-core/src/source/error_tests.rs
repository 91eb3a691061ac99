//! Tests of the classification of errors.

use super::*;
use crate::source::json::internals::parse_status;

fn status(json: &str) -> SourceError {
    SourceError::Status {
        status: parse_status(json.as_bytes()).expect("this is a Status"),
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
fn a_code_or_a_reason_is_enough() {
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
fn only_errors_that_name_the_parameters_reject_watch_lists() {
    for (json, is_refused, may_be) in [
        (
            concat!(
                r#"{"kind":"Status","code":422,"reason":"Invalid","message":"ListOptions.meta.k8s.io \"\" "#,
                "is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless ",
                r#"the WatchList feature gate is enabled"}"#,
            ),
            true,
            true,
        ),
        (
            r#"{"kind":"Status","code":422,"details":{"causes":[
                {"message":"Forbidden: resourceVersionMatch is forbidden for watch"}]}}"#,
            true,
            true,
        ),
        (
            r#"{"kind":"Status","code":400,"reason":"BadRequest",
                "message":"field label not supported: spec.nodename"}"#,
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
fn the_three_forms_of_a_too_large_version_are_recognised() {
    for json in [
        r#"{"kind":"Status","code":504,"reason":"Timeout",
            "details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"x"}]}}"#,
        r#"{"kind":"Status","code":504,"reason":"Timeout",
            "details":{"causes":[{"message":"Too large resource version"}]}}"#,
        r#"{"kind":"Status","code":504,"details":{"causes":[{"message":"Too large resource version"}]}}"#,
        r#"{"kind":"Status","reason":"Timeout",
            "details":{"causes":[{"message":"Too large resource version"}]}}"#,
        r#"{"kind":"Status","code":504,"message":"Timeout: Too large resource version: 9, current: 3"}"#,
    ] {
        assert!(status(json).is_too_large_version(), "{json}");
    }
    for json in [
        r#"{"kind":"Status","code":504,"reason":"Timeout"}"#,
        r#"{"kind":"Status","code":504,"reason":"Timeout","details":{"causes":[{"message":"x"}]}}"#,
        r#"{"kind":"Status","code":500,"reason":"InternalError",
            "details":{"causes":[{"message":"Too large resource version"}]}}"#,
    ] {
        assert!(!status(json).is_too_large_version(), "{json}");
    }
}

/// A custom source may put anything into an error.
#[test]
fn errors_never_print_control_characters() {
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
