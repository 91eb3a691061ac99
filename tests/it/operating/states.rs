//! Every state and error that docs/operating/states.md describes is reproduced here, with its text.

use std::time::Duration;

use informer_core::client;
use informer_core::{InitialState, SharedInformer, State};
use informer_testing::{ApiServer, Fault, Rule, Verb};
use informers::SharedInformerFactory;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::{ApiResource, DynamicObject};

use crate::support::{LONG, builder_of, informer_of, server_with, start};

const SECOND: Duration = Duration::from_secs(1);

const PAGE: &str = include_str!("../../../docs/operating/states.md");

/// Checks a text of the library, and that the page has it between backticks, with `..` for what varies.
fn check(text: &str, documented: &str) {
    assert!(
        PAGE.contains(&format!("`{documented}`")),
        "the page has no `{documented}`"
    );
    let mut rest = text;
    for (position, part) in documented.split("..").enumerate() {
        let found = rest.find(part);
        let is_there = found.is_some_and(|at| position > 0 || at == 0);
        assert!(is_there, "{text:?} is not {documented:?}");
        rest = &rest[found.unwrap_or_default() + part.len()..];
    }
}

fn check_state(informer: &SharedInformer<ConfigMap>, documented: &str) {
    check(&informer.status().state.to_string(), documented);
}

#[tokio::test(start_paused = true)]
async fn the_states_of_a_healthy_life() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    check_state(&informer, "not started");
    start(&informer).await;
    check_state(&informer, "live");
    informer.pause();
    tokio::time::sleep(SECOND).await;
    check_state(&informer, "paused");
    informer.shutdown().await;
    check_state(&informer, "stopped");
}

#[tokio::test(start_paused = true)]
async fn a_list_shows_its_progress() {
    let server = server_with(&["a"]);
    server.faults().add(Fault::Hang);
    let informer = informer_of(&server);
    informer.start().unwrap();
    tokio::time::sleep(SECOND).await;
    check_state(&informer, "listing, .. so far");
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_falls_silent() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    start(&informer).await;
    server.faults().add(Fault::HalfOpen { after: 0 });
    server.close_watches();
    // Longer than any watch may last.
    tokio::time::sleep(SECOND * 700).await;
    check_state(&informer, "stalled: nothing arrives from the server");
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_unavailable() {
    let server = server_with(&["a"]);
    server.faults().add(Fault::unavailable());
    let informer = informer_of(&server);
    informer.start().unwrap();
    tokio::time::sleep(SECOND * 10).await;
    check_state(&informer, "trying again in ..: the server answered 503 ..");
    server.faults().clear();
    server.faults().add(Fault::too_many_requests(7));
    tokio::time::sleep(SECOND * 120).await;
    check_state(&informer, "trying again in ..: the server answered 429 ..");
    server.faults().clear();
    server.faults().add(Fault::unauthorized());
    tokio::time::sleep(SECOND * 120).await;
    check_state(
        &informer,
        "trying again in ..: the server answered 401 ..; the token or client certificate is missing, has \
         expired \
         or was revoked; renew it",
    );
    server.faults().clear();
    server.faults().add(Fault::Hang);
    tokio::time::sleep(SECOND * 120).await;
    check_state(&informer, "trying again in ..: no answer within ..");
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_reached_its_limit() {
    let server = server_with(&["a", "b"]);
    let informer = builder_of::<ConfigMap>(server.client())
        .max_objects(1)
        .build()
        .unwrap();
    informer.start().unwrap();
    tokio::time::sleep(SECOND * 10).await;
    check_state(&informer, "over a limit, trying again slowly: ..");
    informer.shutdown().await;
}

/// The rows of the page's tables, without the header.
fn rows() -> impl Iterator<Item = &'static str> {
    let rows = PAGE
        .lines()
        .filter(|line| line.starts_with("| `") && !line.starts_with("| ``"));
    rows.flat_map(|row| row.split('`').skip(1).step_by(2))
}

/// A text on the page that no test checks may be wrong.
#[test]
fn every_text_of_the_page_is_checked_here() {
    // Without the line breaks and the pieces of long texts.
    let source = include_str!("states.rs")
        .replace("\\\n", "")
        .replace("\"#,\n", "")
        .replace("\",\n", "");
    let squeeze = |text: &str| text.replace("r#\"", "").split_whitespace().collect::<String>();
    let source = squeeze(&source);
    let texts = rows().filter(|text| text.contains(' ') || ["live", "paused", "stopped"].contains(text));
    // Examples of a text with numbers, and code.
    let texts = texts.filter(|text| !text.contains("1200 of 5000"));
    let missing: Vec<&str> = texts.filter(|text| !source.contains(&squeeze(text))).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

/// The file has a token, and the server does not accept it.
#[tokio::test]
async fn a_token_that_is_refused_is_named_with_its_file_and_server() {
    let mut server = server_with(&["a"]);
    let url = server.serve_http().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "hunter2\n").unwrap();
    let mut config = kube::Config::new(url.parse().unwrap());
    config.auth_info.token_file = Some(file.display().to_string());
    server.faults().add(Fault::unauthorized());
    let informer = SharedInformer::<ConfigMap>::builder(client::from_config(config).unwrap())
        .build()
        .unwrap();
    informer.start().unwrap();
    let mut changes = informer.status_changes();
    while !matches!(informer.status().state, State::BackingOff { .. }) {
        assert!(changes.changed().await);
    }
    check_state(
        &informer,
        "trying again in ..: the server answered 401 ..; the token or client certificate of the token file \
         .. for http://127.0.0.1.. is missing, has expired or was revoked; renew it",
    );
    let state = informer.status().state.to_string();
    assert!(
        state.contains(&file.display().to_string()) && state.contains(&url),
        "{state}"
    );
    assert!(!state.contains("hunter2"), "{state}");
    server.faults().clear();
    informer.synced_within(LONG).await.unwrap();
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_resource_names_verb_namespace_and_rule() {
    let server = ApiServer::start();
    server.faults().add(Fault::Forbidden);
    let factory = SharedInformerFactory::builder(server.client())
        .namespace("db")
        .kind::<ConfigMap>(|maps| maps.all_namespaces())
        .build()
        .unwrap();
    factory.informer_for::<Secret>();
    factory.informer_for::<ConfigMap>();
    factory.start();
    let error = factory.wait_for_sync().await.unwrap_err();
    let state = |place: usize| factory.status().informers[place].state.to_string();
    check(
        &state(0),
        concat!(
            r#"forbidden, trying again slowly: the server answered 403 ..; this account may not "#,
            r#"watch secrets in namespace db; add the rule {apiGroups: [""], resources: "#,
            r#"["secrets"], verbs: ["list", "watch"]} to a Role in db that is bound to it"#,
        ),
    );
    check(
        &state(1),
        concat!(
            r#"forbidden, trying again slowly: the server answered 403 ..; this account may not "#,
            r#"watch configmaps in the whole cluster; add the rule {apiGroups: [""], resources: "#,
            r#"["configmaps"], verbs: ["list", "watch"]} to a ClusterRole that is bound to it"#,
        ),
    );
    check(&state(0), "forbidden, trying again slowly: ..");
    let text = error.to_string();
    assert!(
        text.contains("namespace db: forbidden") && text.contains("to a Role in db"),
        "{text}"
    );
    // The rule is the one that `rbac` prints.
    assert!(
        factory.rights().to_string().contains("resources: [\"secrets\"]"),
        "{}",
        factory.rights()
    );
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_right_to_watch_alone_names_the_list() {
    let server = ApiServer::start();
    server.faults().add(Rule::new(Fault::Forbidden).on(Verb::List));
    let informer = builder_of::<ConfigMap>(server.client())
        .initial_state(InitialState::List)
        .build()
        .unwrap();
    informer.start().unwrap();
    tokio::time::sleep(SECOND * 5).await;
    let state = informer.status().state;
    assert!(
        state
            .to_string()
            .contains("may not list configmaps in the whole cluster"),
        "{state}"
    );
    informer.shutdown().await;
}

/// The state of an informer of a resource that the server may lack.
async fn state_of(server: &ApiServer, group: &str, version: &str, plural: &str) -> String {
    let resource = ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: format!("{group}/{version}"),
        kind: String::new(),
        plural: plural.to_owned(),
    };
    let builder = SharedInformer::<DynamicObject>::builder_with(server.client(), resource);
    let informer = builder.build().unwrap();
    informer.start().unwrap();
    tokio::time::sleep(SECOND * 5).await;
    let state = informer.status().state;
    assert!(matches!(state, State::NotFound { .. }), "{state}");
    informer.shutdown().await;
    state.to_string()
}

#[tokio::test(start_paused = true)]
async fn a_missing_group_version_or_resource_is_named() {
    let server = ApiServer::start();
    let state = state_of(&server, "example.com", "v1", "widgets").await;
    check(&state, "not found, trying again slowly: ..");
    check(
        &state,
        "not found, trying again slowly: the server answered 404..; the server has no API group \
         example.com; \
         install its CustomResourceDefinitions, or correct the group",
    );
    check(
        &state_of(&server, "apps", "v7", "deployments").await,
        "not found, trying again slowly: the server answered 404..; the API group apps has no version \
         v7; it serves \
         v1: use one of these, or install a CustomResourceDefinition that serves v7",
    );
    check(
        &state_of(&server, "apps", "v1", "widgets").await,
        "not found, trying again slowly: the server answered 404..; the API group apps has no resource \
         widgets in \
         v1; install the CustomResourceDefinition widgets.apps",
    );
}

/// An informer is refused again and again; discovery must not multiply its requests.
#[tokio::test(start_paused = true)]
async fn discovery_after_a_refusal_is_limited() {
    let server = ApiServer::start();
    let resource = ApiResource {
        group: "example.com".to_owned(),
        version: "v1".to_owned(),
        api_version: "example.com/v1".to_owned(),
        kind: String::new(),
        plural: "widgets".to_owned(),
    };
    let builder = SharedInformer::<DynamicObject>::builder_with(server.client(), resource);
    let informer = builder.build().unwrap();
    informer.start().unwrap();
    tokio::time::sleep(SECOND * 600).await;
    let requests = server.requests();
    let discoveries = requests
        .iter()
        .filter(|request| request.resource.is_none())
        .count();
    assert!((5..=11).contains(&discoveries), "{discoveries} in ten minutes");
    informer.shutdown().await;
}

#[tokio::test]
async fn a_server_that_does_not_exist_is_named_with_its_host() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind(("127.0.0.1", 0))
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let config = kube::Config::new(format!("http://127.0.0.1:{port}").parse().unwrap());
    let informer = SharedInformer::<ConfigMap>::builder(client::from_config(config).unwrap())
        .build()
        .unwrap();
    informer.start().unwrap();
    let mut changes = informer.status_changes();
    while !matches!(informer.status().state, State::BackingOff { .. }) {
        assert!(changes.changed().await);
    }
    check_state(
        &informer,
        "trying again in ..: cannot connect to the server: 127.0.0.1..Connection refused..; no server \
         listens there; \
         start it, ..",
    );
    informer.shutdown().await;
}
