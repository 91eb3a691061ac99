//! LIST: versions, pages, tokens, forms.

use http::Method;
use informer_testing::{ApiServer, VersionFormat, WatchCache};
use serde_json::{Value, json};

use crate::support::{CONFIG_MAPS, call_with, check_refused, config_map, get, labelled};

/// A server with the config maps a to e at versions 11 to 15.
fn five() -> ApiServer {
    fill(ApiServer::builder().first_revision(6).start())
}

fn fill(server: ApiServer) -> ApiServer {
    for name in ["a", "b", "c", "d", "e"] {
        server.create(&config_map(name)).unwrap();
    }
    server
}

async fn page(server: &ApiServer, query: &str) -> (Vec<String>, Value) {
    let answer = get(server, &format!("{CONFIG_MAPS}?{query}")).await;
    assert_eq!(answer.code, 200, "{query}: {:?}", answer.bytes);
    (answer.names(), answer.json()["metadata"].clone())
}

fn token(metadata: &Value) -> String {
    metadata["continue"]
        .as_str()
        .expect("a continue token")
        .to_owned()
}

#[tokio::test(start_paused = true)]
async fn pages_come_from_the_snapshot_of_the_first_one() {
    let server = five();
    let (names, first) = page(&server, "limit=2").await;
    assert_eq!(
        (names, &first["resourceVersion"]),
        (vec!["a".into(), "b".into()], &json!("15"))
    );
    assert_eq!(first["remainingItemCount"], 3);
    server.delete(&config_map("d")).unwrap();
    server.create(&config_map("cc")).unwrap();
    let (names, second) = page(&server, &format!("limit=2&continue={}", token(&first))).await;
    assert_eq!(
        (names, &second["resourceVersion"]),
        (vec!["c".into(), "d".into()], &json!("15"))
    );
    let (names, last) = page(&server, &format!("limit=2&continue={}", token(&second))).await;
    assert_eq!(
        (names, last),
        (vec!["e".to_owned()], json!({ "resourceVersion": "15" }))
    );
}

#[tokio::test(start_paused = true)]
async fn the_number_of_remaining_items_is_unknown_with_a_selector() {
    let server = ApiServer::builder().first_revision(6).start();
    for (name, label) in [("a", "x"), ("b", "y"), ("c", "x"), ("d", "x"), ("e", "y")] {
        server.create(&labelled(name, label)).unwrap();
    }
    for (selector, pages) in [
        ("labelSelector=app%3Dx", ["a", "c", "d"]),
        (
            "fieldSelector=metadata.name%21%3Db%2Cmetadata.name%21%3De",
            ["a", "c", "d"],
        ),
        (
            "labelSelector=app&fieldSelector=metadata.name%21%3Da%2Cmetadata.name%21%3De",
            ["b", "c", "d"],
        ),
    ] {
        let mut next = String::new();
        for (place, expected) in pages.into_iter().enumerate() {
            let (names, metadata) = page(&server, &format!("limit=1&{selector}{next}")).await;
            assert_eq!(names, [expected], "{selector}");
            assert_eq!(metadata["remainingItemCount"], Value::Null, "{selector}");
            match place < pages.len() - 1 {
                true => next = format!("&continue={}", token(&metadata)),
                false => assert_eq!(metadata["continue"], Value::Null, "{selector}"),
            }
        }
    }
    // An empty selector selects everything, so the number is known.
    let (_, metadata) = page(&server, "limit=1&labelSelector=&fieldSelector=").await;
    assert_eq!(metadata["remainingItemCount"], 4);
}

#[tokio::test(start_paused = true)]
async fn the_number_of_remaining_items_shrinks_from_page_to_page() {
    let server = five();
    let (_, first) = page(&server, "limit=2").await;
    let (_, second) = page(&server, &format!("limit=2&continue={}", token(&first))).await;
    let (_, last) = page(&server, &format!("limit=2&continue={}", token(&second))).await;
    let remaining = [first, second, last].map(|metadata| metadata["remainingItemCount"].clone());
    assert_eq!(remaining, [json!(3), json!(1), Value::Null]);
    // With a limit that covers everything there is no next page.
    assert_eq!(
        page(&server, "limit=5").await.1,
        json!({ "resourceVersion": "15" })
    );
}

#[tokio::test(start_paused = true)]
async fn an_expired_token_is_refused_with_an_inconsistent_continue_token() {
    let server = five();
    let (_, first) = page(&server, "limit=2").await;
    server.create(&config_map("cc")).unwrap();
    server.compact(16);
    let answer = get(
        &server,
        &format!("{CONFIG_MAPS}?limit=2&continue={}", token(&first)),
    )
    .await;
    let status = answer.json();
    assert_eq!((answer.code, &status["reason"]), (410, &json!("Expired")));
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .starts_with("The provided continue parameter is too old")
    );
    let (names, _) = page(
        &server,
        &format!("limit=9&continue={}", token(&status["metadata"])),
    )
    .await;
    assert_eq!(names, ["c", "cc", "d", "e"]);
}

#[tokio::test(start_paused = true)]
async fn the_requested_version_decides_what_is_read() {
    let server = five();
    assert_eq!(
        page(&server, "resourceVersion=12&resourceVersionMatch=Exact")
            .await
            .0,
        ["a", "b"]
    );
    assert_eq!(
        page(&server, "resourceVersion=12&resourceVersionMatch=NotOlderThan")
            .await
            .0
            .len(),
        5
    );
    assert_eq!(
        page(&server, "resourceVersion=12").await.1["resourceVersion"],
        "15"
    );
    // Older than resourceVersionMatch: a limit makes the version exact.
    assert_eq!(
        page(&server, "resourceVersion=12&limit=1").await.1["remainingItemCount"],
        1
    );
    let message = "Timeout: Too large resource version: 99, current: 15";
    check_refused(
        &server,
        Method::GET,
        &format!("{CONFIG_MAPS}?resourceVersion=99"),
        Value::Null,
        504,
        message,
    )
    .await;
    server.compact(13);
    let uri = format!("{CONFIG_MAPS}?resourceVersion=12&resourceVersionMatch=Exact");
    let message = "The resourceVersion for the provided list is too old.";
    check_refused(&server, Method::GET, &uri, Value::Null, 410, message).await;
}

#[tokio::test(start_paused = true)]
async fn version_zero_ignores_the_limit_only_with_a_watch_cache() {
    assert_eq!(page(&five(), "resourceVersion=0&limit=2").await.0.len(), 5);
    let server = fill(ApiServer::builder().watch_cache(WatchCache::Off).start());
    assert_eq!(page(&server, "resourceVersion=0&limit=2").await.0.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn bad_selectors_are_refused_with_upstreams_message() {
    let server = five();
    let refuse = async |query: &str, message: &str| {
        check_refused(
            &server,
            Method::GET,
            &format!("{CONFIG_MAPS}?{query}"),
            Value::Null,
            400,
            message,
        )
        .await;
    };
    let known = "\"spec.foo\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"";
    refuse("fieldSelector=spec.foo%3D1", known).await;
    refuse(
        "labelSelector=a%20in",
        "unable to parse requirement: found '' expected: '('",
    )
    .await;
    refuse("limit=x", "strconv.ParseInt: parsing \"x\": invalid syntax").await;
    let message = "field label not supported: spec.foo";
    check_refused(
        &server,
        Method::GET,
        "/api/v1/pods?fieldSelector=spec.foo%3D1",
        Value::Null,
        400,
        message,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn metadata_alone_and_tables_are_served_on_request() {
    let server = five();
    let accept = |form: &str| format!("application/json;as={form};g=meta.k8s.io;v=v1");
    let ask = async |form: &str| {
        let accept = accept(form);
        call_with(
            &server,
            Method::GET,
            CONFIG_MAPS,
            &[("accept", &accept)],
            String::new(),
        )
        .await
        .json()
    };
    let list = ask("PartialObjectMetadataList").await;
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert_eq!(list["items"][0]["kind"], "PartialObjectMetadata");
    let table = ask("Table").await;
    assert_eq!(
        (&table["kind"], &table["rows"][0]["cells"][0]),
        (&json!("Table"), &json!("a"))
    );
    assert_eq!(table["columnDefinitions"][1]["name"], "Age");
}

#[tokio::test(start_paused = true)]
async fn items_of_built_in_kinds_do_not_repeat_their_type() {
    let list = get(&five(), CONFIG_MAPS).await.json();
    assert_eq!(
        (&list["kind"], &list["items"][0]["kind"]),
        (&json!("ConfigMapList"), &Value::Null)
    );
}

#[tokio::test(start_paused = true)]
async fn long_lists_are_compressed_for_clients_that_accept_gzip() {
    let server = ApiServer::start();
    for name in ["a", "b"] {
        let mut object = config_map(name);
        object["data"] = json!({ "k": "x".repeat(100_000) });
        server.create(&object).unwrap();
    }
    let ask = async |encoding: &str| {
        call_with(
            &server,
            Method::GET,
            CONFIG_MAPS,
            &[("accept-encoding", encoding)],
            String::new(),
        )
        .await
    };
    let packed = ask("gzip").await;
    assert_eq!(packed.headers["content-encoding"], "gzip");
    assert!(packed.bytes.len() < 10_000);
    assert!(!ask("identity").await.headers.contains_key("content-encoding"));
}

#[tokio::test(start_paused = true)]
async fn opaque_versions_are_accepted_although_they_are_not_numbers() {
    let server = fill(
        ApiServer::builder()
            .first_revision(6)
            .versions(VersionFormat::Opaque)
            .start(),
    );
    let (_, metadata) = page(&server, "").await;
    assert_eq!(metadata["resourceVersion"], "v51x");
    assert_eq!(
        page(&server, "resourceVersion=v21x&resourceVersionMatch=Exact")
            .await
            .0,
        ["a", "b"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_token_excludes_other_options_and_is_relative_to_the_collection() {
    let server = five();
    let (_, first) = page(&server, "limit=2").await;
    let uri = format!("{CONFIG_MAPS}?continue={}&resourceVersion=15", token(&first));
    let message = "specifying resource version is not allowed when using continue";
    check_refused(&server, Method::GET, &uri, Value::Null, 400, message).await;
    // As upstream, the token of one namespace continues in another one.
    let mut elsewhere = config_map("c");
    elsewhere["metadata"]["namespace"] = "other".into();
    server.create(&elsewhere).unwrap();
    let (_, first) = page(&server, "limit=2").await;
    let uri = format!("/api/v1/namespaces/other/configmaps?continue={}", token(&first));
    assert_eq!(get(&server, &uri).await.names(), ["c"]);
}
