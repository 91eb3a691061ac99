//! Small responses that cause much work: they are limited, and other tasks run meanwhile.

use std::sync::atomic::AtomicUsize;

use super::*;
use crate::source::limits::{
    BLANK_BYTES, EMPTY_GZIP_BYTES, ERROR_BYTES, OVERHEAD_BYTES, TURN_BYTES, UNKNOWN_EVENTS,
};

/// A source that responds with one body, in one chunk.
fn answering(text: Vec<u8>, encoding: &'static str) -> KubeSource<ConfigMap> {
    let answer = move |_| {
        Response::builder()
            .header("content-encoding", encoding)
            .body(body([Ok(text.clone())]))
            .unwrap()
    };
    source(client(answer), inline())
}

/// A list of about this size, and the number of its items.
fn list_of(bytes: usize) -> (String, usize) {
    let filler = "x".repeat(2000);
    let count = bytes / filler.len();
    let items: Vec<String> = (0..count)
        .map(|n| format!(r#"{{"metadata":{{"name":"n{n}"}},"data":{{"k":"{filler}"}}}}"#))
        .collect();
    let text = format!(
        r#"{{"metadata":{{"resourceVersion":"5"}},"items":[{}]}}"#,
        items.join(",")
    );
    (text, count)
}

/// Counts how often another task of the same thread runs while `work` runs.
async fn turns_beside<T>(work: impl Future<Output = T>) -> (usize, T) {
    let turns = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&turns);
    let other = tokio::spawn(async move {
        loop {
            counter.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
        }
    });
    let outcome = work.await;
    other.abort();
    (turns.load(Ordering::SeqCst), outcome)
}

#[tokio::test]
async fn other_tasks_run_while_a_list_that_is_never_pending_is_read() {
    let (text, count) = list_of(5 * TURN_BYTES);
    for (body, encoding) in [
        (gzip(text.as_bytes()), "gzip"),
        (text.as_bytes().to_vec(), "identity"),
    ] {
        let source = answering(body, encoding);
        let (turns, lines) = turns_beside(list_lines(&source)).await;
        assert_eq!(lines.len(), count + 1, "{encoding}");
        assert!(turns >= 4, "{encoding}: {turns} turns");
    }
}

#[tokio::test]
async fn other_tasks_run_while_a_watch_that_is_never_pending_is_read() {
    let event = format!(
        "{{\"type\":\"ADDED\",\"object\":{{\"metadata\":{{\"name\":\"a\"}},\"data\":{{\"k\":\"{}\"}}}}}}\n",
        "x".repeat(2000)
    );
    let text = event.repeat(5 * TURN_BYTES / event.len() + 1);
    for (body, encoding) in [
        (gzip(text.as_bytes()), "gzip"),
        (text.as_bytes().to_vec(), "identity"),
    ] {
        let source = answering(body, encoding);
        let (turns, lines) = turns_beside(watch_lines(&source)).await;
        assert!(lines.iter().all(|event| event == "added a"), "{encoding}");
        assert!(turns >= 4, "{encoding}: {turns} turns");
    }
}

/// Once, 1 MB of gzip that decompresses to 1 GB of newlines blocked the thread for 54 s.
#[tokio::test]
async fn a_compressed_watch_of_blank_lines_is_ended() {
    let lines = watch_lines(&answering(gzip(&vec![b'\n'; 8 * TURN_BYTES]), "gzip")).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].contains(&format!("{BLANK_BYTES} blank bytes in a row")),
        "{lines:?}"
    );
}

#[tokio::test]
async fn whitespace_and_skipped_values_of_a_list_are_limited() {
    let blanks = [br#"{"items":["#, vec![b' '; 2 * BLANK_BYTES].as_slice()].concat();
    let skipped = [br#"{"other":""#, vec![b'x'; 2 * OVERHEAD_BYTES].as_slice()].concat();
    let kinds = [&b"{"[..], &br#""kind":"K","#.repeat(OVERHEAD_BYTES / 6)].concat();
    for (text, expected) in [
        (blanks, "blank bytes in a row"),
        (skipped, "besides its items"),
        (kinds, "besides its items"),
    ] {
        let lines = list_lines(&answering(gzip(&text), "gzip")).await;
        assert!(lines.last().unwrap().contains(expected), "{lines:?}");
    }
}

#[tokio::test]
async fn empty_gzip_members_are_limited() {
    let members = gzip(b"").repeat(EMPTY_GZIP_BYTES / 10);
    for lines in [
        watch_lines(&answering(members.clone(), "gzip")).await,
        list_lines(&answering(members, "gzip")).await,
    ] {
        assert!(lines[0].contains("unpack to nothing"), "{lines:?}");
    }
}

#[tokio::test]
async fn consecutive_events_of_unknown_types_are_limited() {
    let unknown = "{\"type\":\"RENAMED\"}\n".repeat(UNKNOWN_EVENTS);
    let known = r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#;
    let text = format!("{unknown}{known}\n{unknown}");
    let lines = watch_lines(&answering(text.into_bytes(), "identity")).await;
    assert_eq!(lines.len(), 2 * UNKNOWN_EVENTS + 1);
    let lines = watch_lines(&answering(unknown.repeat(2).into_bytes(), "identity")).await;
    assert_eq!(lines.len(), UNKNOWN_EVENTS + 1);
    assert!(
        lines[UNKNOWN_EVENTS].contains("unknown types"),
        "{}",
        lines[UNKNOWN_EVENTS]
    );
}

#[tokio::test]
async fn an_error_event_is_limited_while_it_is_read() {
    let before = r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#;
    let status = format!(
        r#"{{"type":"ERROR","object":{{"kind":"Status","code":500,"message":"{}"#,
        "x".repeat(8 * ERROR_BYTES)
    );
    let text = format!("{before}\n{status}");
    let lines = watch_lines(&answering(gzip(text.as_bytes()), "gzip")).await;
    assert_eq!(lines[0], "added a");
    assert!(lines[1].contains("an ERROR event is longer than"), "{lines:?}");

    // A complete one with its fields in another order is truncated.
    let late = format!(
        "{{\"object\":{{\"kind\":\"Status\",\"code\":410,\"message\":\"{}\"}},\"type\":\"ERROR\"}}\n",
        "x".repeat(8 * ERROR_BYTES)
    );
    let lines = watch_lines(&answering(late.into_bytes(), "identity")).await;
    assert!(
        lines[0].starts_with("error: the server answered 410: xxx"),
        "{lines:?}"
    );
    assert!(
        lines[0].len() < 1100 && lines[0].ends_with("(524288 bytes)"),
        "{lines:?}"
    );
}

#[tokio::test]
async fn names_from_the_server_cannot_forge_log_lines() {
    let name = format!("a\\n\\u001b[2J{}", "x".repeat(100_000));
    let text = format!(
        r#"{{"metadata":{{"resourceVersion":"5"}},"items":[{{"metadata":{{"name":"{name}"}},"data":5}}]}}"#
    );
    let source = answering(text.into_bytes(), "identity");
    let mut stream = source.list(whole_list()).await.unwrap();
    while let Some(event) = stream.next().await {
        if let ListEvent::Undecodable(object) = event.unwrap() {
            let lines = object.to_string();
            assert!(
                lines.len() < 500 && !lines.chars().any(char::is_control),
                "{lines}"
            );
            assert!(lines.starts_with("object a\\n\\u{1b}[2Jxxx"), "{lines}");
            return;
        }
    }
    panic!("the object is undecodable");
}
