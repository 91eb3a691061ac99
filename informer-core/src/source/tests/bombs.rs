//! Responses that make much work out of little: they are bounded, and other tasks run beside them.

use std::sync::atomic::AtomicUsize;

use super::*;
use crate::source::limits::{
    BLANK_BYTES, EMPTY_GZIP_BYTES, ERROR_BYTES, OVERHEAD_BYTES, TURN_BYTES, UNKNOWN_EVENTS,
};

/// A source that answers with one body, in one piece.
fn answering(text: Vec<u8>, encoding: &'static str) -> KubeSource<ConfigMap> {
    let answer = move |_| {
        Response::builder()
            .header("content-encoding", encoding)
            .body(body([Ok(text.clone())]))
            .unwrap()
    };
    source(client(answer), inline())
}

/// A list of about so many bytes.
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

/// How often another task of the same thread runs while `work` is done.
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
        let (turns, told) = turns_beside(tell_list(&source)).await;
        assert_eq!(told.len(), count + 1, "{encoding}");
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
        let (turns, told) = turns_beside(tell_watch(&source)).await;
        assert!(told.iter().all(|event| event == "added a"), "{encoding}");
        assert!(turns >= 4, "{encoding}: {turns} turns");
    }
}

/// The audit's bomb: 1 MB of gzip that unpacks to 1 GB of newlines kept the thread for 54 s.
#[tokio::test]
async fn a_compressed_watch_of_blank_lines_ends_soon() {
    let told = tell_watch(&answering(gzip(&vec![b'\n'; 8 * TURN_BYTES]), "gzip")).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains(&format!("{BLANK_BYTES} blank bytes in a row")),
        "{told:?}"
    );
}

#[tokio::test]
async fn blanks_and_skipped_values_of_a_list_end_soon() {
    let blanks = [br#"{"items":["#, vec![b' '; 2 * BLANK_BYTES].as_slice()].concat();
    let skipped = [br#"{"other":""#, vec![b'x'; 2 * OVERHEAD_BYTES].as_slice()].concat();
    let kinds = [&b"{"[..], &br#""kind":"K","#.repeat(OVERHEAD_BYTES / 6)].concat();
    for (text, expected) in [
        (blanks, "blank bytes in a row"),
        (skipped, "besides its items"),
        (kinds, "besides its items"),
    ] {
        let told = tell_list(&answering(gzip(&text), "gzip")).await;
        assert!(told.last().unwrap().contains(expected), "{told:?}");
    }
}

#[tokio::test]
async fn compressed_members_without_contents_end_soon() {
    let members = gzip(b"").repeat(EMPTY_GZIP_BYTES / 10);
    for told in [
        tell_watch(&answering(members.clone(), "gzip")).await,
        tell_list(&answering(members, "gzip")).await,
    ] {
        assert!(told[0].contains("unpack to nothing"), "{told:?}");
    }
}

#[tokio::test]
async fn events_of_unknown_types_are_bounded_in_a_row() {
    let unknown = "{\"type\":\"RENAMED\"}\n".repeat(UNKNOWN_EVENTS);
    let known = r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#;
    let text = format!("{unknown}{known}\n{unknown}");
    let told = tell_watch(&answering(text.into_bytes(), "identity")).await;
    assert_eq!(told.len(), 2 * UNKNOWN_EVENTS + 1);
    let told = tell_watch(&answering(unknown.repeat(2).into_bytes(), "identity")).await;
    assert_eq!(told.len(), UNKNOWN_EVENTS + 1);
    assert!(
        told[UNKNOWN_EVENTS].contains("unknown types"),
        "{}",
        told[UNKNOWN_EVENTS]
    );
}

#[tokio::test]
async fn an_error_event_is_bounded_while_it_is_read() {
    let before = r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#;
    let status = format!(
        r#"{{"type":"ERROR","object":{{"kind":"Status","code":500,"message":"{}"#,
        "x".repeat(8 * ERROR_BYTES)
    );
    let text = format!("{before}\n{status}");
    let told = tell_watch(&answering(gzip(text.as_bytes()), "gzip")).await;
    assert_eq!(told[0], "added a");
    assert!(told[1].contains("an ERROR event is longer than"), "{told:?}");

    // One that is whole and in another order is cut.
    let late = format!(
        "{{\"object\":{{\"kind\":\"Status\",\"code\":410,\"message\":\"{}\"}},\"type\":\"ERROR\"}}\n",
        "x".repeat(8 * ERROR_BYTES)
    );
    let told = tell_watch(&answering(late.into_bytes(), "identity")).await;
    assert!(
        told[0].starts_with("error: the server answered 410: xxx"),
        "{told:?}"
    );
    assert!(
        told[0].len() < 1100 && told[0].ends_with("(524288 bytes)"),
        "{told:?}"
    );
}

#[tokio::test]
async fn names_from_the_server_forge_no_log_line() {
    let name = format!("a\\n\\u001b[2J{}", "x".repeat(100_000));
    let text = format!(
        r#"{{"metadata":{{"resourceVersion":"5"}},"items":[{{"metadata":{{"name":"{name}"}},"data":5}}]}}"#
    );
    let source = answering(text.into_bytes(), "identity");
    let mut stream = source.list(whole_list()).await.unwrap();
    while let Some(event) = stream.next().await {
        if let ListEvent::Undecodable(object) = event.unwrap() {
            let told = object.to_string();
            assert!(told.len() < 500 && !told.chars().any(char::is_control), "{told}");
            assert!(told.starts_with("object a\\n\\u{1b}[2Jxxx"), "{told}");
            return;
        }
    }
    panic!("the object is undecodable");
}
