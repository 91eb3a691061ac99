//! Connections that fail for want of trust or credentials: errors name the server and the file to correct.

use std::path::Path;

use rcgen::{CertificateParams, DnType, KeyPair};
use serde_json::{Value, json};

use super::tests::list_with;
use super::tls_server::{Server, Speaks, params};
use super::*;
use crate::source::Recovery;

/// Writes a kubeconfig and its certificate authority.
fn kubeconfig(folder: &Path, port: u16, authority: &str) -> PathBuf {
    kubeconfig_of(&json!({"token": "hunter2"}), folder, port, authority)
}

/// Writes a kubeconfig with these credentials, and its certificate authority.
fn kubeconfig_of(user: &Value, folder: &Path, port: u16, authority: &str) -> PathBuf {
    kubeconfig_for(&format!("127.0.0.1:{port}"), user, folder, authority)
}

/// The same for a server at any address.
fn kubeconfig_for(address: &str, user: &Value, folder: &Path, authority: &str) -> PathBuf {
    std::fs::write(folder.join("ca.crt"), authority).unwrap();
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "prod",
        "contexts": [{"name": "prod", "context": {"cluster": "east", "user": "me"}}],
        "users": [{"name": "me", "user": user}],
        "clusters": [{"name": "east", "cluster": {
            "server": format!("https://{address}"), "certificate-authority": "ca.crt",
        }}],
    });
    let path = folder.join("config");
    std::fs::write(&path, config.to_string()).unwrap();
    path
}

/// A certificate that signs itself, as PEM.
fn authority(params: CertificateParams) -> String {
    params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
}

/// The client of a kubeconfig.
async fn client_of(path: &Path) -> Result<kube::Client, ClientError> {
    let files = Files::Named(vec![path.to_owned()]);
    let config = files.load().await.unwrap();
    build(config, ClientOptions::default(), Some(&files.to_string()))
}

/// Lists with the client of a kubeconfig, and checks that the error names the server, and this as well.
async fn check(port: u16, path: &Path, expected: &str) {
    check_at(
        &format!("127.0.0.1:{port}"),
        Recovery::NeedsAction,
        path,
        expected,
    )
    .await;
}

async fn check_at(address: &str, recovery: Recovery, path: &Path, expected: &str) {
    let client = client_of(path).await.unwrap();
    let error = list_with(client).await.err().expect("it fails");
    assert_eq!(error.recovery(), recovery, "{error}");
    let text = error.to_string();
    let expected = expected.replace("PATH", &path.display().to_string());
    assert!(text.contains(&expected), "no {expected:?} in {text}");
    assert!(text.contains(address), "{text}");
}

#[tokio::test]
async fn the_certificate_authority_of_another_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let mut other_name = params();
    other_name.distinguished_name.push(DnType::CommonName, "another");
    // The authorities of most clusters have the same name, and then the signature is what differs.
    for authority in [authority(params()), authority(other_name)] {
        for speaks in [Speaks::Http1, Speaks::Http2(100)] {
            let server = Server::start(speaks).await;
            let path = kubeconfig(folder.path(), server.port, &authority);
            let expected = "is not signed by the certificate authority of kubeconfig PATH; correct it";
            check(server.port, &path, expected).await;
        }
    }
}

#[tokio::test]
async fn a_certificate_of_the_server_that_has_expired() {
    let folder = tempfile::tempdir().unwrap();
    let mut expired = params();
    expired.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let server = Server::start_with(Speaks::Http1, expired).await;
    let path = kubeconfig(folder.path(), server.port, &server.pem());
    let expected = "the server's certificate has expired; renew it, or correct the clock";
    check(server.port, &path, expected).await;
}

#[tokio::test]
async fn a_certificate_of_the_server_for_another_name() {
    let folder = tempfile::tempdir().unwrap();
    let other = CertificateParams::new(["east.example.com".to_owned()]).unwrap();
    let server = Server::start_with(Speaks::Http2(100), other).await;
    let path = kubeconfig(folder.path(), server.port, &server.pem());
    let expected = "is for another name; correct `server` or `tls-server-name` of kubeconfig PATH";
    check(server.port, &path, expected).await;
}

#[tokio::test]
async fn a_server_that_requires_another_client_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_for_clients_of(&authority(params())).await;
    let path = kubeconfig(folder.path(), server.port, &server.pem());
    let expected = "the server refused the TLS handshake; check the client certificate of kubeconfig PATH";
    check(server.port, &path, expected).await;
}

#[tokio::test]
async fn a_server_without_tls() {
    let folder = tempfile::tempdir().unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            // It answers after the request has begun, as an HTTP server does that cannot parse it.
            let _ = tokio::io::AsyncReadExt::read(&mut socket, &mut [0; 64]).await;
            let answer = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n";
            let _ = tokio::io::AsyncWriteExt::write_all(&mut socket, answer).await;
        }
    });
    let path = kubeconfig(folder.path(), port, &authority(params()));
    let expected =
        "the server does not speak TLS; correct the scheme or the port of `server` of kubeconfig PATH";
    check(port, &path, expected).await;
    serving.abort();
}

/// No resolver knows names below `invalid`; one that cannot be reached fails as well.
#[tokio::test]
async fn a_name_that_does_not_resolve() {
    let folder = tempfile::tempdir().unwrap();
    let address = "east.example.invalid:6443";
    let user = json!({"token": "hunter2"});
    let path = kubeconfig_for(address, &user, folder.path(), &authority(params()));
    let expected = "the name does not resolve; correct `server` of kubeconfig PATH, or the DNS";
    check_at(address, Recovery::Unreachable, &path, expected).await;
}

/// The token is rotated while the program runs, and the file is written late.
#[tokio::test]
async fn a_token_file_is_read_again_when_the_server_refuses_its_token() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(Speaks::Http2(100)).await;
    let token = folder.path().join("token");
    std::fs::write(&token, "hunter2-old\n").unwrap();
    // A kubeconfig may name it relative to itself.
    let path = kubeconfig_of(
        &json!({"tokenFile": "token"}),
        folder.path(),
        server.port,
        &server.pem(),
    );
    let client = client_of(&path).await.unwrap();
    server.accept_only("hunter2-old");
    assert!(list_with(client.clone()).await.is_ok());

    server.accept_only("hunter2-new");
    let error = list_with(client.clone()).await.err().expect("it has expired");
    assert_eq!(error.recovery(), Recovery::NeedsAction, "{error}");
    let expected = format!(
        "the server answered 401 Unauthorized: Unauthorized; the token or client certificate of the token \
         file {} for https://127.0.0.1:{} is missing, has expired or was revoked; renew it",
        token.display(),
        server.port,
    );
    assert_eq!(error.to_string(), expected);

    std::fs::write(&token, "hunter2-new").unwrap();
    assert!(list_with(client.clone()).await.is_ok());
    // Some programs get the file only at their start.
    std::fs::remove_file(&token).unwrap();
    assert!(list_with(client.clone()).await.is_ok());
    server.accept_only("hunter2-newest");
    assert!(list_with(client.clone()).await.is_err());
    std::fs::write(&token, "hunter2-newest").unwrap();
    assert!(list_with(client).await.is_ok());
}

#[tokio::test]
async fn a_token_file_that_cannot_be_used_is_named_without_its_contents() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(Speaks::Http1).await;
    let token = folder.path().join("token");
    let path = kubeconfig_of(
        &json!({"tokenFile": token}),
        folder.path(),
        server.port,
        &server.pem(),
    );
    let contents = [
        (None, "No such file"),
        (Some(" \n"), "it is empty"),
        (Some("hunter2\0"), "invalid in a header"),
    ];
    for (content, expected) in contents {
        if let Some(content) = content {
            std::fs::write(&token, content).unwrap();
        }
        let error = client_of(&path).await.err().expect("it has no token").to_string();
        let file = format!("cannot use the token file {}: ", token.display());
        assert!(error.contains(&file) && error.contains(expected), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

/// A plugin that cannot be started is an error of the client, before any request.
#[tokio::test]
async fn a_missing_plugin_is_named_with_its_kubeconfig_and_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(Speaks::Http1).await;
    let plugin = json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "no-such-plugin",
        "interactiveMode": "Never",
    }});
    let path = kubeconfig_of(&plugin, folder.path(), server.port, &server.pem());
    let error = client_of(&path)
        .await
        .err()
        .expect("it does not exist")
        .to_string();
    let expected = format!(
        "the credential plugin \"no-such-plugin\" was not found; install it, or add its directory to PATH \
         (configured by kubeconfig {}, for https://127.0.0.1:{})",
        path.display(),
        server.port,
    );
    assert!(error.ends_with(&expected), "{error}");
}
