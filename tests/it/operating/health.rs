//! Readiness and liveness: what fails which of them, and the probes over HTTP.

use std::sync::mpsc;
use std::time::Duration;

use informer_testing::{Fault, Rule};
use informers::SharedInformerFactory;
use informers::health::Health;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use tokio::net::TcpListener;

use crate::support::{item, server_with};

const SECOND: Duration = Duration::from_secs(1);

fn ready(health: &Health) -> String {
    health
        .ready()
        .map_or_else(|error| error.to_string(), |()| "ok".to_owned())
}

fn live(health: &Health) -> String {
    health
        .live()
        .map_or_else(|error| error.to_string(), |()| "ok".to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_factory_is_ready_when_it_is_in_sync_and_alive_from_the_start() {
    let server = server_with(&["a"]);
    let factory = SharedInformerFactory::new(server.client());
    let health = factory.health();
    assert_eq!(
        (ready(&health), live(&health)),
        ("no informer was requested".to_owned(), "ok".to_owned())
    );
    factory.informer_for::<ConfigMap>();
    assert_eq!(ready(&health), "not in sync: configmaps: not started");
    factory.start();
    factory.wait_for_sync().await.unwrap();
    assert_eq!(
        (ready(&health), live(&health)),
        ("ok".to_owned(), "ok".to_owned())
    );
    factory.shutdown().await;
    assert_eq!(ready(&health), "the informers were shut down");
    drop(factory);
    assert_eq!(
        live(&health),
        "the factory was dropped, and its informers with it"
    );
}

/// A restart of every operator would add to the load of a server that is already in trouble.
#[tokio::test(start_paused = true)]
async fn an_outage_makes_the_data_too_old_and_restarts_nothing() {
    let server = server_with(&["a"]);
    let factory = SharedInformerFactory::new(server.client());
    let health = factory.health().max_age(SECOND * 300);
    factory.informer_for::<ConfigMap>();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    server.faults().add(Fault::unavailable());
    server.close_watches();
    tokio::time::sleep(SECOND * 60).await;
    assert_eq!(
        ready(&health),
        "ok",
        "a short outage is no reason to be taken out of service"
    );
    for minute in 0..60 {
        tokio::time::sleep(SECOND * 60).await;
        assert_eq!(live(&health), "ok", "after {minute} minutes");
    }
    let why = ready(&health);
    assert!(
        why.starts_with("the data of configmaps is 3") && why.contains("503"),
        "{why}"
    );
    server.faults().clear();
    tokio::time::sleep(SECOND * 120).await;
    assert_eq!(ready(&health), "ok");
    factory.shutdown().await;
}

/// A quiet server sends bookmarks only; one without bookmarks sends nothing.
#[tokio::test(start_paused = true)]
async fn data_that_does_not_change_stays_current() {
    let server = informer_testing::ApiServer::builder()
        .bookmark_interval(SECOND * 1_000_000)
        .start();
    server.create(&item("a", "1")).unwrap();
    let factory = SharedInformerFactory::new(server.client());
    let health = factory.health();
    factory.informer_for::<ConfigMap>();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    for _ in 0..60 {
        tokio::time::sleep(SECOND * 60).await;
        assert_eq!(
            (ready(&health), live(&health)),
            ("ok".to_owned(), "ok".to_owned())
        );
    }
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_refused_is_named_and_an_optional_one_does_not_count() {
    let server = server_with(&["a"]);
    server
        .faults()
        .add(Rule::new(Fault::Forbidden).resource("secrets"));
    let factory = SharedInformerFactory::new(server.client());
    factory.informer_for::<ConfigMap>();
    factory.informer_for::<Secret>();
    factory.start();
    tokio::time::sleep(SECOND * 5).await;
    let why = ready(&factory.health());
    assert!(why.starts_with("not in sync: secrets: forbidden"), "{why}");
    assert_eq!(live(&factory.health()), "ok");
    assert_eq!(ready(&factory.health().optional("secrets")), "ok");
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_transform_that_never_returns_makes_the_process_not_live() {
    let server = server_with(&["a"]);
    let (release, block) = mpsc::channel::<()>();
    let block = std::sync::Mutex::new(block);
    let factory = SharedInformerFactory::builder(server.client())
        .transform(move |_| {
            let _ = block.lock().unwrap().recv();
        })
        .build()
        .unwrap();
    let health = factory.health().stuck_after(SECOND * 120);
    factory.informer_for::<ConfigMap>();
    factory.start();
    release.send(()).unwrap();
    factory.wait_for_sync().await.unwrap();
    server.create(&item("b", "1")).unwrap();
    // The clock is moved by hand: it does not move by itself while a thread works.
    for _ in 0..50 {
        tokio::time::advance(SECOND / 100).await;
        tokio::task::yield_now().await;
    }
    let mut found = String::new();
    for _ in 0..20 {
        found = live(&health);
        if found != "ok" {
            break;
        }
        tokio::time::advance(SECOND * 10).await;
        tokio::task::yield_now().await;
    }
    assert!(
        found.starts_with("changes of configmaps wait, and none was committed for 1"),
        "{found}"
    );
    drop(release);
    factory.shutdown().await;
}

#[test]
fn an_informer_whose_runtime_was_dropped_is_not_live() {
    let own = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let factory = own.block_on(async {
        let server = server_with(&["a"]);
        let factory = SharedInformerFactory::new(server.client());
        factory.informer_for::<ConfigMap>();
        factory.start();
        factory.wait_for_sync().await.unwrap();
        factory
    });
    let health = factory.health();
    assert_eq!(
        (live(&health), ready(&health)),
        ("ok".to_owned(), "ok".to_owned())
    );
    drop(own);
    assert_eq!(
        live(&health),
        "the informer of configmaps ended although nobody stopped it"
    );
}

#[tokio::test]
async fn probes_are_answered_over_http() {
    let server = server_with(&["a"]);
    let factory = SharedInformerFactory::new(server.client());
    factory.informer_for::<ConfigMap>();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(factory.health().serve_on(listener));
    let get = async |path: &str| {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: probe\r\n\r\n");
        tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes())
            .await
            .unwrap();
        let mut answer = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut stream, &mut answer)
            .await
            .unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        format!("{} {body}", head.split(' ').nth(1).unwrap())
    };
    assert_eq!(get("/readyz").await, "503 not in sync: configmaps: not started\n");
    assert_eq!(get("/livez").await, "200 ok\n");
    factory.start();
    factory.wait_for_sync().await.unwrap();
    assert_eq!(get("/readyz?verbose").await, "200 ok\n");
    assert_eq!(get("/metrics").await, "404 use /readyz or /livez\n");
    serving.abort();
    factory.shutdown().await;
}
