//! Tests of the client over a real socket, and of what its errors say.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::config::Kubeconfig;

use super::*;
use crate::scope::Scope;
use crate::source::{
    KubeSource, KubeSourceOptions, ListEvent, ListFrom, ListRequest, ListStream, ListWatch, SourceError,
};

/// Answers every connection's first request and tells its head.
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
            // Told before it is answered, so that whoever has the answer finds the head told.
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

async fn list(config: kube::Config) -> Result<ListStream<ConfigMap>, SourceError> {
    let source = KubeSource::new(
        from_config(config).unwrap(),
        Scope::All,
        KubeSourceOptions::default(),
    )
    .unwrap();
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
async fn our_client_says_who_it_is_and_reads_compressed_answers() {
    let parts = [
        gzip(br#"{"metadata":{"resourceVersion":"5"},"items":["#),
        gzip(br#"{"metadata":{"name":"a"}}]}"#),
    ];
    let (config, heads) = serve(answer("200 OK\r\ncontent-encoding: gzip", &parts.concat()));
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
async fn our_client_hides_no_refusal_behind_retries() {
    for code in [
        "429 Too Many Requests",
        "503 Service Unavailable",
        "504 Gateway Timeout",
    ] {
        let (config, heads) = serve(answer(code, b""));
        let error = list(config).await.err().expect("it is refused");
        assert_eq!(
            error.status().map(|status| status.code.to_string()).as_deref(),
            code.get(..3)
        );
        assert_eq!(heads.try_iter().count(), 1, "{code}");
    }
}

#[tokio::test]
async fn compression_can_be_switched_off_in_the_configuration() {
    let (mut config, heads) = serve(answer("404 Not Found", b""));
    config.disable_compression = true;
    assert!(list(config).await.err().expect("it is refused").is_not_found());
    let head = heads.recv().unwrap();
    assert!(head.contains("accept-encoding: identity\r\n"), "{head}");
}

#[tokio::test]
async fn a_user_agent_of_the_users_own_stays() {
    let (mut config, heads) = serve(answer("404 Not Found", b""));
    config
        .headers
        .push((USER_AGENT, HeaderValue::from_static("mine/1")));
    assert!(list(config).await.err().expect("it is refused").is_not_found());
    let head = heads.recv().unwrap();
    assert!(
        head.contains("user-agent: mine/1\r\n") && !head.contains("informers/"),
        "{head}"
    );
}

fn check(error: KubeconfigError, expected: &str) {
    let text = of_kubeconfig(&error).to_string();
    assert!(text.contains(expected), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn errors_say_what_to_do() {
    let io =
        |kind: std::io::ErrorKind| KubeconfigError::ReadConfig(kind.into(), "/somewhere/.kube/config".into());
    check(KubeconfigError::FindPath, "set KUBECONFIG");
    check(io(std::io::ErrorKind::NotFound), "set KUBECONFIG");
    check(
        io(std::io::ErrorKind::PermissionDenied),
        "the kubeconfig /somewhere/.kube/config cannot be used: permission",
    );
    check(
        KubeconfigError::CurrentContextNotSet,
        "kubectl config use-context",
    );
    check(
        KubeconfigError::LoadContext("prod".to_owned()),
        "its current context \"prod\" is not in it",
    );
}

#[test]
fn a_broken_kubeconfig_is_not_quoted() {
    let error = Kubeconfig::from_yaml("users:\n- name: me\n  user:\n    token: [hunter2\n")
        .expect_err("it is broken");
    check(error, "not sound YAML");
    let error = Kubeconfig::from_yaml("users: hunter2").expect_err("it is broken");
    check(error, "not sound YAML");
}
