//! Waiting for a condition on the stored objects.

use std::time::Duration;

use informer_testing::{ApiServer, Clock};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "default" } })
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_holds_returns_at_once() {
    let server = ApiServer::start();
    server.create(&map("a")).unwrap();
    let start = Instant::now();
    let maps = server.until(|maps: &[ConfigMap]| maps.len() == 1).await.unwrap();
    assert_eq!(maps[0].metadata.name.as_deref(), Some("a"));
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_write_wakes_the_wait() {
    let server = std::sync::Arc::new(ApiServer::start());
    let writer = server.clone();
    tokio::spawn(async move {
        for name in ["a", "b", "c"] {
            tokio::time::sleep(Duration::from_secs(7)).await;
            writer.create(&map(name)).unwrap();
        }
    });
    let start = Instant::now();
    let mut looks = 0;
    let maps = server.until(|maps: &[ConfigMap]| {
        looks += 1;
        maps.len() == 3
    });
    assert_eq!(maps.await.unwrap().len(), 3);
    assert_eq!(start.elapsed(), Duration::from_secs(21));
    assert_eq!(looks, 4, "it looks at once and after each write only");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_names_what_is_stored() {
    let server = ApiServer::start();
    let start = Instant::now();
    let error = server
        .until(|maps: &[ConfigMap]| !maps.is_empty())
        .await
        .unwrap_err();
    assert_eq!(start.elapsed(), Duration::from_secs(30));
    assert_eq!(
        error.to_string(),
        "the condition on ConfigMap objects did not hold within 30s; none are stored"
    );
    let mut held = map("held");
    held["metadata"]["finalizers"] = json!(["example.com/f"]);
    server.create(&held).unwrap();
    server.delete(&held).unwrap();
    for number in 0..22 {
        server.create(&map(&format!("m{number:02}"))).unwrap();
    }
    let wait = server.until_within(Duration::from_secs(1), |maps: &[ConfigMap]| maps.is_empty());
    let error = wait.await.unwrap_err();
    assert_eq!(error.stored().len(), 23);
    let text = error.to_string();
    let expected = "the condition on ConfigMap objects did not hold within 1s; stored: default/held \
                    (version 106, being deleted), default/m00 (version 107), ";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.ends_with("default/m18 (version 125) and 3 more"), "{text}");
}

/// Times in objects and waits follow the same clock, so that leases run in virtual time.
#[tokio::test(start_paused = true)]
async fn the_tokio_clock_is_the_time_of_the_server() {
    let epoch: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let server = ApiServer::builder().clock(Clock::Tokio(epoch)).start();
    tokio::time::sleep(Duration::from_secs(90)).await;
    let created = server.create(&map("a")).unwrap();
    assert_eq!(created["metadata"]["creationTimestamp"], "2026-01-01T00:01:30Z");
    assert_eq!(server.now().to_string(), "2026-01-01T00:01:30Z");
}
