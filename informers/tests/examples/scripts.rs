//! The examples that run a script on the embedded server and end with it.

use informer_testing::ApiServer;
use serde_json::json;

use super::programs::{run, run_embedded, text};
use super::quickstart::write_kubeconfig;

/// Runs an example and looks for these lines, in this order. Each is given by a part and its end; runs of
/// spaces count as one.
async fn check(name: &str, expected: &[(&str, &str)]) -> (String, String) {
    let (lines, errors) = run_embedded(name, "--embedded").await;
    let mut rest = lines.lines().map(words);
    for (start, end) in expected {
        assert!(
            rest.any(|line| line.contains(start) && line.ends_with(end)),
            "no line {start:?} .. {end:?} in this order in:\n{lines}"
        );
    }
    (lines, errors)
}

fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn pods_are_shown_by_node_and_followed() {
    let (lines, errors) = check(
        "pods_by_node",
        &[
            ("node-1 2", "shop/cart-0 shop/front-0"),
            ("node-2 1", "payments/api-0"),
            ("node-2 2", "payments/api-0 shop/front-1"),
            ("node-3 1", "shop/search-0"),
            ("node-1 1", "shop/front-0"),
        ],
    )
    .await;
    let rows = lines.lines().filter(|line| line.starts_with("node-"));
    assert_eq!(rows.count(), 5, "a row is shown twice:\n{lines}");
    assert_eq!(errors, "");
}

#[tokio::test]
async fn settings_are_reloaded_and_the_last_good_ones_kept() {
    let (lines, errors) = check(
        "config_reload",
        &[
            ("settings, version", "2 workers, timeout 30s"),
            ("settings, version", "8 workers, timeout 30s"),
            (
                "kept, because \"workers\" is not a whole number from 1 to 64",
                "8 workers, timeout 30s",
            ),
            (
                "kept, because \"workers\" is not a whole number from 1 to 64",
                "8 workers, timeout 30s",
            ),
            (
                "kept, because \"wokers\" is not a setting",
                "8 workers, timeout 30s",
            ),
            (
                "kept, because the ConfigMap was deleted",
                "8 workers, timeout 30s",
            ),
            ("settings, version", "4 workers, timeout 30s"),
        ],
    )
    .await;
    assert!(!lines.contains("eight"), "a value was quoted:\n{lines}");
    assert!(
        !lines.contains("64 workers"),
        "another ConfigMap was read:\n{lines}"
    );
    assert_eq!(errors, "");
}

#[tokio::test]
async fn services_are_joined_with_their_slices() {
    let (lines, errors) = check(
        "service_endpoints",
        &[
            ("shop/cart", "1 ready 10.0.0.1"),
            ("shop/search", "0 ready"),
            ("shop/cart", "2 ready 10.0.0.1 10.0.0.2"),
            ("shop/cart", "3 ready 10.0.0.1 10.0.0.2 10.0.0.3"),
            ("shop/cart", "1 ready 10.0.0.3"),
            ("shop/search", "deleted"),
        ],
    )
    .await;
    assert!(
        !lines.contains("10.0.0.9"),
        "a slice of another namespace was joined:\n{lines}"
    );
    assert_eq!(errors, "");
}

#[tokio::test]
async fn many_handlers_share_one_list_and_one_watch() {
    let (lines, errors) = check(
        "many_handlers",
        &[
            ("added shop/front-4", "Running on node-1"),
            ("added shop/cart-0", "Pending"),
            ("updated shop/cart-0", "on node-2"),
            ("deleted shop/front-0", "was on node-1"),
            ("resync shop/front-4", "Running on node-1"),
            ("handler state", "panics"),
            ("audit Active 5 1 1 1", " 0"),
            ("slow Active 5", " 0 0"),
            // It lost its first event by the panic, and nothing else.
            ("fragile Active 4 1 1 1 0", " 1"),
            ("async Active 5 1 1 1", " 0"),
            // A pending pod that starts to run is an addition for it.
            ("filtered Active 5 1 0 1 0", " 0"),
            ("stream Active 5 1 1 1", " 0"),
            ("requests 1", "(lists: 0, watches: 1)"),
        ],
    )
    .await;
    let resyncs = lines.lines().filter(|line| line.contains("resync   shop/"));
    assert!(resyncs.count() >= 5, "{lines}");
    assert!(errors.contains("the fragile handler panicked, once"), "{errors}");
}

#[tokio::test]
async fn the_operator_runs_a_website_and_restores_its_deployment() {
    let (_, errors) = check(
        "operator",
        &[
            ("shop/front Progressing", "0 of 1 pods are ready"),
            ("shop/front Available", "1 of 1 pods are ready"),
            ("shop/front Progressing", "1 of 3 pods are ready"),
            ("shop/front Available", "3 of 3 pods are ready"),
            ("shop/front Progressing", "0 of 3 pods are ready"),
            ("shop/front Available", "3 of 3 pods are ready"),
            ("shop/front", "deleted"),
        ],
    )
    .await;
    assert_eq!(errors, "");
}

#[tokio::test]
async fn a_script_ends_early_when_the_time_is_up() {
    let (lines, _) = run_embedded("pods_by_node", "--for 1ms").await;
    assert!(lines.starts_with("No kubeconfig exists."), "{lines}");
    assert!(lines.contains("payments/api-0"), "{lines}");
}

#[tokio::test]
async fn no_script_runs_on_a_cluster() {
    let server = ApiServer::builder().start_http().await.unwrap();
    let service =
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "namespace": "web", "name": "front" } });
    server.create(&service).unwrap();
    let path = write_kubeconfig("scripts", &server.kubeconfig().unwrap());
    let output = run("service_endpoints", Some(&path), "--for 1s --namespace web").await;
    let lines = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{lines}\n{}", text(&output.stderr));
    assert!(lines.contains("web/front") && !lines.contains("shop/"), "{lines}");
    server.shutdown().await;
}

#[tokio::test]
async fn help_names_the_example_and_its_options() {
    for name in [
        "pods_by_node",
        "config_reload",
        "service_endpoints",
        "many_handlers",
        "operator",
    ] {
        let (lines, _) = run_embedded(name, "--help").await;
        assert!(lines.contains(&format!("--example {name} ")), "{lines}");
        assert!(lines.contains("--namespace NS"), "{lines}");
    }
}
