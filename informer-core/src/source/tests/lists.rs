//! Lists: decoded while they stream; an incomplete list is an error.

use super::*;

const LIST: &str = r#"{"kind":"ConfigMapList","apiVersion":"v1",
    "metadata":{"resourceVersion":"17","continue":"next","remainingItemCount":3},
    "items":[{"metadata":{"name":"a","namespace":"ns"}},
        {"metadata":{"name":"b","namespace":"ns"},"data":"wrong"},{"metadata":{"name":"c"}}]}"#;
const EXPECTED: [&str; 4] = [
    r#"metadata 17 Some("next") Some(3)"#,
    "item ns/a",
    r#"undecodable Some("ns/b")"#,
    "item c",
];

async fn check(text: &str, expected: &[&str]) {
    for size in [1, 7, 64, text.len()] {
        let copy = text.to_owned();
        let source = source(
            client(move |_| Response::new(body(chunks(copy.as_bytes(), size)))),
            inline(),
        );
        assert_eq!(list_lines(&source).await, expected, "in chunks of {size}");
    }
}

#[tokio::test]
async fn items_are_yielded_in_order_and_one_bad_item_affects_only_itself() {
    check(LIST, &EXPECTED).await;
}

#[tokio::test]
async fn metadata_may_follow_the_items() {
    check(
        r#"{"items":[{"metadata":{"name":"a"}}],"metadata":{"resourceVersion":"5","continue":""}}"#,
        &["item a", "metadata 5 None None"],
    )
    .await;
}

#[tokio::test]
async fn a_body_that_is_not_a_complete_list_is_an_error() {
    for (text, expected) in [
        (r#"{"kind":"Status","status":"Failure"}"#, "received a Status"),
        (
            r#"{"kind":"Table","metadata":{"resourceVersion":"5"},"rows":[]}"#,
            "received a Table",
        ),
        (r#"{"metadata":{},"items":[]}"#, "no resourceVersion"),
        (
            r#"{"metadata":{"resourceVersion":""},"items":[]}"#,
            "no resourceVersion",
        ),
        (
            r#"{"metadata":{"resourceVersion":"0"},"items":[]}"#,
            "resourceVersion 0",
        ),
        (r#"{"metadata":{"resourceVersion":5},"items":[]}"#, "metadata"),
        (r#"{"metadata":null,"items":[]}"#, "metadata"),
        (r#"{"items":[]}"#, "no `metadata`"),
        (
            r#"{"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a"}}]"#,
            "closing brace",
        ),
        ("", "closing brace"),
        ("<html>", "not a JSON object"),
    ] {
        let copy = text.to_owned();
        let source = source(
            client(move |_| Response::new(body(chunks(copy.as_bytes(), 9)))),
            inline(),
        );
        let lines = list_lines(&source).await;
        let last = lines.last().expect("an error is reported");
        assert!(
            last.starts_with("error: ") && last.contains(expected),
            "{text}: {lines:?}"
        );
    }
}

#[tokio::test]
async fn compressed_lists_are_decompressed_and_must_be_complete() {
    let packed = gzip(LIST.as_bytes());
    for size in [1, 10, packed.len()] {
        let copy = packed.clone();
        let answer = move |_| {
            Response::builder()
                .header("content-encoding", "gzip")
                .body(body(chunks(&copy, size)))
                .unwrap()
        };
        assert_eq!(list_lines(&source(client(answer), inline())).await, EXPECTED);
    }
    for length in 1..packed.len() {
        let copy = packed[..length].to_vec();
        let answer = move |_| {
            Response::builder()
                .header("content-encoding", "gzip")
                .body(body([Ok(copy.clone())]))
                .unwrap()
        };
        let lines = list_lines(&source(client(answer), inline())).await;
        assert!(
            lines.last().unwrap().contains("ended"),
            "cut at {length}: {lines:?}"
        );
    }
}

#[tokio::test]
async fn an_item_over_the_limit_is_undecodable_and_the_list_goes_on() {
    let options = KubeSourceOptions {
        max_object_bytes: 100,
        ..inline()
    };
    let text = format!(
        r#"{{"metadata":{{"resourceVersion":"5"}},
            "items":[{{"data":{{"k":"{}"}},"metadata":{{"name":"a"}}}},{{"metadata":{{"name":"b"}}}}]}}"#,
        "x".repeat(100)
    );
    let lines = list_lines(&source(
        client(move |_| Response::new(body(chunks(text.as_bytes(), 16)))),
        options,
    ))
    .await;
    assert_eq!(lines[1..], ["undecodable Some(\"a\")", "item b"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_stalls_times_out_after_the_idle_limit() {
    let answer = |_| {
        let first = futures::stream::iter([Ok(Frame::data(Bytes::from_static(&LIST.as_bytes()[..150])))]);
        Response::new(StreamBody::new(first.chain(futures::stream::pending()).boxed()))
    };
    let began = tokio::time::Instant::now();
    let lines = list_lines(&source(client(answer), inline())).await;
    assert!(
        lines
            .last()
            .unwrap()
            .contains("while waiting for the next chunk of a list"),
        "{lines:?}"
    );
    assert_eq!(began.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn items_of_a_list_that_stalls_are_delivered_after_a_second() {
    let answer = |_| {
        let first = futures::stream::iter([Ok(Frame::data(Bytes::from_static(&LIST.as_bytes()[..180])))]);
        Response::new(StreamBody::new(first.chain(futures::stream::pending()).boxed()))
    };
    let source = source(client(answer), KubeSourceOptions::default());
    let began = tokio::time::Instant::now();
    let mut stream = source.list(whole_list()).await.unwrap();
    let first = stream.next().await.unwrap();
    assert!(matches!(first, Ok(ListEvent::Metadata(_))), "{first:?}");
    let second = stream.next().await.unwrap();
    assert!(matches!(second, Ok(ListEvent::Item(_))), "{second:?}");
    assert_eq!(began.elapsed().as_secs(), 1);
    let error = stream.next().await.unwrap().unwrap_err();
    assert!(matches!(error, SourceError::Deadline { .. }), "{error:?}");
    assert_eq!(began.elapsed().as_secs(), 61);
}

#[tokio::test(start_paused = true)]
async fn a_slow_list_that_progresses_does_not_time_out() {
    let answer = |_| {
        let slowly = futures::stream::iter(LIST.as_bytes().chunks(10)).then(|chunk| async move {
            tokio::time::sleep(Duration::from_secs(2)).await;
            Ok(Frame::data(Bytes::from_static(chunk)))
        });
        Response::new(StreamBody::new(slowly.boxed()))
    };
    assert_eq!(list_lines(&source(client(answer), inline())).await, EXPECTED);
}

/// One byte now and then keeps a connection busy without progress.
#[tokio::test(start_paused = true)]
async fn a_list_that_trickles_times_out_after_the_idle_limit() {
    let answer = |_| {
        let trickle = futures::stream::repeat(b" ").then(|blank| async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(Frame::data(Bytes::from_static(blank)))
        });
        let first = futures::stream::iter([Ok(Frame::data(Bytes::from_static(&LIST.as_bytes()[..150])))]);
        Response::new(StreamBody::new(first.chain(trickle).boxed()))
    };
    let began = tokio::time::Instant::now();
    let lines = list_lines(&source(client(answer), inline())).await;
    assert!(
        lines
            .last()
            .unwrap()
            .contains("the next object or kilobyte of a list"),
        "{lines:?}"
    );
    assert!(
        (60..70).contains(&began.elapsed().as_secs()),
        "{:?}",
        began.elapsed()
    );
}

/// A slow reader is not a slow server.
#[tokio::test(start_paused = true)]
async fn time_in_which_the_stream_is_not_polled_does_not_count() {
    let answer = |_| Response::new(body(chunks(LIST.as_bytes(), 10)));
    let source = source(client(answer), inline());
    let mut stream = source.list(whole_list()).await.unwrap();
    let mut events = 0;
    while let Some(event) = stream.next().await {
        event.unwrap();
        events += 1;
        tokio::time::sleep(Duration::from_secs(300)).await;
    }
    assert_eq!(events, EXPECTED.len());
}

#[tokio::test]
async fn a_list_larger_than_the_limit_is_an_error_that_names_the_setting() {
    let options = KubeSourceOptions {
        max_list_bytes: 200,
        ..inline()
    };
    let answer = |_| Response::new(body(chunks(LIST.as_bytes(), 16)));
    let lines = list_lines(&source(client(answer), options)).await;
    assert!(
        lines
            .last()
            .unwrap()
            .contains("more than 200 bytes; raise `max_list_bytes`"),
        "{lines:?}"
    );
}

#[tokio::test]
async fn large_batches_are_decoded_on_another_thread_in_order() {
    /// Records the threads on which it ran.
    struct Threads(Mutex<Vec<std::thread::ThreadId>>, JsonDecoder);
    impl Decode<ConfigMap> for Threads {
        fn decode(&self, bytes: &[u8]) -> Result<ConfigMap, DecodeError> {
            self.0.lock().unwrap().push(std::thread::current().id());
            self.1.decode(bytes)
        }
    }
    let items: Vec<String> = (0..500)
        .map(|n| format!(r#"{{"metadata":{{"name":"n{n}"}}}}"#))
        .collect();
    let text = format!(
        r#"{{"metadata":{{"resourceVersion":"5"}},"items":[{}]}}"#,
        items.join(",")
    );
    let here = std::thread::current().id();
    for (decode_on, size, is_here) in [
        (DecodeOn::Worker, 4_096, true),
        (DecodeOn::BlockingPool { threshold: 1_000_000 }, 4_096, true),
        (DecodeOn::BlockingPool { threshold: 1_000 }, 4_096, false),
        // TLS records are smaller than the threshold: items are gathered across them.
        (DecodeOn::BlockingPool { threshold: 1_000 }, 100, false),
        (DecodeOn::BlockingPool { threshold: 1_000 }, 1, false),
    ] {
        let json = JsonDecoder::of::<ConfigMap>(&(), ManagedFields::Drop);
        let decoder = Arc::new(Threads(Mutex::default(), json));
        let copy = text.clone();
        let options = KubeSourceOptions {
            decode_on,
            ..KubeSourceOptions::default()
        };
        let client = client(move |_| Response::new(body(chunks(copy.as_bytes(), size))));
        let lines = list_lines(&source(client, options).decoder(Arc::clone(&decoder) as _)).await;
        let expected: Vec<String> = (0..500).map(|n| format!("item n{n}")).collect();
        assert_eq!(lines[1..], expected);
        let threads = decoder.0.lock().unwrap();
        assert_eq!(
            threads.iter().filter(|thread| **thread == here).count() > 400,
            is_here,
            "{decode_on:?}, chunks of {size}"
        );
    }
}

#[tokio::test]
async fn metadata_only_lists_decode_from_partial_and_from_whole_objects() {
    for item in [
        r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"}}"#,
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{"containers":[]}}"#,
        r#"{"metadata":{"name":"a","managedFields":[{}]}}"#,
    ] {
        let text = format!(r#"{{"metadata":{{"resourceVersion":"5"}},"items":[{item}]}}"#);
        let client = client(move |_| Response::new(body([Ok(text.clone().into_bytes())])));
        let source =
            KubeSource::<PartialObjectMeta<Pod>>::new(client, Scope::All, KubeSourceOptions::default())
                .unwrap();
        let events: Vec<_> = source.list(whole_list()).await.unwrap().collect().await;
        let Ok(ListEvent::Item(object)) = &events[1] else {
            panic!("{events:?}")
        };
        assert_eq!(object.metadata.name.as_deref(), Some("a"));
        assert_eq!(object.metadata.managed_fields, None);
    }
}
