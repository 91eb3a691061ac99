//! Tests of the client over a real socket, and of its errors.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;

use super::*;
use crate::scope::Scope;
use crate::source::{
    KubeSource, KubeSourceOptions, ListEvent, ListFrom, ListRequest, ListStream, ListWatch, SourceError,
};

/// Responds to the first request of every connection and sends the head of the request to the receiver.
fn serve(answer: Vec<u8>) -> (kube::Config, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, heads) = mpsc::channel();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap() > 0 {
                head.push(byte[0]);
            }
            // Sent before the response, so that a client with a response always finds the head.
            let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
            if sender.send(head).is_err() {
                return;
            }
            socket.write_all(&answer).unwrap();
        }
    });
    (kube::Config::new(url.parse().unwrap()), heads)
}

fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    [
        format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n").as_bytes(),
        body,
    ]
    .concat()
}

pub(super) async fn list(config: kube::Config) -> Result<ListStream<ConfigMap>, SourceError> {
    list_with(from_config(config).unwrap()).await
}

pub(super) async fn list_with(client: kube::Client) -> Result<ListStream<ConfigMap>, SourceError> {
    let source = KubeSource::new(client, Scope::All, KubeSourceOptions::default()).unwrap();
    source
        .list(ListRequest {
            from: ListFrom::MostRecent,
            limit: None,
            continue_token: None,
            answer_within: None,
        })
        .await
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn the_client_sends_a_user_agent_and_reads_compressed_responses() {
    let members = [
        gzip(br#"{"metadata":{"resourceVersion":"5"},"items":["#),
        gzip(br#"{"metadata":{"name":"a"}}]}"#),
    ];
    let (config, heads) = serve(answer("200 OK\r\ncontent-encoding: gzip", &members.concat()));
    let events: Vec<_> = list(config).await.unwrap().collect().await;
    assert!(
        matches!(events[..], [Ok(ListEvent::Metadata(_)), Ok(ListEvent::Item(_))]),
        "{events:?}"
    );
    let head = heads.recv().unwrap();
    assert!(head.contains("accept-encoding: gzip\r\n"), "{head}");
    assert!(
        head.contains(concat!(
            "user-agent: informers/",
            env!("CARGO_PKG_VERSION"),
            "\r\n"
        )),
        "{head}"
    );
}

#[tokio::test]
async fn the_client_does_not_hide_errors_with_retries() {
    for code in [
        "429 Too Many Requests",
        "503 Service Unavailable",
        "504 Gateway Timeout",
    ] {
        let (config, heads) = serve(answer(code, b""));
        let error = list(config).await.err().expect("it fails");
        assert_eq!(
            error.status().map(|status| status.code.to_string()).as_deref(),
            code.get(..3)
        );
        assert_eq!(heads.try_iter().count(), 1, "{code}");
    }
}

#[tokio::test]
async fn the_configuration_can_disable_compression() {
    let (mut config, heads) = serve(answer("404 Not Found", b""));
    config.disable_compression = true;
    assert!(list(config).await.err().expect("it fails").is_not_found());
    let head = heads.recv().unwrap();
    assert!(head.contains("accept-encoding: identity\r\n"), "{head}");
}

#[tokio::test]
async fn a_configured_user_agent_is_kept() {
    let (mut config, heads) = serve(answer("404 Not Found", b""));
    config
        .headers
        .push((USER_AGENT, HeaderValue::from_static("mine/1")));
    assert!(list(config).await.err().expect("it fails").is_not_found());
    let head = heads.recv().unwrap();
    assert!(
        head.contains("user-agent: mine/1\r\n") && !head.contains("informers/"),
        "{head}"
    );
}

/// A service that is never ready, as one with a concurrency limit can be.
struct Busy;

impl Service<http::Request<()>> for Busy {
    type Response = ();
    type Error = ();
    type Future = std::future::Ready<Result<(), ()>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
        Poll::Pending
    }

    fn call(&mut self, _: http::Request<()>) -> Self::Future {
        panic!("called before it was ready")
    }
}

#[test]
fn the_compression_layer_waits_for_the_service_below_it() {
    let mut service = layer().layer(Busy);
    assert!(
        service
            .poll_ready(&mut Context::from_waker(std::task::Waker::noop()))
            .is_pending()
    );
}

/// A configuration with one inline token.
fn with_token(token: &str) -> kube::Config {
    let mut config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    config.auth_info.token = Some(token.to_owned().into());
    config
}

#[tokio::test]
async fn an_invalid_token_is_an_error_and_not_a_panic() {
    for token in ["hunter2\n", "hun\nter2", "hunter2\0"] {
        let error = from_config(with_token(token))
            .err()
            .expect("the token is invalid");
        assert!(matches!(error, ClientError::Build { .. }), "{error:?}");
        let text = format!("{error} {error:?}");
        assert!(
            text.contains("the token of the user") && !text.contains("hunter2"),
            "{text}"
        );
    }
    assert!(from_config(with_token("hunter2")).is_ok());
}

/// kube panics on the first request to such a URL.
#[tokio::test]
async fn a_url_without_scheme_or_host_is_an_error_and_not_a_panic() {
    for url in ["localhost:6443", "/api", "ftp://localhost"] {
        let error = from_config(kube::Config::new(url.parse().unwrap()))
            .err()
            .expect("the URL is invalid");
        assert!(error.to_string().contains(url), "{error}");
    }
}

/// A configuration that runs a credential plugin.
fn with_plugin(command: &str, arguments: &[&str]) -> kube::Config {
    let mut config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    config.auth_info.exec = Some(kube::config::ExecConfig {
        api_version: Some("client.authentication.k8s.io/v1".to_owned()),
        command: Some(command.to_owned()),
        args: Some(arguments.iter().map(|&argument| argument.to_owned()).collect()),
        env: Some(vec![
            [("name", "SECRET"), ("value", "hunter2")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
        ]),
        drop_env: None,
        install_hint: None,
        interactive_mode: Some(kube::config::ExecInteractiveMode::Never),
        provide_cluster_info: false,
        cluster: None,
        other: Default::default(),
    });
    config
}

#[cfg(unix)]
#[tokio::test]
async fn a_credential_plugin_is_named_without_arguments_and_environment() {
    for (command, arguments, expected) in [
        (
            "no-such-plugin",
            &["hunter2"][..],
            "\"no-such-plugin\" was not found",
        ),
        ("/nowhere/plugin", &[], "\"/nowhere/plugin\" was not found"),
        (
            "no-such-plugin --token hunter2",
            &[],
            "\"no-such-plugin\" was not found",
        ),
        (
            "/dev/null",
            &["hunter2"],
            "cannot start the credential plugin \"/dev/null\"",
        ),
        ("false", &["hunter2"], "\"false\" failed with exit status: 1"),
        (
            "echo",
            &["hunter2"],
            "cannot parse the output of the credential plugin \"echo\"",
        ),
        (
            "printf",
            &[r#"{"status":{"token":"hunter2\\nx"}}"#],
            "the token of the credential plugin contains a line break",
        ),
    ] {
        let error = from_config(with_plugin(command, arguments))
            .err()
            .expect("it fails");
        let text = format!("{error} {error:?}");
        assert!(
            text.contains(expected) || error.to_string().contains(expected),
            "{text}"
        );
        assert!(!text.contains("hunter2"), "{text}");
    }
}

/// Without its end, the client would be used with an expired certificate.
#[cfg(all(unix, feature = "rustls-tls"))]
#[tokio::test]
async fn the_validity_of_a_certificate_of_a_plugin_is_kept() {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["me".to_owned()]).unwrap();
    for (expiration, is_limited) in [(Some("2999-01-01T00:00:00Z"), true), (None, false)] {
        let credential = serde_json::json!({
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": {
                "clientCertificateData": cert.pem(),
                "clientKeyData": signing_key.serialize_pem(),
                "expirationTimestamp": expiration,
            },
        });
        let client = from_config(with_plugin("printf", &["%s", &credential.to_string()])).unwrap();
        assert_eq!(client.valid_until().is_some(), is_limited);
    }
}

/// The plugin works when the client is created, and fails when the token is refreshed.
#[cfg(unix)]
#[tokio::test]
async fn a_plugin_that_fails_during_a_request_is_named_without_its_output() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("plugin");
    let text = r#"if mkdir "$0.ran"; then
    echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",'
    echo '"status":{"token":"hunter2","expirationTimestamp":"2020-01-01T00:00:00Z"}}'
else
    echo hunter2; echo hunter2 >&2; exit 3
fi"#;
    std::fs::write(&script, text).unwrap();
    let error = list(with_plugin("sh", &[script.to_str().unwrap()])).await;
    let error = error.err().expect("no token can be requested");
    assert_eq!(error.recovery(), crate::source::Recovery::NeedsAction, "{error}");
    let text = format!("{error} {error:?}");
    let expected = "no credentials: the credential plugin \"sh\" failed with exit status: 3";
    assert!(error.to_string().contains(expected), "{text}");
    assert!(
        !text.contains("hunter2") && !text.contains("plugin.ran"),
        "{text}"
    );
}

/// The URL of a proxy may contain a password.
#[tokio::test]
async fn an_unsupported_proxy_is_an_error_without_its_url() {
    let mut config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    config.proxy_url = Some("ftp://me:hunter2@proxy".parse().unwrap());
    let error = from_config(config)
        .err()
        .expect("it is not supported")
        .to_string();
    assert!(error.contains("ftp") && !error.contains("hunter2"), "{error}");
}

/// Writes files and returns the error of loading them, as if `KUBECONFIG` named them.
async fn load(contents: &[Option<&str>]) -> (ClientError, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (number, content) in contents.iter().enumerate() {
        let path = folder.path().join(format!("config-{number}"));
        if let Some(content) = content {
            std::fs::write(&path, content).unwrap();
        }
        paths.push(path);
    }
    let error = Files::Named(paths.clone())
        .load()
        .await
        .expect_err("they are invalid");
    let paths = paths.iter().map(|path| path.display().to_string()).collect();
    (error, paths)
}

const VALID: &str = r#"{"current-context":"prod",
    "contexts":[{"name":"prod","context":{"cluster":"east","user":"me"}}],
    "users":[{"name":"me","user":{"token":"hunter2"}}]}"#;

async fn check(contents: &[Option<&str>], blamed: &[usize], expected: &str) {
    let (error, paths) = load(contents).await;
    let text = error.to_string();
    for (number, path) in paths.iter().enumerate() {
        assert_eq!(
            text.contains(path.as_str()),
            blamed.contains(&number),
            "{number}: {text}"
        );
    }
    assert!(text.contains(expected), "{text}");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{text}");
}

#[tokio::test]
async fn errors_name_the_invalid_kubeconfig() {
    check(&[None], &[0], "it does not exist; correct KUBECONFIG").await;
    check(&[Some(VALID), None], &[1], "it does not exist").await;
    check(&[Some(VALID), Some("users: hunter2")], &[1], "not valid YAML").await;
    let invalid = "users:\n- name: me\n  user:\n    token: [hunter2\n";
    check(&[Some(invalid)], &[0], "not valid YAML").await;
    check(&[Some("{}"), Some("{}")], &[0, 1], "kubectl config use-context").await;
    let elsewhere = r#"{"current-context":"test"}"#;
    check(
        &[Some(elsewhere), Some(VALID)],
        &[0, 1],
        "its current context \"test\" is not defined",
    )
    .await;
    check(
        &[Some(VALID)],
        &[0],
        "its context \"prod\" names the cluster \"east\", which is not defined",
    )
    .await;
    let nowhere = r#"{"clusters":[{"name":"east","cluster":{}}]}"#;
    check(
        &[Some(VALID), Some(nowhere)],
        &[0, 1],
        "the cluster of its context \"prod\" has no `server`",
    )
    .await;
}

#[tokio::test]
async fn several_kubeconfigs_are_merged() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [folder.path().join("one"), folder.path().join("two")];
    std::fs::write(&paths[0], VALID).unwrap();
    let cluster = r#"{"clusters":[{"name":"east","cluster":{"server":"https://east.example:6443"}}]}"#;
    std::fs::write(&paths[1], cluster).unwrap();
    let config = Files::Named(paths.to_vec()).load().await.unwrap();
    assert_eq!(config.cluster_url.host(), Some("east.example"));
}

#[tokio::test]
async fn without_a_kubeconfig_the_error_says_how_to_set_one() {
    let folder = tempfile::tempdir().unwrap();
    for files in [Files::Nowhere, Files::Default(folder.path().join("config"))] {
        let error = files.load().await.expect_err("no kubeconfig exists");
        assert_eq!(error, ClientError::NoConfiguration);
        assert!(error.to_string().contains("set KUBECONFIG"), "{error}");
    }
}

#[test]
fn the_environment_precedes_the_home_directory() {
    let home = || Some(PathBuf::from("/me"));
    let default = Files::Default("/me/.kube/config".into());
    let joined = std::env::join_paths(["/a", "", "/b"]).unwrap();
    assert_eq!(
        Files::of(Some(joined), home()),
        Files::Named(vec!["/a".into(), "/b".into()])
    );
    assert_eq!(Files::of(Some("".into()), home()), default);
    assert_eq!(Files::of(None, home()), default);
    assert_eq!(Files::of(None, None), Files::Nowhere);
}

/// Returns the keep-alive timer of the connection to `port` in seconds, as printed by the kernel.
#[cfg(target_os = "linux")]
pub(super) fn keepalive_timer(port: u16) -> Option<u64> {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let row = table.lines().find(|line| {
        let columns: Vec<_> = line.split_whitespace().collect();
        columns[2].ends_with(&format!(":{port:04X}")) && columns[3] == "01"
    })?;
    let (kind, ticks) = row.split_whitespace().nth(5)?.split_once(':')?;
    (kind == "02").then(|| u64::from_str_radix(ticks, 16).unwrap() / 100)
}

#[tokio::test]
async fn connections_send_small_requests_without_delay() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url: http::Uri = format!("http://{}", listener.local_addr().unwrap())
        .parse()
        .unwrap();
    let connection = tower::ServiceExt::oneshot(connect::http_connector(), url)
        .await
        .unwrap();
    assert!(connection.inner().nodelay().unwrap());
}

/// An open and silent watch, the state in which a half-open connection goes unnoticed without keep-alive.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_silent_watch_has_a_keepalive_timer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (done, wait) = mpsc::channel::<()>();
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap() > 0 {
            head.push(byte[0]);
        }
        let answer = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        socket.write_all(answer).unwrap();
        let _ = wait.recv();
    });
    let config = kube::Config::new(format!("http://127.0.0.1:{port}").parse().unwrap());
    let stream = list(config).await.unwrap();
    let timer = keepalive_timer(port).expect("the connection has a keep-alive timer");
    assert!(timer <= connect::KEEPALIVE_TIME.as_secs(), "{timer} s");
    drop(stream);
    drop(done);
    server.join().unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_dead_peer_is_detected_within_45_seconds() {
    use rustix::net::sockopt;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url: http::Uri = format!("http://{}", listener.local_addr().unwrap())
        .parse()
        .unwrap();
    let connection = tower::ServiceExt::oneshot(connect::http_connector(), url)
        .await
        .unwrap();
    let socket = connection.inner();
    assert!(sockopt::socket_keepalive(socket).unwrap());
    let idle = sockopt::tcp_keepidle(socket).unwrap();
    let probes = sockopt::tcp_keepintvl(socket).unwrap() * sockopt::tcp_keepcnt(socket).unwrap();
    assert_eq!((idle + probes).as_secs(), 45);
    assert_eq!(sockopt::tcp_user_timeout(socket).unwrap(), 45_000);
}

/// A file that exists and cannot be read is not reported as missing.
#[tokio::test]
async fn a_kubeconfig_that_cannot_be_read_is_not_reported_as_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_path_buf();
    for files in [Files::Named(vec![path.clone()]), Files::Default(path.clone())] {
        let error = files.load().await.expect_err("a folder cannot be read");
        let ClientError::Kubeconfig { paths, why } = &error else {
            panic!("{error}");
        };
        assert_eq!(paths.as_slice(), std::slice::from_ref(&path));
        assert!(!why.contains("does not exist"), "{why}");
    }
}
