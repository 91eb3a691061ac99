//! Tests of streams that the server resets (RST_STREAM), as a source sees them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use h2::Reason;
use http::Response;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use super::*;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::source::{
    KubeSource, KubeSourceOptions, ListFrom, ListRequest, ListWatch as _, Recovery, SourceError, WatchEvent,
    WatchFrom, WatchRequest,
};

const EVENT: &str = concat!(
    r#"{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"7"}}}"#,
    "\n"
);

/// When a server resets a stream.
#[derive(Clone, Copy, Debug)]
enum When {
    /// Before the response begins, for the first so many requests.
    BeforeHead { times: usize },
    /// After these bytes of the body.
    AfterBytes(&'static str),
}

/// Starts a server that resets streams, and never ends a response of HTTP/1.1. Returns its configuration, and
/// the number of requests it has received.
async fn serve(when: When, reason: Reason) -> (kube::Config, Arc<AtomicUsize>) {
    let (certificate, acceptor) = tls_server::tls(&[b"h2", b"http/1.1"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, counted) = (acceptor.clone(), Arc::clone(&counted));
            tokio::spawn(async move {
                let mut socket = acceptor.accept(socket).await.unwrap();
                if socket.get_ref().1.alpn_protocol() != Some(b"h2") {
                    let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
                    socket.write_all(head).await.unwrap();
                    return std::future::pending().await;
                }
                let mut connection = h2::server::handshake(socket).await.unwrap();
                while let Some(Ok((_, mut respond))) = connection.accept().await {
                    let number = counted.fetch_add(1, Ordering::Relaxed);
                    match when {
                        When::BeforeHead { times } if number < times => respond.send_reset(reason),
                        When::BeforeHead { .. } => {
                            let mut body = respond.send_response(Response::new(()), false).unwrap();
                            body.send_data(Bytes::from_static(EVENT.as_bytes()), true)
                                .unwrap();
                        }
                        When::AfterBytes(bytes) => {
                            let mut body = respond.send_response(Response::new(()), false).unwrap();
                            body.send_data(Bytes::from_static(bytes.as_bytes()), false)
                                .unwrap();
                            // The bytes have to be sent first: a reset discards what is queued.
                            tokio::spawn(async move {
                                tokio::time::sleep(Duration::from_millis(100)).await;
                                body.send_reset(reason);
                            });
                        }
                    }
                }
            });
        }
    });
    let mut config = kube::Config::new(url.parse().unwrap());
    config.root_cert = Some(vec![certificate]);
    (config, requests)
}

fn source(config: kube::Config) -> KubeSource<ConfigMap> {
    KubeSource::new(
        from_config(config).unwrap(),
        Scope::All,
        KubeSourceOptions::default(),
    )
    .unwrap()
}

/// Opens a watch and reads it to its end.
async fn watch(config: kube::Config) -> Result<Vec<Result<WatchEvent<ConfigMap>, SourceError>>, SourceError> {
    let request = WatchRequest {
        from: WatchFrom::After(ResourceVersion::new("5")),
        timeout: Duration::from_secs(300),
        answer_within: None,
    };
    Ok(source(config).watch(request).await?.collect().await)
}

#[tokio::test]
async fn a_refused_stream_is_sent_again_at_once() {
    let (config, requests) = serve(When::BeforeHead { times: 2 }, Reason::REFUSED_STREAM).await;
    let events = watch(config).await.expect("the third attempt succeeds");
    assert!(matches!(events[..], [Ok(WatchEvent::Added(_))]), "{events:?}");
    assert_eq!(requests.load(Ordering::Relaxed), 3);
}

/// A reflector waits after this error, and counts it towards no relist.
#[tokio::test]
async fn a_stream_refused_again_and_again_is_a_refused_connection() {
    let (config, requests) = serve(When::BeforeHead { times: usize::MAX }, Reason::REFUSED_STREAM).await;
    let port = config.cluster_url.port_u16().unwrap();
    let error = watch(config).await.expect_err("every attempt is refused");
    assert!(error.is_connection_refused(), "{error}");
    assert_eq!(error.recovery(), Recovery::Unreachable);
    let text = error.to_string();
    assert!(text.contains(&format!("127.0.0.1:{port} (HTTP/2): ")), "{text}");
    assert!(text.contains("refused"), "{text}");
    assert_eq!(requests.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn other_resets_before_the_response_are_disconnects() {
    for reason in [Reason::INTERNAL_ERROR, Reason::CANCEL, Reason::NO_ERROR] {
        let (config, requests) = serve(When::BeforeHead { times: usize::MAX }, reason).await;
        let error = watch(config).await.expect_err("there is no response");
        assert!(error.is_disconnect(), "{reason:?}: {error}");
        assert_eq!(requests.load(Ordering::Relaxed), 1, "{reason:?}");
    }
}

/// A disconnect after events is resumed by another watch, and so is an orderly end.
#[tokio::test]
async fn a_reset_in_a_watch_keeps_its_events_and_ends_it() {
    for reason in [
        Reason::INTERNAL_ERROR,
        Reason::CANCEL,
        Reason::REFUSED_STREAM,
        Reason::ENHANCE_YOUR_CALM,
        Reason::NO_ERROR,
    ] {
        let (config, _) = serve(When::AfterBytes(EVENT), reason).await;
        let mut events = watch(config).await.unwrap().into_iter();
        assert!(
            matches!(events.next(), Some(Ok(WatchEvent::Added(_)))),
            "{reason:?}"
        );
        match events.next() {
            Some(Err(error)) => assert!(error.is_disconnect(), "{reason:?}: {error}"),
            end => assert!(end.is_none() && reason == Reason::NO_ERROR, "{reason:?}: {end:?}"),
        }
    }
}

/// hyper reports NO_ERROR as an orderly end of the body.
#[tokio::test]
async fn a_reset_never_makes_half_a_list_a_whole_one() {
    let half = r#"{"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a"}}"#;
    for reason in [Reason::NO_ERROR, Reason::CANCEL, Reason::INTERNAL_ERROR] {
        let (config, _) = serve(When::AfterBytes(half), reason).await;
        let request = || ListRequest {
            from: ListFrom::MostRecent,
            limit: None,
            continue_token: None,
            answer_within: None,
        };
        let source = source(config);
        // Those that use HTTP/1.1.
        let mut others = Vec::new();
        for _ in 0..transport::LISTS {
            others.push(source.list(request()).await.unwrap());
        }
        let stream = source.list(request()).await.unwrap();
        let events: Vec<_> = stream.collect().await;
        assert!(matches!(events.last(), Some(Err(_))), "{reason:?}: {events:?}");
    }
}
