//! Watches: events are delivered as they arrive, wherever the body is cut.

use futures::FutureExt as _;

use super::*;
use crate::source::limits::SKIPPED_BYTES;

const EVENTS: [&str; 5] = [
    r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#,
    r#"{"object":{"metadata":{"name":"a"}},"type":"MODIFIED"}"#,
    concat!(
        r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","#,
        r#""annotations":{"k8s.io/initial-events-end":"true"}}}}"#,
    ),
    r#"{"type":"ADDED","object":{"metadata":{"name":"b"},"data":7}}"#,
    r#"{"type":"DELETED","object":{"metadata":{"name":"é"}}}"#,
];
const EXPECTED: [&str; 5] = [
    "added a",
    "modified a",
    "bookmark 9 InitialEventsEnd",
    r#"undecodable Upserted Some("b")"#,
    "deleted é",
];

fn text() -> String {
    EVENTS.iter().flat_map(|event| [event, "\n"]).collect()
}

async fn read(chunks: Vec<Vec<u8>>, encoding: Option<&'static str>) -> Vec<String> {
    let answer = move |_| {
        let builder = encoding.into_iter().fold(Response::builder(), |b, value| {
            b.header("content-encoding", value)
        });
        builder.body(body(chunks.clone().into_iter().map(Ok))).unwrap()
    };
    watch_lines(&source(client(answer), inline())).await
}

#[tokio::test]
async fn events_are_decoded_wherever_the_body_is_cut() {
    let text = text().into_bytes();
    for cut in 0..=text.len() {
        assert_eq!(
            read(vec![text[..cut].to_vec(), text[cut..].to_vec()], None).await,
            EXPECTED,
            "cut at {cut}"
        );
    }
    assert_eq!(
        read(text.chunks(1).map(<[u8]>::to_vec).collect(), None).await,
        EXPECTED
    );
}

#[tokio::test]
async fn one_gzip_member_per_event_is_decoded_wherever_it_is_cut() {
    let packed: Vec<u8> = EVENTS
        .iter()
        .flat_map(|event| [gzip(format!("{event}\n").as_bytes()), gzip(b"")].concat())
        .collect();
    for cut in 0..=packed.len() {
        let chunks = vec![packed[..cut].to_vec(), packed[cut..].to_vec()];
        assert_eq!(read(chunks, Some("gzip")).await, EXPECTED, "cut at {cut}");
    }
}

#[tokio::test]
async fn an_incomplete_body_ends_the_watch_without_an_error() {
    let text = text();
    assert_eq!(
        read(vec![text.as_bytes()[..text.len() - 2].to_vec()], None).await,
        EXPECTED[..4]
    );
    let packed: Vec<u8> = EVENTS
        .iter()
        .flat_map(|event| gzip(format!("{event}\n").as_bytes()))
        .collect();
    assert_eq!(
        read(vec![packed[..packed.len() - 20].to_vec()], Some("gzip")).await[..4],
        EXPECTED[..4]
    );
}

#[tokio::test]
async fn an_event_is_yielded_as_soon_as_it_is_complete() {
    for is_packed in [false, true] {
        let (sender, receiver) = mpsc::unbounded::<Vec<u8>>();
        let receiver = Mutex::new(Some(receiver));
        let answer = move |_| {
            let receiver = receiver.lock().unwrap().take().expect("one request");
            let chunks = receiver.map(|chunk| Ok(Frame::data(chunk.into()))).boxed();
            let builder = Response::builder();
            let builder = if is_packed {
                builder.header("content-encoding", "gzip")
            } else {
                builder
            };
            builder.body(StreamBody::new(chunks)).unwrap()
        };
        let source = source(client(answer), inline());
        let mut stream = source.watch(watch_after("1")).await.unwrap();
        for (event, expected) in EVENTS.iter().zip(EXPECTED) {
            let line = format!("{event}\n").into_bytes();
            sender
                .unbounded_send(if is_packed { gzip(&line) } else { line })
                .unwrap();
            assert_eq!(describe_event(stream.next().await.unwrap()), expected);
        }
    }
}

/// To yield wakes another worker of the runtime. So only a part of an initial state waits for more of it.
#[tokio::test]
async fn a_few_changes_are_returned_without_a_yield_and_many_wait_for_more() {
    let change = format!(
        r#"{{"type":"MODIFIED","object":{{"metadata":{{"name":"a"}},"data":{{"k":"{}"}}}}}}"#,
        "x".repeat(5_000)
    );
    let small = EVENTS[0].to_owned();
    for (event, count, is_at_once) in [
        (&change, 1, true),
        (&change, 7, false),
        (&small, 7, true),
        (&small, 8, false),
    ] {
        let text = format!("{event}\n").repeat(count).into_bytes();
        let answer = move |_| {
            let chunk = Frame::data(Bytes::from(text.clone()));
            let chunks = futures::stream::iter([Ok(chunk)]).chain(futures::stream::pending());
            Response::new(StreamBody::new(chunks.boxed()))
        };
        let source = source(client(answer), KubeSourceOptions::default());
        let mut stream = source.watch(watch_after("1")).await.unwrap();
        let first = stream.next().now_or_never();
        assert_eq!(first.is_some(), is_at_once, "{count} events");
        if !is_at_once {
            stream.next().await.unwrap().unwrap();
        }
    }
}

#[tokio::test]
async fn available_events_are_decoded_in_batches_on_another_thread() {
    /// Counts the events decoded on the thread of the test.
    struct Here(std::thread::ThreadId, Mutex<usize>, JsonDecoder);
    impl Decode<ConfigMap> for Here {
        fn decode(&self, bytes: &[u8]) -> Result<ConfigMap, DecodeError> {
            if std::thread::current().id() == self.0 {
                *self.1.lock().unwrap() += 1;
            }
            self.2.decode(bytes)
        }
    }
    let text: String = (0..500)
        .map(|n| format!("{{\"type\":\"ADDED\",\"object\":{{\"metadata\":{{\"name\":\"n{n}\"}}}}}}\n"))
        .collect();
    let json = JsonDecoder::of::<ConfigMap>(&(), ManagedFields::Drop);
    let decoder = Arc::new(Here(std::thread::current().id(), Mutex::default(), json));
    let options = KubeSourceOptions {
        decode_on: DecodeOn::BlockingPool { threshold: 1_000 },
        ..KubeSourceOptions::default()
    };
    let answer = move |_| Response::new(body(chunks(text.as_bytes(), 100)));
    let lines = watch_lines(&source(client(answer), options).decoder(Arc::clone(&decoder) as _)).await;
    let expected: Vec<String> = (0..500).map(|n| format!("added n{n}")).collect();
    assert_eq!(lines, expected);
    let here = *decoder.1.lock().unwrap();
    assert!(here < 100, "{here} of 500 events were decoded on the worker");
}

#[tokio::test]
async fn errors_in_the_stream_end_it_after_the_events_before() {
    let error =
        r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}"#;
    let chunks = vec![format!("{}\n{error}\n{}\n", EVENTS[0], EVENTS[0]).into_bytes()];
    assert_eq!(
        read(chunks, None).await,
        ["added a", "error: the server answered 410 Expired: too old"]
    );

    let lines = read(
        vec![format!("{}\ngarbled\n{}\n", EVENTS[0], EVENTS[0]).into_bytes()],
        None,
    )
    .await;
    assert_eq!(lines.len(), 2);
    assert!(lines[1].starts_with("error: invalid response"), "{lines:?}");
}

#[tokio::test]
async fn a_frame_over_the_limit_is_undecodable_and_the_watch_goes_on() {
    let options = || KubeSourceOptions {
        max_object_bytes: 60,
        ..inline()
    };
    let large = format!(
        r#"{{"type":"MODIFIED","object":{{"data":{{"k":"{}"}},"metadata":{{"name":"b"}}}}}}"#,
        "x".repeat(61)
    );
    let text = format!("{}\n{large}\n{}\n", EVENTS[0], EVENTS[0]);
    let lines = watch_lines(&source(
        client(move |_| Response::new(body(chunks(text.as_bytes(), 500)))),
        options(),
    ))
    .await;
    assert_eq!(lines[0], "added a");
    assert_eq!(lines[1], "undecodable Upserted Some(\"b\")");
    assert_eq!(lines[2], "added a");
    // What is skipped is limited too.
    let bomb = gzip(&vec![b'x'; SKIPPED_BYTES + 100]);
    let answer = move |_| {
        Response::builder()
            .header("content-encoding", "gzip")
            .body(body([Ok(bomb.clone())]))
            .unwrap()
    };
    let lines = watch_lines(&source(client(answer), options())).await;
    assert!(
        lines[0].starts_with("error:") && lines[0].contains("larger than the limit of 60 bytes"),
        "{lines:?}"
    );
}

#[tokio::test]
async fn a_broken_connection_is_reported_as_such() {
    let answer = |_| {
        let broken = std::io::Error::new(std::io::ErrorKind::ConnectionReset, "connection reset");
        Response::new(body([
            Ok(format!("{}\n", EVENTS[0]).into_bytes()),
            Err(broken.into()),
        ]))
    };
    let source = source(client(answer), inline());
    let mut stream = source.watch(watch_after("1")).await.unwrap();
    assert_eq!(describe_event(stream.next().await.unwrap()), "added a");
    let error = stream.next().await.unwrap().unwrap_err();
    assert!(error.is_disconnect(), "{error:?}");
    assert_eq!(error.to_string(), "the connection broke: connection reset");
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn dropping_the_stream_drops_the_request() {
    struct OnDrop(Arc<AtomicBool>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let dropped = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&dropped);
    let answer = move |_| {
        let guard = OnDrop(Arc::clone(&flag));
        let quiet = futures::stream::pending().map(move |()| {
            let _ = &guard;
            Ok(Frame::data(Bytes::new()))
        });
        Response::new(StreamBody::new(quiet.boxed()))
    };
    let source = source(client(answer), inline());
    let stream = source.watch(watch_after("1")).await.unwrap();
    assert!(!dropped.load(Ordering::SeqCst));
    drop(stream);
    assert!(dropped.load(Ordering::SeqCst));
}
