//! The quickstart: the demo cluster, a cluster over the network, and clusters that cannot be used.

use std::path::{Path, PathBuf};

use informer_testing::ApiServer;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
#[cfg(unix)]
use tokio::process::{Child, Command};

use super::programs::{KILL_AFTER, command, run, run_embedded, text};

const NAME: &str = "quickstart";

/// A kubeconfig file for this address.
fn kubeconfig(name: &str, address: &str) -> PathBuf {
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: test\n\
         clusters: [{{name: test, cluster: {{server: '{address}'}}}}]\n\
         contexts: [{{name: test, context: {{cluster: test, user: test}}}}]\n\
         users: [{{name: test, user: {{}}}}]\n"
    );
    write_kubeconfig(name, &text)
}

pub(crate) fn write_kubeconfig(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kubeconfig-{name}"));
    std::fs::write(&path, text).unwrap();
    path
}

/// A run that must fail with code 1 and print all of this.
async fn check_failure(kubeconfig: &Path, arguments: &str, parts: &[&str]) {
    let output = run(NAME, Some(kubeconfig), arguments).await;
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    for part in parts {
        assert!(errors.contains(part), "no {part:?} in:\n{errors}");
    }
}

/// A run on the embedded server without errors or warnings.
async fn check_embedded(arguments: &str) -> String {
    let (lines, errors) = run_embedded(NAME, arguments).await;
    assert_eq!(errors, "");
    lines
}

#[tokio::test]
async fn the_embedded_cluster_is_followed_for_a_time() {
    let lines = check_embedded("--embedded --for 2s").await;
    for part in [
        "In sync",
        "  added ",
        "namespace",
        "monitoring",
        "payments",
        "shop",
        "pods per node: node-1",
    ] {
        assert!(lines.contains(part), "no {part:?} in:\n{lines}");
    }
    assert!(lines.contains("19 initial"), "{lines}");
    assert!(lines.contains("the time is up"), "{lines}");
    assert!(lines.contains("requests  1 (lists: 0, watches: 1)"), "{lines}");
}

#[tokio::test]
async fn without_a_kubeconfig_the_embedded_cluster_is_used() {
    let lines = check_embedded("--for 1ms").await;
    assert!(lines.starts_with("No kubeconfig exists."), "{lines}");
    assert!(
        lines.contains("namespace") && lines.contains("19 initial"),
        "the initial state is shown in any case:\n{lines}"
    );
}

#[tokio::test]
async fn namespaces_limit_what_is_followed() {
    let lines = check_embedded("--embedded --for 1s --namespace shop --namespace payments").await;
    assert!(lines.contains("shop/") && lines.contains("16 initial"), "{lines}");
    assert!(!lines.contains("monitoring"), "{lines}");
}

#[tokio::test]
async fn a_selector_limits_what_is_shown_of_the_cache() {
    let lines = check_embedded("--embedded --for 1ms --selector app=ledger").await;
    assert!(lines.contains("19 initial"), "the cache has all pods:\n{lines}");
    let table = lines.split("The cache").nth(1).unwrap();
    assert!(table.contains("payments        2 "), "{lines}");
    assert!(!table.contains("monitoring"), "{lines}");
}

#[tokio::test]
async fn the_roles_of_the_program_are_printed_and_nothing_else() {
    let lines = check_embedded("--rbac").await;
    let expected = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: \
     \"informers\"\n\
                    rules:\n- apiGroups: [\"\"]\n  resources: [\"pods\"]\n  verbs: [\"list\", \"watch\"]\n";
    assert_eq!(lines, expected);
    let lines = check_embedded("--rbac --namespace shop").await;
    assert!(
        lines.contains("kind: Role\nmetadata:\n  name: \"informers\"\n  namespace: \"shop\"\n"),
        "{lines}"
    );
}

#[tokio::test]
async fn an_error_in_a_selector_is_pointed_at() {
    let output = run(NAME, None, "--selector app==/").await;
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("\n       ^"), "{errors}");
}

#[tokio::test]
async fn a_cluster_with_a_kubeconfig_is_followed_over_the_network() {
    let server = ApiServer::builder().start_http().await.unwrap();
    for name in ["front-0", "front-1", "front-2"] {
        let pod =
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "namespace": "web", "name": name } });
        server.create(&pod).unwrap();
    }
    let path = write_kubeconfig("cluster", &server.kubeconfig().unwrap());
    let output = run(NAME, Some(&path), "--for 1ms").await;
    let lines = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{lines}\n{}", text(&output.stderr));
    assert!(lines.contains(&server.url().unwrap()), "{lines}");
    assert!(lines.contains("3 initial"), "{lines}");
    assert!(
        !lines.contains("requests"),
        "only those to the embedded server are counted:\n{lines}"
    );
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.user_agent.starts_with("informers/"))
    );
    server.shutdown().await;
}

#[tokio::test]
async fn a_bad_kubeconfig_is_named() {
    let path = write_kubeconfig("bad", "clusters: [\n");
    let name = path.display().to_string();
    check_failure(&path, "", &[&name, "YAML", "--embedded"]).await;
}

#[tokio::test]
async fn a_refused_connection_names_the_address() {
    let address = refusing_address().await;
    let path = kubeconfig("refused", &address);
    check_failure(&path, "--timeout 2s", &[&address, "refused", "--embedded"]).await;
}

#[tokio::test]
async fn a_forbidden_list_names_the_missing_rights() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let path = kubeconfig("forbidden", &format!("http://{}", listener.local_addr().unwrap()));
    let server = tokio::spawn(refuse_everything(listener));
    let parts = [
        "cannot list resource \"pods\"",
        "the verbs \"list\" and \"watch\"",
        "--embedded",
    ];
    check_failure(&path, "--timeout 2s", &parts).await;
    server.abort();
}

/// The address of a port that was bound and released, which refuses connections.
async fn refusing_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// Answers every request with 403.
async fn refuse_everything(listener: TcpListener) {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
        "message": "pods is forbidden: User \"jane\" cannot list resource \"pods\"",
    })
    .to_string();
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        // On loopback, a request without a body is read in one piece. A connection that was closed needs no
        // answer.
        let _read = stream.read(&mut request).await;
        let answer = format!(
            "HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\nconnection: close\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let _written = stream.write_all(answer.as_bytes()).await;
    }
}

#[tokio::test]
async fn the_debug_page_is_served_on_request() {
    let mut child = command(NAME, None, "--embedded --debug-port 0").spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let answer = async {
        let address = loop {
            let line = lines.next_line().await.unwrap().expect("it names the page");
            if let Some(address) = line.strip_prefix("The debug page is http://") {
                break address.trim_end_matches('/').to_owned();
            }
        };
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let request = format!("GET /informers.json HTTP/1.1\r\nHost: {address}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    let answer = tokio::time::timeout(KILL_AFTER, answer)
        .await
        .expect("the program hangs");
    assert!(answer.contains("\"id\": \"pods\""), "{answer}");
    child.kill().await.unwrap();
}

#[tokio::test]
async fn a_wrong_option_says_what_to_write() {
    let output = run(NAME, None, "--for ten").await;
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--for 10s"));
}

#[tokio::test]
async fn a_reader_that_closes_the_pipe_ends_the_run() {
    let mut child = command(NAME, None, "--embedded").spawn().unwrap();
    drop(child.stdout.take());
    let output = tokio::time::timeout(KILL_AFTER, child.wait_with_output()).await;
    let output = output.expect("the program hangs").unwrap();
    assert_eq!(
        (output.status.code(), text(&output.stderr)),
        (Some(0), String::new())
    );
}

#[tokio::test]
async fn logs_go_to_the_error_output() {
    let output = command(NAME, None, "--embedded --for 1ms")
        .env("RUST_LOG", "informer_core=debug")
        .output();
    let output = tokio::time::timeout(KILL_AFTER, output).await;
    let output = output.expect("the program hangs").unwrap();
    let (lines, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(errors.contains("informer_core"), "no log lines:\n{errors}");
    assert!(!lines.contains("informer_core"), "{lines}");
}

/// Sends the signal of Ctrl-C.
#[cfg(unix)]
async fn interrupt(child: &Child) {
    let kill = Command::new("kill")
        .args(["-INT", &child.id().unwrap().to_string()])
        .status();
    assert!(kill.await.unwrap().success());
}

#[cfg(unix)]
#[tokio::test]
async fn ctrl_c_ends_a_wait_for_an_unreachable_server() {
    let path = kubeconfig("unreachable", &refusing_address().await);
    let mut child = command(NAME, Some(&path), "").spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let greeting = lines.next_line().await.unwrap().unwrap_or_default();
    assert!(greeting.starts_with("Using http://127.0.0.1:"), "{greeting}");
    interrupt(&child).await;
    while lines.next_line().await.unwrap().is_some() {}
    let status = tokio::time::timeout(KILL_AFTER, child.wait()).await;
    assert_eq!(status.expect("the program hangs").unwrap().code(), Some(0));
}

#[cfg(unix)]
#[tokio::test]
async fn ctrl_c_ends_the_run_with_a_summary() {
    let mut child = command(NAME, None, "--embedded").spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let ended = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains("The cache") {
                interrupt(&child).await;
            }
            if line.contains("Ctrl-C.") {
                return;
            }
        }
        panic!("ended without a summary");
    };
    tokio::time::timeout(KILL_AFTER, ended)
        .await
        .expect("the program hangs");
    // Read to the end: a closed pipe would end the program as well.
    while lines.next_line().await.unwrap().is_some() {}
    let status = tokio::time::timeout(KILL_AFTER, child.wait()).await;
    assert_eq!(status.expect("the program hangs").unwrap().code(), Some(0));
}
