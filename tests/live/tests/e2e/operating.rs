//! What an operator sees: probes while the server is away, a warm start, metrics, the debug page, and limits.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Request;
use http_body_util::{BodyExt as _, Full};
use informer_core::store::Freshness;
use informer_core::{Event, HandlerOptions, Offload, SharedInformer, State, WarmStart};
use informer_it::recorder::Recorder;
use informer_live::Cluster;
use informers::SharedInformerFactory;
use informers::debug::{self, Router};
use informers::metrics::Metrics;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use kube::api::PostParams;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt as _;

use crate::support::{BOUND, Room, agree, eventually, options, shared, short_waits, start, until};
use crate::tap::Tap;

/// The answer of a probe: code and text.
async fn probe(listener: &std::net::SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(listener).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: probe\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    format!("{} {}", head.split(' ').nth(1).unwrap(), body.trim_end())
}

/// An outage must take the program out of service, and must not restart it.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_fails_the_readiness_probe_and_never_the_liveness_probe() {
    let mut cluster = Cluster::start(options()).await.unwrap();
    let room = Room::new(&cluster, "health").await;
    room.create("a", "1").await;
    let factory = SharedInformerFactory::builder(cluster.client())
        .namespace(&room.name)
        .reflector(|_| short_waits())
        .build()
        .unwrap();
    let informer = factory.informer_for::<ConfigMap>();
    let health = factory.health().max_age(Duration::from_secs(1));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(health.serve_on(listener));
    let early = probe(&address, "/readyz").await;
    assert!(early.starts_with("503 not in sync: configmaps: "), "{early}");
    factory.start();
    // Each check of readiness is one of liveness as well.
    let reads = async |wanted: &str, also: &str| {
        eventually(async || {
            assert_eq!(probe(&address, "/livez").await, "200 ok");
            match probe(&address, "/readyz").await {
                answer if answer.starts_with(wanted) && answer.contains(also) => Ok(()),
                answer => Err(format!("{answer} instead of {wanted}..{also}")),
            }
        })
        .await;
    };
    reads("200 ok", "").await;
    cluster.kill();
    reads(
        "503 the data of configmaps is ",
        "cannot connect to the server: 127.0.0.1",
    )
    .await;
    assert!(!informer.indexer().is_empty(), "reads return the last state");
    cluster.revive().await.unwrap();
    reads("200 ok", "").await;
    serving.abort();
    factory.shutdown().await;
    cluster.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_warm_start_watches_from_the_saved_version_and_delivers_what_was_missed() {
    let cluster = shared().await;
    let room = Room::new(cluster, "warm").await;
    for name in ["a", "b", "c"] {
        room.create(name, "1").await;
    }
    let folder = tempfile::tempdir().unwrap();
    let tap = Tap::default();
    let build = || {
        // The deletion confirms the version, however slow the machine is.
        let warm = WarmStart::directory(folder.path()).confirm_within(BOUND);
        SharedInformer::<ConfigMap>::builder(tap.on(cluster.client()))
            .namespace(&room.name)
            .reflector(|_| short_waits())
            .warm_start(warm)
            .build()
            .unwrap()
    };
    let informer = build();
    start(&informer).await;
    informer.shutdown().await;
    let version = informer.indexer().snapshot().resource_version().unwrap();
    room.delete("b").await;
    room.update("c", "2").await;
    let before = tap.seen().len();

    let informer = build();
    let (received, _registration) = Recorder::of(&informer).unwrap();
    start(&informer).await;
    agree(&informer, &received, &room.items()).await;
    assert_eq!(informer.status().freshness, Freshness::Kept);
    let events = received.summary();
    for expected in ["initial a", "initial b", "delete b", "update c"] {
        assert!(events.iter().any(|event| event == expected), "{events:?}");
    }
    let requests = tap.seen().split_off(before);
    let of_kind: Vec<&String> = requests
        .iter()
        .map(|seen| &seen.uri)
        .filter(|uri| uri.contains("configmaps"))
        .collect();
    let (first, watch) = (of_kind[0], format!("resourceVersion={version}"));
    assert!(
        first.contains("watch=true") && first.contains(&watch) && !first.contains("sendInitialEvents"),
        "{of_kind:?}"
    );
    assert_eq!(of_kind.len(), 1, "nothing was read as a whole: {of_kind:?}");
    informer.shutdown().await;
}

/// The text of a scrape.
fn scrape(metrics: &Metrics) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(metrics.clone()));
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    text
}

/// The value of the series of ConfigMaps, if there is one.
fn value(text: &str, name: &str, label: &str) -> Option<f64> {
    let is_it = |line: &&str| {
        line.starts_with(&format!("{name}{{"))
            && line.contains(r#"resource="configmaps""#)
            && line.contains(label)
    };
    let line = text.lines().find(is_it)?;
    line.rsplit(' ').next()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scrape_has_the_series_of_an_informer_for_as_long_as_it_exists() {
    let room = Room::new(shared().await, "metrics").await;
    room.create("a", "1").await;
    let factory = SharedInformerFactory::builder(room.client())
        .namespace(&room.name)
        .fields("metadata.name!=kube-root-ca.crt")
        .build()
        .unwrap();
    let metrics = Metrics::new();
    metrics.add_factory("live", &factory);
    let informer = factory.informer_for::<ConfigMap>();
    factory.informer_for::<Secret>();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    until(&informer, "live", |status| matches!(status.state, State::Live)).await;
    room.create("b", "1").await;
    room.update("b", "2").await;
    eventually(async || {
        let text = scrape(&metrics);
        let expected = [
            ("informer_store_objects", "", 2.0),
            ("informer_synced", "", 1.0),
            ("informer_state", r#"state="live""#, 1.0),
            ("informer_lists_total", "", 1.0),
            ("informer_events_total", r#"type="added""#, 1.0),
            ("informer_events_total", r#"type="modified""#, 1.0),
        ];
        for (name, label, number) in expected {
            match value(&text, name, label) {
                Some(found) if found == number => {}
                found => return Err(format!("{name} {label} is {found:?}, not {number}")),
            }
        }
        Ok(())
    })
    .await;
    let text = scrape(&metrics);
    assert!(value(&text, "informer_store_bytes", "").unwrap() > 0.0, "{text}");
    assert!(
        value(&text, "informer_store_resource_version", "").unwrap() > 0.0,
        "{text}"
    );
    assert!(value(&text, "informer_staleness_seconds", "").is_some(), "{text}");

    drop(informer);
    factory.release::<ConfigMap>();
    let text = scrape(&metrics);
    assert!(!text.contains("configmaps") && text.contains("secrets"), "{text}");
    drop(factory);
    assert!(!scrape(&metrics).contains("secrets"));
}

/// The text of the debug page, or of its JSON.
async fn page(router: &Router, target: &str) -> String {
    let request = Request::get(target).body(Full::<&[u8]>::default()).unwrap();
    let answer = router.clone().oneshot(request).await.unwrap();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_debug_page_status_and_metrics_of_secrets_never_have_their_contents() {
    const CANARY: &str = "canary-of-the-debug-page";
    let room = Room::new(shared().await, "page").await;
    let secrets: Api<Secret> = Api::namespaced(room.client(), &room.name);
    let secret = json!({
        "metadata": {"name": "s", "annotations": {"note": CANARY}}, "stringData": {"value": CANARY},
    });
    let secret: Secret = serde_json::from_value(secret).unwrap();
    secrets.create(&PostParams::default(), &secret).await.unwrap();
    let factory = SharedInformerFactory::builder(room.client())
        .namespace(&room.name)
        .build()
        .unwrap();
    let router = debug::router(&factory);
    let metrics = Metrics::new();
    metrics.add_factory("page", &factory);
    let informer = factory.informer_for::<Secret>();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    until(&informer, "live", |status| matches!(status.state, State::Live)).await;
    assert_eq!(
        informer.indexer().list()[0]
            .metadata
            .annotations
            .as_ref()
            .unwrap()["note"],
        CANARY
    );
    let mut all = String::new();
    for target in [
        "/",
        "/informers.json",
        "/?informer=secrets",
        "/keys.json?informer=secrets",
    ] {
        all += &page(&router, target).await;
    }
    all += &format!("{:?} {:?}", factory.status(), informer.status());
    all += &scrape(&metrics);
    for part in [
        &*format!("{}/s", room.name),
        "live",
        "secrets",
        "informer_store_objects",
    ] {
        assert!(all.contains(part), "no {part:?} in {all}");
    }
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, CANARY);
    assert!(!all.contains(CANARY) && !all.contains(&encoded), "{all}");
    factory.shutdown().await;
}

/// What was logged, by one thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// On one thread, whose log is read: everything of the informer runs there.
#[tokio::test]
async fn logs_at_trace_show_keys_of_secrets_and_never_their_contents() {
    const CANARY: &str = "canary-of-the-log";
    let mut cluster = Cluster::start(options()).await.unwrap();
    let room = Room::new(&cluster, "log").await;
    let secrets: Api<Secret> = Api::namespaced(room.client(), &room.name);
    let secret = json!({
        "metadata": {"name": "s", "annotations": {"note": CANARY}}, "stringData": {"value": CANARY},
    });
    let secret: Secret = serde_json::from_value(secret).unwrap();
    secrets.create(&PostParams::default(), &secret).await.unwrap();
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_span_events(tracing_subscriber::fmt::format::FmtSpan::FULL)
        .with_writer(move || writer.clone())
        .finish();
    let logging = informer_it::logging::to(subscriber);
    let informer = SharedInformer::<Secret>::builder(room.client())
        .namespace(&room.name)
        .reflector(|_| short_waits())
        .offload(Offload::Inline)
        .build()
        .unwrap();
    let on_this_thread = HandlerOptions::default().run_on(Offload::Inline);
    informer
        .add_handler_with(on_this_thread, |event: Event<Secret>| {
            let (Event::Added { object, .. } | Event::Updated { new: object, .. }) = event else {
                return;
            };
            assert!(object.data.is_none(), "a handler that panics");
        })
        .unwrap();
    informer.start().unwrap();
    informer.synced().await.unwrap();
    cluster.kill();
    until(&informer, "backing off", |status| {
        matches!(status.state, State::BackingOff { .. })
    })
    .await;
    cluster.revive().await.unwrap();
    until(&informer, "live", |status| matches!(status.state, State::Live)).await;
    let status = format!("{:?}", informer.status());
    informer.shutdown().await;
    drop(logging);
    let log = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned() + &status;
    for part in [
        &*format!("{}/s", room.name),
        "handler panicked",
        "commit",
        "secrets",
    ] {
        assert!(log.contains(part), "no {part:?} in the log");
    }
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, CANARY);
    for text in [CANARY, &encoded] {
        let line = log.lines().find(|line| line.contains(text));
        assert_eq!(line, None);
    }
    cluster.stop();
}

fn stale(informer: &SharedInformer<ConfigMap>) -> Vec<String> {
    let stale = informer.status().stale.into_iter();
    stale
        .map(|(key, reason)| format!("{}: {reason}", key.name()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_over_the_size_limit_is_reported_and_skipped() {
    let room = Room::new(shared().await, "large").await;
    let large = "x".repeat(50_000);
    room.create("small", "1").await;
    room.create("large", &large).await;
    let informer = SharedInformer::<ConfigMap>::builder(room.client())
        .namespace(&room.name)
        .fields("metadata.name!=kube-root-ca.crt")
        .max_object_bytes(20_000)
        .build()
        .unwrap();
    start(&informer).await;
    let cached = || informer.indexer().list().len();
    assert_eq!(cached(), 1);
    let reported = stale(&informer);
    assert!(
        reported.len() == 1 && reported[0].starts_with("large: ") && reported[0].contains("20000"),
        "{reported:?}"
    );

    // The same in a watch, which goes on: the last state of the object stays.
    room.update("small", &large).await;
    until(&informer, "stale in both", |status| status.stale.len() == 2).await;
    assert_eq!(cached(), 1);
    room.update("small", "2").await;
    room.delete("large").await;
    until(&informer, "current", |status| status.stale.is_empty()).await;
    let counts = informer.status().counts();
    assert_eq!((cached(), counts.errors), (1, 0));
    assert!(counts.undecodable >= 2, "{counts:?}");
    informer.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_informer_over_its_number_of_objects_keeps_its_state_and_recovers() {
    let room = Room::new(shared().await, "many").await;
    room.create("a", "1").await;
    room.create("b", "1").await;
    let informer = SharedInformer::<ConfigMap>::builder(room.client())
        .namespace(&room.name)
        .fields("metadata.name!=kube-root-ca.crt")
        .max_objects(2)
        .build()
        .unwrap();
    let (received, _registration) = Recorder::of(&informer).unwrap();
    start(&informer).await;
    until(&informer, "live", |status| matches!(status.state, State::Live)).await;
    room.create("c", "1").await;
    let is_over = |state: &State| matches!(state, State::LimitReached { .. });
    until(&informer, "over the limit", |status| is_over(&status.state)).await;
    let state = informer.status().state.to_string();
    assert!(
        state.contains("more than 2 objects") && state.contains("raise `max_objects`"),
        "{state}"
    );
    assert_eq!(informer.indexer().len(), 2);

    room.delete("a").await;
    // It reads again within two minutes; this reads at once.
    informer.pause();
    informer.resume();
    until(&informer, "live", |status| matches!(status.state, State::Live)).await;
    assert_eq!(informer.indexer().len(), 2);
    let recorded = received.final_state().unwrap();
    assert_eq!(recorded.len(), 2, "{recorded:?}");
    informer.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_factory_over_its_total_of_bytes_stops_one_informer_until_another_is_released() {
    let room = Room::new(shared().await, "total").await;
    room.create("a", &"x".repeat(20_000)).await;
    let secrets: Api<Secret> = Api::namespaced(room.client(), &room.name);
    let secret = json!({"metadata": {"name": "s"}, "stringData": {"value": "x".repeat(15_000)}});
    let secret: Secret = serde_json::from_value(secret).unwrap();
    secrets.create(&PostParams::default(), &secret).await.unwrap();
    let factory = SharedInformerFactory::builder(room.client())
        .namespace(&room.name)
        .fields("metadata.name!=kube-root-ca.crt")
        .max_total_bytes(30_000)
        .build()
        .unwrap();
    let maps = factory.informer_for::<ConfigMap>();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    let secrets = factory.informer_for::<Secret>();
    factory.start();
    until(&secrets, "over the limit", |status| {
        matches!(status.state, State::LimitReached { .. })
    })
    .await;
    let state = secrets.status().state.to_string();
    assert!(state.contains("raise `max_total_bytes`"), "{state}");
    until(&maps, "live: the other one goes on", |status| {
        matches!(status.state, State::Live)
    })
    .await;

    maps.shutdown().await;
    drop(maps);
    factory.release::<ConfigMap>();
    secrets.pause();
    secrets.resume();
    until(&secrets, "in sync", |status| status.synced).await;
    assert_eq!(secrets.indexer().len(), 1);
    factory.shutdown().await;
}
