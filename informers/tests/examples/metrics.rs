//! The examples that export metrics.

use super::programs::run_embedded;

#[tokio::test]
async fn a_scrape_shows_the_events_of_the_demo_cluster() {
    let (lines, errors) = run_embedded("metrics_prometheus", "--embedded --for 3s").await;
    assert!(
        lines.contains("Metrics are served at http://127.0.0.1:"),
        "{lines}"
    );
    let labels = r#"name="example",group="",version="v1",resource="pods",view="objects""#;
    let pods = format!("informer_store_objects{{{labels}}} ");
    assert!(lines.lines().any(|line| line.starts_with(&pods)), "{lines}");
    let events = format!("informer_events_total{{{labels},type=\"modified\"}} ");
    let counts = lines.lines().filter_map(|line| line.strip_prefix(&events));
    let counts: Vec<u64> = counts.map(|count| count.parse().unwrap()).collect();
    assert!(
        counts.len() >= 2 && counts.is_sorted() && counts.last() > Some(&0),
        "{lines}"
    );
    assert!(lines.contains("handler=\"audit\""), "{lines}");
    assert_eq!(errors, "");
}

#[tokio::test]
async fn opentelemetry_exports_the_same_metrics() {
    let (lines, _) = run_embedded("metrics_opentelemetry", "--embedded --for 1s").await;
    for name in [
        "informer_store_objects",
        "informer_events_total",
        "informer_processing_latency_seconds_count",
        "informer_processing_latency_seconds_sum",
    ] {
        assert!(lines.contains(name), "no {name} in\n{lines}");
    }
    assert!(lines.contains("pods"), "no attribute in\n{lines}");
}
