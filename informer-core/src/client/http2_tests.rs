//! Tests of HTTP/2 over TLS on sockets: how many connections, and which protocol.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use futures::future::join_all;
use http_body_util::BodyExt as _;
use kube::client::Body;

use super::tls_server::{Server, Speaks};
use super::*;

/// Longer than any wait on a busy machine. Reached only by a request that hangs.
const LONG: Duration = Duration::from_secs(60);

async fn request(client: &kube::Client, target: &str) -> Body {
    let request = http::Request::get(target).body(Body::empty()).unwrap();
    let answer = tokio::time::timeout(LONG, client.send(request)).await;
    answer
        .expect("a response begins")
        .expect("the request is sent")
        .into_body()
}

/// Opens a watch and reads its first event.
async fn watch(client: &kube::Client) -> Body {
    let mut body = request(client, "/api/v1/configmaps?watch=true").await;
    assert_eq!(next(&mut body).await, "first");
    body
}

async fn next(body: &mut Body) -> String {
    let frame = tokio::time::timeout(LONG, body.frame()).await;
    let frame = frame.expect("an event arrives").expect("the watch is open");
    let bytes = frame.expect("the connection works").into_data().unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

async fn watches(client: &kube::Client, count: usize) -> Vec<Body> {
    join_all((0..count).map(|_| watch(client))).await
}

fn connections(server: &Server) -> (usize, usize) {
    (
        server.seen.http2_connections.load(Relaxed),
        server.seen.http1_connections.load(Relaxed),
    )
}

#[tokio::test]
async fn a_small_stream_limit_leads_to_more_connections_and_no_hang() {
    let server = Server::start(Speaks::Http2(10)).await;
    let client = from_config(server.config()).unwrap();
    let mut bodies = watches(&client, 35).await;
    server.event("second");
    for body in &mut bodies {
        assert_eq!(next(body).await, "second");
    }
    // 9 each: a little less than the server allows.
    assert_eq!(connections(&server), (4, 0));
}

#[tokio::test]
async fn a_hundred_watches_need_two_connections() {
    let server = Server::start(Speaks::Http2(100)).await;
    let client = from_config(server.config()).unwrap();
    let _bodies = watches(&client, 100).await;
    assert_eq!(connections(&server), (2, 0));
}

#[tokio::test]
async fn a_dropped_watch_makes_room_for_another() {
    let server = Server::start(Speaks::Http2(10)).await;
    let client = from_config(server.config()).unwrap();
    for _ in 0..5 {
        drop(watches(&client, 9).await);
    }
    assert_eq!(connections(&server), (1, 0));
}

#[tokio::test]
async fn requests_above_all_connections_use_http1() {
    let server = Server::start(Speaks::Http2(1)).await;
    let client = from_config(server.config()).unwrap();
    let mut bodies = watches(&client, pool::CONNECTIONS + 2).await;
    assert_eq!(connections(&server), (pool::CONNECTIONS, 2));
    server.event("second");
    for body in &mut bodies {
        assert_eq!(next(body).await, "second");
    }
}

#[tokio::test]
async fn a_server_without_http2_is_served_by_http1() {
    for speaks in [Speaks::Http1, Speaks::Http2(0)] {
        let server = Server::start(speaks).await;
        let client = from_config(server.config()).unwrap();
        let _bodies = watches(&client, 3).await;
        assert_eq!(server.seen.http1_requests.load(Relaxed), 3);
        assert_eq!(server.seen.http2_requests.load(Relaxed), 0);
    }
}

#[tokio::test]
async fn http2_can_be_disabled() {
    let server = Server::start(Speaks::Http2(100)).await;
    let options = ClientOptions {
        protocols: Protocols::Http1,
    };
    let client = from_config_with(server.config(), options).unwrap();
    let _bodies = watches(&client, 3).await;
    assert_eq!(connections(&server), (0, 3));
}

/// `exec` and `port-forward` turn a connection into another protocol, which HTTP/2 cannot.
#[tokio::test]
async fn a_request_for_another_protocol_uses_http1() {
    let server = Server::start(Speaks::Http2(100)).await;
    let client = from_config(server.config()).unwrap();
    let request = http::Request::get("/api/v1/namespaces/a/pods/b/exec")
        .header(http::header::CONNECTION, "Upgrade")
        .header(http::header::UPGRADE, "websocket")
        .body(Body::empty())
        .unwrap();
    client.send(request).await.unwrap();
    assert_eq!(server.seen.http1_requests.load(Relaxed), 1);
}

fn list() -> http::Request<Body> {
    // As this library and kube mark a list.
    let request = http::Request::get("/flood").extension("list");
    request.body(Body::empty()).unwrap()
}

/// Large lists are faster by HTTP/1.1; many at once would need as many connections.
#[tokio::test]
async fn a_few_lists_at_a_time_use_http1() {
    let server = Server::start(Speaks::Http2(100)).await;
    let client = from_config(server.config()).unwrap();
    let lists = join_all((0..20).map(|_| client.send(list()))).await;
    assert!(lists.iter().all(Result::is_ok));
    assert_eq!(connections(&server), (1, transport::LISTS));
    // A list counts until its body is dropped.
    drop(lists);
    let _one = client.send(list()).await.unwrap();
    assert_eq!(connections(&server), (1, transport::LISTS + 1));
}

/// A queue that is full makes its reflector stop reading; that must not stop the others.
#[tokio::test]
async fn responses_that_nobody_reads_do_not_stop_the_others() {
    let server = Server::start(Speaks::Http2(100)).await;
    let client = from_config(server.config()).unwrap();
    let mut unread = join_all((0..http2::STREAMS - 1).map(|_| request(&client, "/flood"))).await;
    let mut body = watch(&client).await;
    for _ in 0..20 {
        server.event("more");
        assert_eq!(next(&mut body).await, "more");
    }
    assert_eq!(connections(&server), (1, 0));
    // What has arrived meanwhile is at most one window each.
    let mut read = 0;
    while let Some(Some(frame)) = futures::FutureExt::now_or_never(unread[0].frame()) {
        read += frame.unwrap().into_data().unwrap().len();
    }
    assert!(read <= http2::STREAM_WINDOW as usize, "{read} bytes");
}

/// The server announces the end of a connection (GOAWAY): its watches end, and later ones get a new one.
#[tokio::test]
async fn after_a_goaway_requests_use_another_connection() {
    let server = Server::start(Speaks::Http2(100)).await;
    let client = from_config(server.config()).unwrap();
    let body = watch(&client).await;
    server.close();
    let rest = tokio::time::timeout(LONG, body.collect()).await;
    assert!(
        rest.expect("the watch ends")
            .expect("in order")
            .to_bytes()
            .is_empty()
    );
    for _ in 0..3 {
        let _body = watch(&client).await;
    }
    assert_eq!(connections(&server), (2, 0));
}

/// Accepts connections and closes them at once. Returns a configuration and the number of connections.
async fn closing_server() -> (kube::Config, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let accepted = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = accepted.clone();
    tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            counted.fetch_add(1, Relaxed);
        }
    });
    (kube::Config::new(url.parse().unwrap()), accepted)
}

/// Otherwise a hundred informers that wait for one dead server would try it one after the other.
#[tokio::test]
async fn requests_that_wait_for_the_same_connection_share_its_failure() {
    let (mut config, accepted) = closing_server().await;
    config.accept_invalid_certs = true;
    let client = from_config(config).unwrap();
    let send = || client.send(http::Request::get("/").body(Body::empty()).unwrap());
    let answers = join_all((0..50).map(|_| send())).await;
    assert!(answers.iter().all(Result::is_err));
    assert!(
        accepted.load(Relaxed) <= 2,
        "{} connections",
        accepted.load(Relaxed)
    );
}

#[tokio::test]
async fn a_failed_connection_is_named_by_host_and_protocol() {
    // Nothing listens on port 1.
    for (url, expected) in [
        ("https://127.0.0.1:1", "127.0.0.1:1 (HTTP/2): "),
        ("http://127.0.0.1:1", "127.0.0.1:1 (HTTP/1.1): "),
        ("https://me:hunter2@127.0.0.1:1", "127.0.0.1:1 (HTTP/2): "),
    ] {
        let mut config = kube::Config::new(url.parse().unwrap());
        config.accept_invalid_certs = true;
        let client = from_config(config).unwrap();
        let answer = client
            .send(http::Request::get("/").body(Body::empty()).unwrap())
            .await;
        let text = crate::source::describe_request(&answer.expect_err("nothing listens"));
        assert!(text.starts_with("cannot connect to the server: "), "{text}");
        assert!(text.contains(expected) && text.contains("refused"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}
