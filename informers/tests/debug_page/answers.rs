//! What the page and the JSON contain, and how requests are answered.

use std::time::Duration;

use http::StatusCode;
use http::header::{ALLOW, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use informer_testing::{ApiServer, Fault, Rule};
use informers::controller::{Action, Controller, Manager, Request};
use informers::{Event, HandlerOptions, SharedInformerFactory, debug};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::json;

use crate::support::{ask, config_maps, everything, get, get_json, start, synced};

/// Waits by the paused clock, which moves when nothing else can happen.
async fn after(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn an_informer_is_shown_with_its_parts() {
    let server = ApiServer::start();
    config_maps(&server, "web", ["a".to_owned(), "b".to_owned()]);
    let factory = SharedInformerFactory::new(server.client());
    let informer = factory.core().v1().config_maps().informer();
    let by_first = |map: &ConfigMap| map.metadata.name.clone();
    informer.add_index("by name", by_first).unwrap();
    let named = HandlerOptions::default().name("cache warmer");
    informer
        .add_handler_with(named, |_: Event<ConfigMap>| {})
        .unwrap();
    let router = debug::router(&factory);
    assert!(get(&router, "/").await.contains("not started"));
    start(&factory).await;

    let shown = get_json(&router, "/informers.json").await;
    let shown = &shown["informers"][0];
    assert_eq!(
        (&shown["id"], &shown["objects"], &shown["synced"]),
        (&json!("configmaps"), &json!(2), &json!(true)),
        "{shown:#}"
    );
    assert_eq!(
        shown["state"],
        json!({ "name": "live", "level": "ok", "text": "live" })
    );
    assert_eq!(shown["handlers"][0]["name"], "cache warmer");
    assert_eq!(shown["handlers"][0]["calls"], 2);
    assert_eq!(shown["indexes"][0]["values"], 2);
    assert_eq!(shown["scopes"][0]["scope"], "all namespaces");
    assert_eq!(shown["scopes"][0]["version"], server.resource_version());

    let overview = get(&router, "/").await;
    assert!(
        overview.contains("<a href=\"?informer=configmaps\">configmaps</a>"),
        "{overview}"
    );
    let page = get(&router, "/?informer=configmaps").await;
    for part in [
        "cache warmer",
        "by name",
        "all namespaces",
        "<code>web/a</code>",
        "<code>web/b</code>",
    ] {
        assert!(page.contains(part), "no {part:?} in {page}");
    }
}

#[tokio::test(start_paused = true)]
async fn rates_and_charts_come_from_samples() {
    let server = ApiServer::start();
    let factory = synced(&server).await;
    let router = debug::router(&factory);
    after(11).await;
    let shown = get_json(&router, "/informers.json").await;
    assert_eq!(shown["informers"][0]["eventsPerSecond"], 0.0, "{shown:#}");
    config_maps(&server, "web", (0..50).map(|number| format!("n{number}")));
    after(2).await;
    let shown = get_json(&router, "/informers.json").await;
    let informer = &shown["informers"][0];
    assert_eq!(informer["eventsPerSecond"], 5.0, "50 in 10 s: {shown:#}");
    let history = &informer["history"];
    assert_eq!(history["secondsBetweenSamples"], 2.0);
    let rates = history["eventsPerSecond"].as_array().unwrap();
    assert!(rates.contains(&json!(25.0)), "50 in 2 s: {rates:?}");
    assert!(get(&router, "/").await.contains("<polyline points="));
    // The ring is bounded.
    after(1_000).await;
    let shown = get_json(&router, "/informers.json").await;
    let backlog = &shown["informers"][0]["history"]["backlog"];
    assert_eq!(backlog.as_array().unwrap().len(), 150);
}

#[tokio::test(start_paused = true)]
async fn keys_are_read_in_pages() {
    let server = ApiServer::start();
    config_maps(&server, "db", (0..7).map(|number| format!("d{number}")));
    config_maps(&server, "web", (0..150).map(|number| format!("w{number:03}")));
    let factory = synced(&server).await;
    let router = debug::router(&factory);

    let mut keys = Vec::new();
    let mut target = "/keys.json?informer=configmaps&limit=60".to_owned();
    loop {
        let page = get_json(&router, &target).await;
        keys.extend(page["keys"].as_array().unwrap().iter().cloned());
        let Some(next) = page["next"].as_str() else { break };
        target = format!("/keys.json?informer=configmaps&limit=60&after={next}");
    }
    let expected: Vec<String> = factory.informers()[0]
        .keys()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(json!(keys), json!(expected));
    assert_eq!(keys.len(), 157);

    let page = get(&router, "/?informer=configmaps").await;
    assert_eq!(page.matches("<li>").count(), 100);
    let next = "?informer=configmaps&amp;after=web%2Fw092";
    assert!(page.contains(next), "{page}");
    let page = get(&router, "/?informer=configmaps&after=web%2Fw092").await;
    assert_eq!(page.matches("<li>").count(), 57);
    assert!(!page.contains("Next page"), "{page}");
    for (from, first) in [("web", "web/w000"), ("web/w1", "web/w100"), ("db/d3", "db/d3")] {
        let page = get_json(
            &router,
            &format!("/keys.json?informer=configmaps&from={from}&limit=1"),
        )
        .await;
        assert_eq!(page["keys"], json!([first]), "from {from}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_server_is_shown() {
    let server = ApiServer::start();
    server
        .faults()
        .add(Rule::new(Fault::Forbidden).resource("secrets"));
    let factory = SharedInformerFactory::new(server.client());
    factory.core().v1().secrets().informer();
    factory.start();
    after(5).await;
    let router = debug::router(&factory);
    let shown = get_json(&router, "/informers.json").await;
    let informer = &shown["informers"][0];
    assert_eq!(
        (&informer["state"]["name"], &informer["state"]["level"]),
        (&json!("forbidden"), &json!("error")),
        "{shown:#}"
    );
    assert!(informer["error"]["count"].as_u64().unwrap() > 0, "{shown:#}");
    let page = get(&router, "/").await;
    assert!(page.contains("state error\">forbidden"), "{page}");
    assert!(page.contains("403"), "{page}");
}

#[tokio::test(start_paused = true)]
async fn contents_of_secrets_are_nowhere() {
    const CONTENT: &str = "hunter2";
    let server = ApiServer::start();
    for name in ["token", "password"] {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {
                "namespace": "web", "name": name,
                "labels": { "label": CONTENT }, "annotations": { "annotation": CONTENT },
            },
            "stringData": { "value": CONTENT },
        });
        server.create(&secret).unwrap();
    }
    let factory = SharedInformerFactory::new(server.client());
    let secrets = factory.core().v1().secrets().informer();
    let quoting = |secret: &Secret| -> Option<String> { panic!("{CONTENT} of {:?}", secret.metadata.name) };
    secrets.add_index("quoting", quoting).unwrap();
    let quote = |event: Event<Secret>| panic!("{CONTENT} of {:?}", event.object().metadata.name);
    secrets.add_handler(quote).unwrap();
    let controller = Controller::new("quoter", &secrets).build().unwrap();
    let manager = Manager::new(factory.clone()).controller(controller, async |_: Request<Secret>| {
        Err::<Action, _>(std::io::Error::other(CONTENT))
    });
    let run = tokio::spawn(manager.run_until(std::future::pending()));
    after(30).await;
    let router = debug::router(&factory);
    let status = get_json(&router, "/informers.json").await;
    let (informer, controller) = (&status["informers"][0], &status["controllers"][0]);
    assert_eq!(informer["handlers"][0]["panics"], 2, "{status:#}");
    assert_eq!(informer["indexes"][0]["failing"], 2, "{status:#}");
    assert_eq!(controller["failing"]["count"], 2, "{status:#}");
    let texts = everything(&router, &["secrets"], &["quoter"]).await;
    for text in &texts {
        assert!(!text.contains(CONTENT), "{text}");
    }
    assert!(
        texts.iter().any(|text| text.contains("web/password")),
        "keys are shown"
    );
    // On request, messages of the program are shown.
    let shown = router.show_messages();
    let texts = everything(&shown, &["secrets"], &["quoter"]).await;
    assert!(texts.iter().any(|text| text.contains(CONTENT)));
    run.abort();
}

#[tokio::test(start_paused = true)]
async fn a_controller_is_shown_with_its_keys() {
    let server = ApiServer::start();
    config_maps(&server, "web", (0..80).map(|number| format!("n{number}")));
    let factory = SharedInformerFactory::new(server.client());
    let informer = factory.core().v1().config_maps().informer();
    let controller = Controller::new("exposer", &informer).workers(4).build().unwrap();
    let manager = Manager::new(factory.clone()).controller(controller, async |_: Request<ConfigMap>| {
        Err::<Action, _>(std::io::Error::other("no luck"))
    });
    let run = tokio::spawn(manager.run_until(std::future::pending()));
    after(30).await;
    let router = debug::router(&factory);
    let shown = get_json(&router, "/informers.json").await;
    let controller = &shown["controllers"][0];
    assert_eq!(
        (&controller["name"], &controller["failing"]["count"]),
        (&json!("exposer"), &json!(80)),
        "{shown:#}"
    );
    assert_eq!(
        controller["failing"]["keys"].as_array().unwrap().len(),
        50,
        "bounded"
    );
    let page = get(&router, "/?controller=exposer").await;
    assert!(
        page.contains("80, the first 50") && page.contains("web/n"),
        "{page}"
    );
    assert!(get(&router, "/").await.contains("?controller=exposer"));
    run.abort();
}

#[tokio::test(start_paused = true)]
async fn only_get_and_head_of_known_paths_are_answered() {
    let server = ApiServer::start();
    let factory = synced(&server).await;
    let router = debug::router(&factory);
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT"] {
        let answer = ask(&router, method, "/").await;
        assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED, "{method}");
        assert_eq!(answer.headers()[ALLOW], "GET, HEAD");
    }
    let head = ask(&router, "HEAD", "/keys.json?informer=configmaps").await;
    let whole = ask(&router, "GET", "/keys.json?informer=configmaps").await;
    assert_eq!((head.status(), head.body().as_str()), (StatusCode::OK, ""));
    assert_eq!(head.headers()[CONTENT_LENGTH], whole.body().len().to_string());
    for target in [
        "/favicon.ico",
        "/metrics",
        "/?informer=pods",
        "/?controller=x",
        "/keys.json",
        "/keys.json?informer=pods",
    ] {
        assert_eq!(
            ask(&router, "GET", target).await.status(),
            StatusCode::NOT_FOUND,
            "{target}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn every_answer_forbids_scripts_frames_and_caches() {
    let server = ApiServer::start();
    let factory = synced(&server).await;
    let router = debug::router(&factory);
    for (method, target) in [
        ("GET", "/"),
        ("GET", "/?informer=configmaps"),
        ("GET", "/?informer=none"),
        ("GET", "/informers.json"),
        ("GET", "/none"),
        ("POST", "/"),
    ] {
        let answer = ask(&router, method, target).await;
        let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
        let policy = header(CONTENT_SECURITY_POLICY.as_str());
        assert!(policy.starts_with("default-src 'none'"), "{target}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{target}: {policy}");
        assert!(!policy.contains("unsafe"), "{target}: {policy}");
        assert_eq!(header("cache-control"), "no-store", "{target}");
        assert_eq!(header("x-content-type-options"), "nosniff", "{target}");
        assert_eq!(header("cross-origin-resource-policy"), "same-origin", "{target}");
        assert!(
            !answer.headers().contains_key("access-control-allow-origin"),
            "{target}"
        );
    }
    let first = ask(&router, "GET", "/").await;
    let second = ask(&router, "GET", "/").await;
    assert_eq!(first.headers()[CONTENT_TYPE], "text/html; charset=utf-8");
    assert_ne!(
        first.headers()[CONTENT_SECURITY_POLICY],
        second.headers()[CONTENT_SECURITY_POLICY],
        "each answer has its own number"
    );
}

#[tokio::test(start_paused = true)]
async fn a_router_does_not_keep_its_factory_alive() {
    let server = ApiServer::start();
    let factory = synced(&server).await;
    let router = debug::router(&factory);
    get(&router, "/").await;
    drop(factory);
    for target in ["/", "/informers.json"] {
        let answer = ask(&router, "GET", target).await;
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(answer.body().contains("the factory of this page was dropped"));
    }
    after(1).await;
    assert_eq!(server.watchers(), 0, "its informers have stopped");
}

/// Samples are taken by a task, which must not outlive what it is for.
#[tokio::test(start_paused = true)]
async fn sampling_ends_with_the_router() {
    let server = ApiServer::start();
    let factory = synced(&server).await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let router = debug::router(&factory);
    let clone = router.clone();
    assert_eq!(tasks(), before + 1);
    drop(router);
    after(3).await;
    assert_eq!(tasks(), before + 1, "a clone is left");
    drop(clone);
    after(3).await;
    assert_eq!(tasks(), before);
}
