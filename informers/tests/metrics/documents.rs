//! The documents of `docs/operating` and the metrics that a running program exports are the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use informers::metrics::{Kind, Metrics};
use serde_json::Value;

use super::promql::names;
use super::{scrape, with_everything};

/// The line before the table of metrics.md.
const BEGIN: &str =
    "<!-- A test checks this table; UPDATE=1 cargo test -p informers --features metrics rewrites it. -->\n";

/// Labels that Prometheus adds to every series.
const OF_PROMETHEUS: [&str; 2] = ["instance", "job"];

fn path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../docs/operating")
        .join(file)
}

fn read(file: &str) -> String {
    std::fs::read_to_string(path(file)).unwrap()
}

/// The labels of each sample of a scrape, by its name.
fn exported(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut exported: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_once('{').unwrap();
        let labels = rest
            .split("=\"")
            .filter_map(|part| part.rsplit([',', '{']).next());
        let labels =
            labels.filter(|label| label.chars().all(|char| char.is_ascii_lowercase() || char == '_'));
        exported
            .entry(name.to_owned())
            .or_default()
            .extend(labels.map(str::to_owned));
    }
    exported
}

/// Every expression of a dashboard or of a file of rules: the strings below these keys.
fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        // The variable that chooses the data source has no expression.
        Value::Object(fields) if fields.get("type").is_some_and(|kind| kind == "datasource") => {}
        Value::Object(fields) => {
            for (key, value) in fields {
                match value.as_str() {
                    Some(text) if ["expr", "query", "definition"].contains(&key.as_str()) => {
                        found.push(text.to_owned());
                    }
                    _ => expressions(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| expressions(value, found)),
        _ => {}
    }
}

/// Labels in texts: `{{resource}}` in legends, `{{ $labels.resource }}` in annotations.
fn labels_in_texts(document: &str) -> BTreeSet<String> {
    let texts = document
        .split("{{")
        .skip(1)
        .filter_map(|rest| rest.split("}}").next());
    let labels = texts.map(|text| text.split('|').next().unwrap().trim());
    let labels = labels.filter(|label| !label.starts_with("$value"));
    labels
        .map(|label| label.trim_start_matches("$labels.").to_owned())
        .collect()
}

fn check(document: &str, value: &Value, exported: &BTreeMap<String, BTreeSet<String>>) {
    let mut found = Vec::new();
    expressions(value, &mut found);
    assert!(found.len() > 8, "only {} expressions", found.len());
    let mut known: BTreeSet<&str> = exported.values().flatten().map(String::as_str).collect();
    known.extend(OF_PROMETHEUS);
    for expression in &found {
        let names = names(expression).unwrap_or_else(|error| panic!("{error} in {expression}"));
        assert!(!names.metrics.is_empty(), "no metric in {expression}");
        for (metric, labels) in &names.metrics {
            let own = exported
                .get(metric)
                .unwrap_or_else(|| panic!("nothing exports {metric}, in {expression}"));
            for label in labels {
                let is_known = own.contains(label) || OF_PROMETHEUS.contains(&label.as_str());
                assert!(is_known, "{metric} has no label {label}, in {expression}");
            }
        }
        // A label of `by (..)` must belong to one of the metrics of the expression.
        for label in &names.labels {
            let has = |metric: &String| exported[metric].contains(label);
            let is_known = names.metrics.iter().any(|(metric, _)| has(metric));
            assert!(
                is_known || OF_PROMETHEUS.contains(&label.as_str()),
                "no {label} in {expression}"
            );
        }
    }
    for label in labels_in_texts(document) {
        assert!(known.contains(label.as_str()), "no metric has the label {label}");
    }
}

/// Compares a document with what a running program exports.
async fn check_document(document: &str, value: Value) {
    with_everything(async |metrics| {
        check(document, &value, &exported(&scrape(metrics)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_dashboard_uses_only_metrics_and_labels_that_are_exported() {
    let text = read("grafana.json");
    let value = serde_json::from_str(&text).unwrap();
    check_document(&text, value).await;
}

#[tokio::test(start_paused = true)]
async fn the_alerts_use_only_metrics_and_labels_that_are_exported() {
    let text = read("alerts.yaml");
    let value: Value = serde_saphyr::from_str(&text).unwrap();
    for group in value["groups"].as_array().unwrap() {
        for rule in group["rules"].as_array().unwrap() {
            for field in ["alert", "expr", "for"] {
                assert!(rule[field].is_string(), "no {field} in {rule}");
            }
            assert!(rule["labels"]["severity"].is_string(), "no severity in {rule}");
            for field in ["summary", "description"] {
                assert!(rule["annotations"][field].is_string(), "no {field} in {rule}");
            }
        }
    }
    check_document(&text, value).await;
}

/// The table of metrics.md. `UPDATE=1` rewrites it.
#[test]
fn every_metric_is_documented() {
    let mut table = String::from("\n| metric | type | labels | meaning |\n|---|---|---|---|\n");
    for known in Metrics::descriptors() {
        let kind = match known.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
            _ => "unknown",
        };
        // The labels of an informer are long, and the page lists them once.
        let labels: Vec<String> = match known.labels {
            ["name", "group", "version", "resource", "view", more @ ..] => {
                let more = more.iter().map(|label| format!("`{label}`"));
                std::iter::once("informer".to_owned()).chain(more).collect()
            }
            labels => labels.iter().map(|label| format!("`{label}`")).collect(),
        };
        let labels = labels.join(", ");
        writeln!(table, "| `{}` | {kind} | {labels} | {} |", known.name, known.help).unwrap();
    }
    let page = read("metrics.md");
    let (before, rest) = page.split_once(BEGIN).expect("the page has the mark");
    let after = rest.split_once("\n## ").map_or("", |(_, after)| after);
    let expected = format!("{before}{BEGIN}{table}\n## {after}");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path("metrics.md"), &expected).unwrap();
    }
    assert_eq!(page, expected, "UPDATE=1 rewrites the table");
}
