//! Parses `metav1.Status`, the body of error responses and ERROR events.

use std::fmt;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

use crate::printable::Printable;
use crate::source::ServerStatus;

/// The number of causes that are kept. Real responses have a handful.
const CAUSES: usize = 16;

/// Parses a `metav1.Status`. Returns `None` if the bytes are something else.
pub(in crate::source) fn parse(bytes: &[u8]) -> Option<ServerStatus> {
    let wire: Wire = serde_json::from_slice(bytes).ok()?;
    // Every field of a Status is optional, so any JSON object could be one.
    let is_status = wire.kind.is_some_and(|Word(kind)| kind == "Status");
    if !is_status && wire.code.is_none() && wire.reason.is_none() {
        return None;
    }
    let details = wire.details.unwrap_or_default();
    Some(ServerStatus {
        code: wire.code.unwrap_or_default(),
        reason: wire.reason.unwrap_or_default().0,
        message: wire.message.unwrap_or_default().0,
        retry_after: details
            .retry_after_seconds
            .filter(|seconds| *seconds > 0)
            .map(Duration::from_secs),
        causes: details.causes.unwrap_or_default().0,
        hint: String::new(),
    })
}

/// A `Status` on the wire. Its texts are escaped and truncated while they are read.
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

/// The first [`CAUSES`] causes.
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

/// Reads a string without copying all of it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_server_are_escaped_and_truncated() {
        let long = "x".repeat(1_000_000);
        let cause = format!(r#"{{"reason":"\u001b[31m{long}","message":"a\nb"}}"#);
        let json = format!(
            r#"{{"kind":"Status","code":500,"reason":"Bad\nReason{long}",
                "message":"\u001b[2J\nfake line {long}","details":{{"causes":[{}]}}}}"#,
            vec![cause; 20].join(",")
        );
        let status = parse(json.as_bytes()).expect("this is a Status");
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

    /// Proxies answer with JSON of their own, which must not be reported as a status of the server.
    #[test]
    fn a_status_has_its_kind_or_a_code_or_a_reason() {
        for (json, is_status) in [
            (r#"{"kind":"Status"}"#, true),
            (r#"{"kind":"Error","code":403}"#, true),
            (r#"{"reason":"Forbidden"}"#, true),
            (r#"{"kind":"Error","message":"denied"}"#, false),
            ("{}", false),
            ("[]", false),
        ] {
            assert_eq!(parse(json.as_bytes()).is_some(), is_status, "{json}");
        }
    }
}
