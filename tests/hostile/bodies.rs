//! Bodies of answers: objects, lists, watch frames and statuses.

use std::io::Write as _;
use std::iter;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::script::{Answer, Call, Step, body, json};

/// A list of two objects at version 10.
pub(crate) const GOOD_LIST: &str = concat!(
    r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":["#,
    r#"{"metadata":{"name":"a","namespace":"default","uid":"u-a","resourceVersion":"5"}},"#,
    r#"{"metadata":{"name":"b","namespace":"default","uid":"u-b","resourceVersion":"6"}}]}"#,
);

/// An object in `default`.
pub(crate) fn object(name: &str, version: &str) -> String {
    object_in("default", name, version)
}

pub(crate) fn object_in(namespace: &str, name: &str, version: &str) -> String {
    let uid = format!("u-{namespace}-{name}");
    meta(&format!(
        r#""namespace":"{namespace}","name":"{name}","uid":"{uid}","resourceVersion":"{version}""#
    ))
}

/// An object with these fields in its metadata.
pub(crate) fn meta(fields: &str) -> String {
    format!(r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{{fields}}}}}"#)
}

/// An object with this value in a field that its type does not have.
pub(crate) fn with_field(name: &str, value: &str) -> String {
    let metadata = format!(r#""name":"{name}","namespace":"default","uid":"u-{name}","resourceVersion":"7""#);
    format!(r#"{{"extra":{value},"metadata":{{{metadata}}}}}"#)
}

/// An object with this value in a field of its type, before its metadata.
pub(crate) fn in_data(name: &str, value: &str) -> String {
    with_field(name, "0").replacen("\"extra\":0", &format!("\"data\":{{\"x\":{value}}}"), 1)
}

pub(crate) fn nested(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

/// A list at version 10.
pub(crate) fn list_of<S: AsRef<str>>(items: &[S]) -> String {
    list_at("10", "", items)
}

/// A list at a version, with further fields in its metadata.
pub(crate) fn list_at<S: AsRef<str>>(version: &str, more: &str, items: &[S]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    let metadata = format!(r#""resourceVersion":"{version}"{more}"#);
    format!(
        r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{{metadata}}},"items":[{}]}}"#,
        items.join(",")
    )
}

/// A list of the good objects and one more.
pub(crate) fn good_and(item: &str) -> String {
    let good = GOOD_LIST.strip_suffix("]}").expect("a list ends with `]}`");
    format!("{good},{item}]}}")
}

/// A frame of a watch.
pub(crate) fn event(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

pub(crate) fn bookmark(version: &str) -> String {
    event("BOOKMARK", &meta(&format!(r#""resourceVersion":"{version}""#)))
}

/// The bookmark that ends an initial stream.
pub(crate) fn end_bookmark(version: &str) -> String {
    let fields =
        format!(r#""resourceVersion":"{version}","annotations":{{"k8s.io/initial-events-end":"true"}}"#);
    event("BOOKMARK", &meta(&fields))
}

pub(crate) fn status(code: u16, reason: &str, message: &str) -> String {
    let fields = format!(r#""status":"Failure","code":{code},"reason":"{reason}","message":"{message}""#);
    format!(r#"{{"kind":"Status","apiVersion":"v1",{fields}}}"#)
}

/// An error answer with its Status.
pub(crate) fn refusal(code: u16, reason: &str, message: &str) -> Answer {
    json(status(code, reason, message)).code(code)
}

/// A good watch without changes: a bookmark each minute, until its timeout.
pub(crate) fn living_watch(call: &Call) -> Answer {
    let version = call.parameter("resourceVersion").to_owned();
    let minutes = call.timeout().as_secs() / 60;
    body(
        (0..minutes)
            .flat_map(move |_| [Step::wait(60), Step::text(bookmark(&version))])
            .chain([Step::wait(1)]),
    )
}

/// A watch that sends these frames, and then nothing.
pub(crate) fn frames_then_silence<S: Into<String>>(frames: impl IntoIterator<Item = S>) -> Answer {
    let frames: Vec<Step> = frames.into_iter().map(Step::text).collect();
    body(frames.into_iter().chain([Step::Silence]))
}

/// A watch that sends these frames, then nothing, and ends at its timeout.
pub(crate) fn frames_then_good<S: Into<String>>(call: &Call, frames: impl IntoIterator<Item = S>) -> Answer {
    let frames: Vec<Step> = frames.into_iter().map(Step::text).collect();
    body(frames.into_iter().chain([Step::Wait(call.timeout())]))
}

/// An initial stream of two objects at version 10.
pub(crate) fn good_initial() -> Vec<String> {
    vec![
        event("ADDED", &object("a", "5")),
        event("ADDED", &object("b", "6")),
        end_bookmark("10"),
    ]
}

/// The same chunk many times.
pub(crate) fn repeated(piece: impl Into<Vec<u8>>, times: usize) -> impl Iterator<Item = Step> + Send {
    let piece = Bytes::from(piece.into());
    iter::repeat_with(move || Step::Data(piece.clone())).take(times)
}

/// A chunk after each wait, without end.
pub(crate) fn every(seconds: u64, piece: impl Into<String>) -> impl Iterator<Item = Step> + Send {
    every_bytes(seconds, piece.into().into_bytes())
}

/// Some bytes after each wait, without end.
pub(crate) fn every_bytes(seconds: u64, piece: Vec<u8>) -> impl Iterator<Item = Step> + Send {
    let piece = Bytes::from(piece);
    iter::repeat_with(move || [Step::wait(seconds), Step::Data(piece.clone())]).flatten()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("writing to a Vec cannot fail");
    encoder.finish().expect("writing to a Vec cannot fail")
}

/// A gzip body, in chunks of 1 KiB.
pub(crate) fn gzipped(bytes: &[u8]) -> Answer {
    packed(&gzip(bytes))
}

/// A body with the header of gzip, in chunks of 1 KiB.
pub(crate) fn packed(bytes: &[u8]) -> Answer {
    let pieces: Vec<Step> = bytes
        .chunks(1024)
        .map(|piece| Step::Data(Bytes::copy_from_slice(piece)))
        .collect();
    body(pieces).header("content-encoding", "gzip")
}
