//! The way that each configuration leads to, and connections through proxies.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread::JoinHandle;

use super::*;
use crate::client::tests::list;

fn config(cluster: &str, proxy: Option<&str>) -> kube::Config {
    let mut config = kube::Config::new(cluster.parse().unwrap());
    config.proxy_url = proxy.map(|url| url.parse().unwrap());
    config
}

fn check(cluster: &str, proxy: Option<&str>, expected: &str) {
    let route = match Route::of(&config(cluster, proxy)) {
        Route::Direct => "direct".to_owned(),
        Route::Http(proxy) => format!("http {} {:?}", proxy.uri(), proxy.basic_auth()),
        #[cfg(feature = "rustls-tls")]
        Route::Https(proxy) => format!("https {} {:?}", proxy.uri(), proxy.basic_auth()),
        Route::Socks5(proxy) => format!("socks {} {:?}", proxy.uri(), proxy.raw_auth()),
        Route::Kube => "kube".to_owned(),
    };
    assert_eq!(route, expected, "{cluster} {proxy:?}");
}

#[test]
fn every_supported_proxy_is_connected_to_by_our_sockets() {
    check("http://east", None, "direct");
    check("http://east", Some("http://p:3128"), "http http://p:3128/ None");
    check(
        "http://east",
        Some("socks5://p:1080"),
        "socks socks5://p:1080/ None",
    );
    let user = Some("socks5://me:pa%40ss@p:1080");
    check(
        "http://east",
        user,
        r#"socks socks5://p:1080/ Some(("me", "pa@ss"))"#,
    );
    check("http://east", Some("ftp://p"), "kube");
    check("http://east", Some("p:3128"), "kube");
}

#[test]
fn tls_is_ours_only_with_rustls() {
    let (direct, http, https) = if cfg!(feature = "rustls-tls") {
        ("direct", "http http://p:3128/ None", "https https://p:3129/ None")
    } else {
        ("kube", "kube", "kube")
    };
    check("https://east", None, direct);
    check("https://east", Some("http://p:3128"), http);
    check("http://east", Some("https://p:3129"), https);
}

#[test]
fn no_proxy_exempts_from_the_proxy_of_the_environment_only() {
    let check = |cluster: &str, proxy: &str, exempt: &str, expected: Option<&str>| {
        let mut config = config(cluster, Some(proxy));
        apply_exemptions(&mut config, |name| match name {
            "https_proxy" => Some("http://p:3128".to_owned()),
            "NO_PROXY" => Some(exempt.to_owned()),
            _ => None,
        });
        let left = config.proxy_url.map(|url| url.to_string());
        assert_eq!(left.as_deref(), expected, "{cluster} {proxy} {exempt}");
    };
    let kept = Some("http://p:3128/");
    check("https://east.example:6443", "http://p:3128", "", kept);
    check("https://east.example:6443", "http://p:3128", "west.example", kept);
    check("https://east.example:6443", "http://p:3128", ".example", None);
    check("https://10.1.2.3", "http://p:3128", "localhost,10.0.0.0/8", None);
    let of_kubeconfig = "http://other:3128";
    check(
        "https://10.1.2.3",
        of_kubeconfig,
        "10.0.0.0/8",
        Some("http://other:3128/"),
    );
}

/// A proxy that accepts one connection, lets `greet` answer its handshake, and then responds to one request
/// as the cluster with a stream that never ends. Returns its port, what it received, and its thread, which
/// ends when the sender is dropped.
fn serve(
    greet: impl FnOnce(&mut TcpStream) -> String + Send + 'static,
) -> (u16, mpsc::Sender<()>, JoinHandle<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (done, wait) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let greeting = greet(&mut socket);
        let request = head(&mut socket);
        let answer = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        socket.write_all(answer).unwrap();
        let _ = wait.recv();
        (greeting, request)
    });
    (port, done, thread)
}

fn head(socket: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap() > 0 {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap().to_ascii_lowercase()
}

fn http_greeting(socket: &mut TcpStream) -> String {
    let greeting = head(socket);
    socket
        .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
        .unwrap();
    greeting
}

/// Accepts a user name and password, and returns them with the host.
fn socks_greeting(socket: &mut TcpStream) -> String {
    let mut version_and_methods = [0; 2];
    socket.read_exact(&mut version_and_methods).unwrap();
    take(socket, version_and_methods[1]);
    socket.write_all(&[5, 2]).unwrap();
    take(socket, 1);
    let user = text(socket);
    let password = text(socket);
    socket.write_all(&[1, 0]).unwrap();
    let host = match take(socket, 4)[3] {
        1 => format!("{:?}", take(socket, 4)),
        _ => text(socket),
    };
    take(socket, 2);
    socket.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
    format!("{user} {password} {host}")
}

fn take(socket: &mut TcpStream, bytes: u8) -> Vec<u8> {
    let mut taken = vec![0; usize::from(bytes)];
    socket.read_exact(&mut taken).unwrap();
    taken
}

/// A text after its length.
fn text(socket: &mut TcpStream) -> String {
    let length = take(socket, 1)[0];
    String::from_utf8(take(socket, length)).unwrap()
}

/// Lists through a proxy, checks the socket while the stream is silent, and returns what the proxy received.
async fn list_through(
    scheme: &str,
    greet: impl FnOnce(&mut TcpStream) -> String + Send + 'static,
) -> (String, String) {
    let (port, done, proxy) = serve(greet);
    let url = format!("{scheme}://me:pa%40ss@127.0.0.1:{port}");
    let stream = list(config("http://east.example:8080", Some(&url)))
        .await
        .unwrap();
    #[cfg(target_os = "linux")]
    {
        let timer = crate::client::tests::keepalive_timer(port);
        let timer = timer.expect("the connection to the proxy has a keep-alive timer");
        assert!(
            timer <= crate::client::connect::KEEPALIVE_TIME.as_secs(),
            "{timer} s"
        );
    }
    drop((stream, done));
    proxy.join().unwrap()
}

#[tokio::test]
async fn the_connection_to_an_http_proxy_has_keepalive() {
    let (greeting, request) = list_through("http", http_greeting).await;
    assert!(greeting.starts_with("connect east.example:8080 "), "{greeting}");
    // me:pa@ss in Base64, in lower case as the rest of the head.
    let expected = format!(
        "proxy-authorization: basic {}",
        "bWU6cGFAc3M=".to_ascii_lowercase()
    );
    assert!(greeting.contains(&expected), "{greeting}");
    assert!(request.starts_with("get /api/v1/configmaps"), "{request}");
    assert!(!request.contains("proxy-authorization"), "{request}");
}

#[tokio::test]
async fn the_connection_to_a_socks_proxy_has_keepalive() {
    let (greeting, request) = list_through("socks5", socks_greeting).await;
    assert_eq!(greeting, "me pa@ss east.example");
    assert!(request.starts_with("get /api/v1/configmaps"), "{request}");
}

#[cfg(feature = "rustls-tls")]
mod with_http2 {
    //! HTTP/2 through each kind of proxy: TLS is between the client and the cluster.

    use std::sync::atomic::Ordering;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};

    use super::*;
    use crate::client::tls_server::{Server, Speaks, tls};

    async fn check(server: &Server, config: kube::Config) {
        let client = crate::client::from_config(config).unwrap();
        let request = http::Request::get("/version")
            .body(kube::client::Body::empty())
            .unwrap();
        client.send(request).await.unwrap();
        assert_eq!(server.seen.http2_requests.load(Ordering::Relaxed), 1);
        assert_eq!(server.seen.http1_connections.load(Ordering::Relaxed), 0);
    }

    /// Accepts one connection, lets `greet` answer its handshake, and forwards it to `port`.
    fn forward(greet: fn(&mut TcpStream) -> String, port: u16) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let of_proxy = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            greet(&mut client);
            let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (mut to_client, mut from_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from_server, &mut to_client));
            let _ = std::io::copy(&mut client, &mut server);
        });
        of_proxy
    }

    #[tokio::test]
    async fn http2_works_through_http_and_socks_proxies() {
        for (scheme, greet) in [
            ("http", http_greeting as fn(&mut TcpStream) -> String),
            ("socks5", socks_greeting),
        ] {
            let server = Server::start(Speaks::Http2(100)).await;
            let proxy = forward(greet, server.port);
            let mut config = server.config();
            config.proxy_url = Some(format!("{scheme}://me:pass@127.0.0.1:{proxy}").parse().unwrap());
            check(&server, config).await;
        }
    }

    #[tokio::test]
    async fn http2_works_through_an_https_proxy() {
        let server = Server::start(Speaks::Http2(100)).await;
        let (certificate, acceptor) = tls(&[]);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut config = server.config();
        config.root_cert.as_mut().unwrap().push(certificate);
        let url = format!("https://{}", listener.local_addr().unwrap());
        config.proxy_url = Some(url.parse().unwrap());
        let port = server.port;
        tokio::spawn(async move {
            let (client, _) = listener.accept().await.unwrap();
            let mut client = acceptor.accept(client).await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(client.read_u8().await.unwrap());
            }
            client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            let mut server = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            let _ = copy_bidirectional(&mut client, &mut server).await;
        });
        check(&server, config).await;
    }
}
