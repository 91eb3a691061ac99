//! Tests of one HTTP/2 connection on the paused clock: dead peers and missing settings.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper_util::rt::TokioIo;
use kube::client::Body;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::watch;
use tokio::time::Instant;

use super::http2::{Connection, PING_INTERVAL, PING_TIMEOUT, SETTINGS_TIMEOUT};

/// Forwards bytes in both directions until it is stopped; then it keeps both sides open and forwards nothing.
fn proxy(stop: &watch::Sender<bool>) -> (DuplexStream, DuplexStream) {
    let (client, to_client) = duplex(64 * 1024);
    let (server, to_server) = duplex(64 * 1024);
    let mut stopped = stop.subscribe();
    tokio::spawn(async move {
        let (mut from_client, mut to_client) = tokio::io::split(to_client);
        let (mut from_server, mut to_server) = tokio::io::split(to_server);
        let forward = async {
            tokio::join!(
                tokio::io::copy(&mut from_client, &mut to_server),
                tokio::io::copy(&mut from_server, &mut to_client),
            )
        };
        tokio::select! {
            _ = forward => return,
            stopped = stopped.wait_for(|stopped| *stopped) => drop(stopped),
        }
        std::future::pending().await
    });
    (client, server)
}

/// Responds to every request with a body that never ends.
async fn serve(socket: DuplexStream) {
    let mut connection = h2::server::handshake(socket).await.unwrap();
    let mut bodies = Vec::new();
    while let Some(Ok((_, mut respond))) = connection.accept().await {
        let mut body = respond.send_response(Response::new(()), false).unwrap();
        body.send_data(Bytes::from_static(b"first"), false).unwrap();
        bodies.push(body);
    }
}

async fn open(socket: DuplexStream) -> Connection {
    let connection = Connection::open(Box::pin(TokioIo::new(socket))).await;
    connection.unwrap().expect("the server allows requests")
}

async fn watch(connection: &Connection) -> hyper::body::Incoming {
    let stream = connection.reserve().expect("the connection has room");
    let request = Request::get("https://east/watch").body(Body::empty()).unwrap();
    let Ok((response, slot)) = stream.send(request).await else {
        panic!("the server responds");
    };
    // The slot is of no interest here.
    drop(slot);
    let mut body = response.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(first, "first");
    body
}

/// A proxy, a firewall or a machine without power: nothing closes the connection.
#[tokio::test(start_paused = true)]
async fn a_connection_that_forwards_nothing_is_noticed_by_a_ping() {
    let stop = watch::Sender::new(false);
    let (client, server) = proxy(&stop);
    tokio::spawn(serve(server));
    let connection = open(client).await;
    let (mut one, mut two) = (watch(&connection).await, watch(&connection).await);
    stop.send_replace(true);
    let began = Instant::now();
    for body in [&mut one, &mut two] {
        let end = tokio::time::timeout(Duration::from_secs(600), body.frame()).await;
        let end = end.expect("it is noticed").expect("it does not end in order");
        assert!(end.is_err(), "{end:?}");
    }
    let waited = began.elapsed();
    assert!(
        waited <= PING_INTERVAL + PING_TIMEOUT + Duration::from_secs(1),
        "{waited:?}"
    );
    assert!(connection.is_closed());
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_that_forwards_nothing_is_closed() {
    let stop = watch::Sender::new(false);
    let (client, server) = proxy(&stop);
    tokio::spawn(serve(server));
    let connection = open(client).await;
    stop.send_replace(true);
    tokio::time::sleep(PING_INTERVAL + PING_TIMEOUT + Duration::from_secs(1)).await;
    assert!(connection.is_closed());
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_survives_while_pings_are_answered() {
    let stop = watch::Sender::new(false);
    let (client, server) = proxy(&stop);
    tokio::spawn(serve(server));
    let connection = open(client).await;
    let mut body = watch(&connection).await;
    let hour = tokio::time::timeout(Duration::from_secs(3600), body.frame()).await;
    assert!(hour.is_err(), "{hour:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_sends_no_settings_is_given_up() {
    let (client, mut server) = duplex(64 * 1024);
    let began = Instant::now();
    let opened = Connection::open(Box::pin(TokioIo::new(client))).await;
    let error = opened.err().expect("it fails").to_string();
    assert!(error.contains("no HTTP/2 settings"), "{error}");
    assert_eq!(began.elapsed(), SETTINGS_TIMEOUT);
    assert!(
        server.read_u8().await.is_ok(),
        "the client has begun the handshake"
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_speak_http2_is_an_error() {
    let (client, mut server) = duplex(64 * 1024);
    server
        .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        .await
        .unwrap();
    let opened = Connection::open(Box::pin(TokioIo::new(client))).await;
    let error = opened.err().expect("it fails").to_string();
    assert!(error.contains("before it sent HTTP/2 settings"), "{error}");
}
