//! Connections that fail for want of trust or credentials: errors name the server and the file to correct.

use std::path::Path;

use rcgen::{CertificateParams, DnType, KeyPair};
use serde_json::json;

use super::tests::list_with;
use super::tls_server::{Server, Speaks, params};
use super::*;
use crate::source::Recovery;

/// Writes a kubeconfig and its certificate authority.
fn kubeconfig(folder: &Path, server: &Server, authority: &str) -> PathBuf {
    std::fs::write(folder.join("ca.crt"), authority).unwrap();
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "prod",
        "contexts": [{"name": "prod", "context": {"cluster": "east", "user": "me"}}],
        "users": [{"name": "me", "user": {"token": "hunter2"}}],
        "clusters": [{"name": "east", "cluster": {
            "server": format!("https://127.0.0.1:{}", server.port), "certificate-authority": "ca.crt",
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

/// Lists with the client of a kubeconfig, and checks that the error names the server, and this as well.
async fn check(server: &Server, path: &Path, expected: &str) {
    let files = Files::Named(vec![path.to_owned()]);
    let config = files.load().await.unwrap();
    let origin = Origin::new(&files.to_string());
    let client = build(config, ClientOptions::default(), Some(origin)).unwrap();
    let error = list_with(client).await.err().expect("it fails");
    assert_eq!(error.recovery(), Recovery::NeedsAction, "{error}");
    let text = error.to_string();
    let expected = expected.replace("PATH", &path.display().to_string());
    assert!(text.contains(&expected), "no {expected:?} in {text}");
    assert!(text.contains(&format!("127.0.0.1:{}", server.port)), "{text}");
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
            let path = kubeconfig(folder.path(), &server, &authority);
            let expected = "is not signed by the certificate authority of kubeconfig PATH; correct it";
            check(&server, &path, expected).await;
        }
    }
}

#[tokio::test]
async fn a_certificate_of_the_server_that_has_expired() {
    let folder = tempfile::tempdir().unwrap();
    let mut expired = params();
    expired.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let server = Server::start_with(Speaks::Http1, expired).await;
    let path = kubeconfig(folder.path(), &server, &server.pem());
    let expected = "the server's certificate has expired; renew it, or correct the clock";
    check(&server, &path, expected).await;
}
