//! The server of the page: its address, its end and its limits.

use std::net::SocketAddr;
use std::time::Duration;

use informer_testing::ApiServer;
use informers::{SharedInformerFactory, debug};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::support::synced;

/// Sends a text and returns everything that is answered until the connection ends.
async fn exchange(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A connection that is reset was refused, after what was read.
    let _read = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

async fn get(address: SocketAddr, target: &str, host: &str) -> String {
    exchange(address, &format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n")).await
}

async fn is_refused(address: SocketAddr) -> bool {
    TcpStream::connect(address).await.is_err()
}

#[tokio::test]
async fn the_page_is_served_on_loopback() {
    let server = ApiServer::start();
    let factory = synced(&server).await;
    let served = debug::serve(&factory, 0).await.unwrap();
    let address = served.address();
    assert!(address.ip().is_loopback() && address.port() != 0);
    assert_eq!(served.url(), format!("http://{address}/"));
    let answer = get(address, "/", &address.to_string()).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("configmaps"), "{answer}");
    let answer = get(address, "/informers.json", "localhost").await;
    assert!(answer.contains("\"id\": \"configmaps\""), "{answer}");
    let head = format!("HEAD / HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let answer = exchange(address, &head).await;
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n"),
        "{answer}"
    );
    served.stop().await;
    served.stop().await;
    assert!(is_refused(address).await);
}

#[tokio::test]
async fn a_foreign_name_of_the_loopback_address_is_refused() {
    let server = ApiServer::start();
    let factory = synced(&server).await;
    let address = debug::serve(&factory, 0).await.unwrap().address();
    for host in ["evil.example", "evil.example:6060", "127.0.0.1.evil.example"] {
        let answer = get(address, "/informers.json", host).await;
        assert!(answer.starts_with("HTTP/1.1 421 "), "{host}: {answer}");
        assert!(!answer.contains("configmaps"), "{host}: {answer}");
    }
    let without = exchange(address, "GET / HTTP/1.0\r\n\r\n").await;
    assert!(without.contains(" 421 "), "{without}");
}

#[tokio::test]
async fn an_address_in_use_is_named() {
    let server = ApiServer::start();
    let factory = synced(&server).await;
    let first = debug::serve(&factory, 0).await.unwrap();
    let error = debug::serve(&factory, first.address().port()).await.unwrap_err();
    let expected = format!(
        "cannot serve the debug page on {}: the address is in use; choose another port, or 0 for any \
         free one",
        first.address()
    );
    assert_eq!(error.to_string(), expected);
    // An address of nobody here: TEST-NET-1.
    let foreign: SocketAddr = "192.0.2.1:0".parse().unwrap();
    let error = debug::serve(&factory, foreign).await.unwrap_err();
    assert!(matches!(error, debug::ServeError::Bind { .. }), "{error}");
    assert!(error.to_string().contains("192.0.2.1"), "{error}");
}

#[tokio::test]
async fn the_server_stops_with_its_factory() {
    let server = ApiServer::start();

    let factory = synced(&server).await;
    let served = debug::serve(&factory, 0).await.unwrap();
    factory.shutdown().await;
    served.ended().await;
    assert!(is_refused(served.address()).await, "after a shutdown");

    let factory = synced(&server).await;
    let served = debug::serve(&factory, 0).await.unwrap();
    drop(factory);
    served.ended().await;
    assert!(
        is_refused(served.address()).await,
        "after the last handle was dropped"
    );

    let token = CancellationToken::new();
    let factory = SharedInformerFactory::builder(server.client())
        .cancel_with(&token)
        .build()
        .unwrap();
    let served = debug::serve(&factory, 0).await.unwrap();
    token.cancel();
    served.ended().await;
    assert!(
        is_refused(served.address()).await,
        "after its token was cancelled"
    );
}

#[tokio::test]
async fn connections_are_bounded_and_further_ones_wait() {
    let server = ApiServer::start();
    let factory = synced(&server).await;
    let address = debug::serve(&factory, 0).await.unwrap().address();
    let mut idle = Vec::new();
    for _ in 0..32 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(b"GET /informers.json HTTP/1.1\r\n")
            .await
            .unwrap();
        idle.push(stream);
    }
    let mut waiting = TcpStream::connect(address).await.unwrap();
    let request = b"GET /informers.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
    waiting.write_all(request).await.unwrap();
    let mut answer = [0; 8];
    let early = tokio::time::timeout(Duration::from_millis(200), waiting.read_exact(&mut answer)).await;
    assert!(early.is_err(), "all places are taken");
    idle.pop();
    waiting.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1");
}

#[tokio::test]
async fn a_request_is_bounded_in_size() {
    let server = ApiServer::start();
    let factory = synced(&server).await;
    let address = debug::serve(&factory, 0).await.unwrap().address();
    let long = "x".repeat(20_000);
    let answer = get(address, &format!("/?informer={long}"), "localhost").await;
    assert!(answer.starts_with("HTTP/1.1 4") || answer.is_empty(), "{answer}");
    let headers = "a: b\r\n".repeat(65);
    let answer = exchange(
        address,
        &format!("GET / HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n"),
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

/// The paused clock moves when nothing else can happen, so the time limit passes at once.
#[tokio::test(start_paused = true)]
async fn a_client_that_sends_nothing_is_disconnected() {
    let server = ApiServer::start();
    let factory = synced(&server).await;
    let address = debug::serve(&factory, 0).await.unwrap().address();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: ").await.unwrap();
    let mut answer = Vec::new();
    let _read = stream.read_to_end(&mut answer).await;
    assert!(!String::from_utf8(answer).unwrap().contains("200 OK"));
}
