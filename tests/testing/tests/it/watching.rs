//! WATCH: order, selectors, bookmarks, initial events, compaction, timeouts.

use std::time::Duration;

use informer_testing::{ApiServer, ExpiredWatch, WatchList};
use serde_json::{Value, json};

use crate::support::{CONFIG_MAPS, Lines, check_refused, config_map, get, labelled};

/// A server whose first free revision is 11, so that versions in expectations are short.
fn server() -> ApiServer {
    ApiServer::builder().first_revision(6).start()
}

fn create(server: &ApiServer, object: &Value) {
    server.create(object).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_watch_sends_every_change_after_its_version_in_order() {
    let server = server();
    create(&server, &config_map("a"));
    let mut watch = Lines::open(&server, &format!("{CONFIG_MAPS}?watch=1&resourceVersion=10")).await;
    create(&server, &config_map("b"));
    let mut changed = config_map("a");
    changed["data"] = json!({ "k": "v" });
    server.update(&changed).unwrap();
    server.delete(&config_map("b")).unwrap();
    assert_eq!(
        watch.take(4).await,
        ["ADDED a@11", "ADDED b@12", "MODIFIED a@13", "DELETED b@14"]
    );
    assert_eq!(server.watchers(), 1);
    drop(watch);
    assert_eq!(server.watchers(), 0);
}

#[tokio::test(start_paused = true)]
async fn leaving_a_selector_sends_deleted_and_entering_sends_added() {
    let server = server();
    let mut watch = Lines::open(
        &server,
        &format!("{CONFIG_MAPS}?watch=1&resourceVersion=10&labelSelector=app%3Dx"),
    )
    .await;
    create(&server, &labelled("a", "x"));
    server.update(&labelled("a", "y")).unwrap();
    server.update(&labelled("a", "x")).unwrap();
    create(&server, &labelled("b", "y"));
    server.delete(&labelled("b", "y")).unwrap();
    server.delete(&labelled("a", "x")).unwrap();
    assert_eq!(
        watch.take(4).await,
        ["ADDED a@11", "DELETED a@12", "ADDED a@13", "DELETED a@16"]
    );
}

#[tokio::test(start_paused = true)]
async fn initial_events_end_with_an_annotated_bookmark_and_the_watch_continues() {
    let server = server();
    create(&server, &config_map("b"));
    create(&server, &config_map("a"));
    let query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = Lines::open(&server, &format!("{CONFIG_MAPS}?{query}")).await;
    assert_eq!(
        watch.take(3).await,
        ["ADDED a@12", "ADDED b@11", "BOOKMARK end@12"]
    );
    create(&server, &config_map("c"));
    assert_eq!(watch.take(1).await, ["ADDED c@13"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_list_has_many_gzip_members_if_the_client_accepts_gzip() {
    let server = server();
    create(&server, &config_map("a"));
    let uri = format!("{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true");
    let mut watch = Lines::open_with(&server, &uri, &[("accept-encoding", "gzip")]).await;
    assert_eq!(watch.headers["content-encoding"], "gzip");
    assert_eq!(watch.take(2).await, ["ADDED a@11", "BOOKMARK end@11"]);
    create(&server, &config_map("b"));
    assert_eq!(watch.take(1).await, ["ADDED b@12"]);
    let uri = format!("{CONFIG_MAPS}?watch=1&resourceVersion=11");
    let plain = Lines::open_with(&server, &uri, &[("accept-encoding", "gzip")]).await;
    assert!(!plain.headers.contains_key("content-encoding"));
}

#[tokio::test(start_paused = true)]
async fn bookmarks_are_sent_at_their_interval_and_before_the_timeout() {
    let server = server();
    let uri = format!("{CONFIG_MAPS}?watch=1&resourceVersion=10&allowWatchBookmarks=true&timeoutSeconds=90");
    let started = tokio::time::Instant::now();
    let mut watch = Lines::open(&server, &uri).await;
    create(&server, &secret());
    assert_eq!(watch.take(1).await, ["BOOKMARK -@11"]);
    assert_eq!(started.elapsed(), Duration::from_secs(60));
    assert_eq!(watch.take(1).await, ["BOOKMARK -@11"]);
    assert_eq!(started.elapsed(), Duration::from_secs(88));
    assert_eq!(watch.next().await, None);
    assert_eq!(started.elapsed(), Duration::from_secs(90));
}

/// A change that a watch of config maps sees only as a bookmark.
fn secret() -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s", "namespace": "default" } })
}

/// As the real server: a bookmark without new information is not sent.
#[tokio::test(start_paused = true)]
async fn a_watch_gets_no_bookmark_for_its_start_version() {
    let server = server();
    let initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&";
    for (query, expected) in [("resourceVersion=10", vec![]), (initial, vec!["BOOKMARK end@10"])] {
        let query = format!("watch=1&{query}&allowWatchBookmarks=true&timeoutSeconds=300");
        let mut watch = Lines::open(&server, &format!("{CONFIG_MAPS}?{query}")).await;
        assert_eq!(watch.rest().await, expected, "{query}");
    }
}

/// kube-apiserver 1.37.1 answers 200, sends nothing, and closes the watch at its timeout.
#[tokio::test(start_paused = true)]
async fn a_watch_from_a_future_version_sends_nothing() {
    let server = server();
    let uri = format!("{CONFIG_MAPS}?watch=1&resourceVersion=12&allowWatchBookmarks=true&timeoutSeconds=90");
    let mut watch = Lines::open(&server, &uri).await;
    create(&server, &config_map("a"));
    assert_eq!((watch.code, watch.rest().await), (200, Vec::new()));
    // Changes after the version are sent.
    let mut watch = Lines::open(&server, &uri).await;
    create(&server, &config_map("b"));
    create(&server, &config_map("c"));
    assert_eq!(watch.take(2).await, ["ADDED c@13", "BOOKMARK -@13"]);
}

#[tokio::test(start_paused = true)]
async fn a_compacted_version_is_refused_in_the_stream_or_as_an_answer() {
    let server = server();
    create(&server, &config_map("a"));
    create(&server, &config_map("b"));
    server.compact(12);
    let uri = format!("{CONFIG_MAPS}?watch=1&resourceVersion=11");
    let mut watch = Lines::open(&server, &uri).await;
    assert_eq!(
        (watch.code, watch.rest().await),
        (
            200,
            vec!["ERROR 410 too old resource version: 11 (12)".to_owned()]
        )
    );
    let strict = ApiServer::builder()
        .first_revision(6)
        .expired_watch(ExpiredWatch::Response)
        .start();
    create(&strict, &config_map("a"));
    strict.compact(11);
    let answer = get(&strict, &format!("{CONFIG_MAPS}?watch=1&resourceVersion=10")).await;
    assert_eq!(
        (answer.code, answer.json()["reason"].as_str()),
        (410, Some("Expired"))
    );
}

#[tokio::test(start_paused = true)]
async fn watch_options_are_validated_with_upstreams_messages() {
    let uri = format!("{CONFIG_MAPS}?watch=1&sendInitialEvents=true");
    let message = "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: \
        sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
    check_refused(&server(), http::Method::GET, &uri, Value::Null, 422, message).await;
    let old = ApiServer::builder().watch_list(WatchList::Off).start();
    let message = "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents \
        is forbidden for watch unless the WatchList feature gate is enabled";
    let uri = format!("{uri}&resourceVersionMatch=NotOlderThan");
    check_refused(&old, http::Method::GET, &uri, Value::Null, 422, message).await;
}

#[tokio::test(start_paused = true)]
async fn a_version_in_the_future_is_awaited_or_refused_in_the_stream() {
    let server = server();
    let mut watch = Lines::open(&server, &format!("{CONFIG_MAPS}?watch=1&resourceVersion=11")).await;
    create(&server, &config_map("a"));
    create(&server, &config_map("b"));
    assert_eq!(watch.take(1).await, ["ADDED b@12"]);
    let query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=99";
    let mut watch = Lines::open(&server, &format!("{CONFIG_MAPS}?{query}")).await;
    let expected = "ERROR 504 Timeout: Too large resource version: 99, current: 12";
    assert_eq!((watch.code, watch.rest().await), (200, vec![expected.to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn closing_watches_and_dropping_the_server_end_the_streams() {
    let server = server();
    let uri = format!("{CONFIG_MAPS}?watch=1&resourceVersion=10");
    let mut first = Lines::open(&server, &uri).await;
    server.close_watches();
    assert_eq!(first.next().await, None);
    let mut second = Lines::open(&server, &uri).await;
    drop(server);
    assert_eq!(second.next().await, None);
}

/// More than twice the changes that the server reads under one lock, and more bytes than one chunk.
const MANY: usize = 1_300;

#[tokio::test(start_paused = true)]
async fn a_watch_that_lags_by_several_batches_skips_nothing() {
    let server = server();
    let uri = format!("{CONFIG_MAPS}?watch=1&resourceVersion=10&allowWatchBookmarks=true");
    let mut early = Lines::open(&server, &uri).await;
    let mut expected = Vec::new();
    for number in 0..MANY {
        create(&server, &config_map(&format!("m{number:04}")));
        expected.push(format!("ADDED m{number:04}@{}", 11 + number));
    }
    assert_eq!(early.take(MANY).await, expected);
    assert_eq!(early.take(1).await, [format!("BOOKMARK -@{}", 10 + MANY)]);
    let mut late = Lines::open(&server, &uri).await;
    assert_eq!(late.take(MANY).await, expected);
    create(&server, &config_map("last"));
    assert_eq!(late.take(1).await, [format!("ADDED last@{}", 11 + MANY)]);
}

#[tokio::test(start_paused = true)]
async fn a_selective_watch_that_lags_by_several_batches_skips_nothing() {
    let server = server();
    let mut expected = Vec::new();
    for number in 0..MANY {
        // Two changes, one of them selected, and one change of another kind.
        create(&server, &labelled(&format!("x{number:04}"), "x"));
        expected.push(format!("ADDED x{number:04}@{}", server.revision()));
        create(&server, &labelled(&format!("y{number:04}"), "y"));
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": format!("s{number}"), "namespace": "default" },
        });
        create(&server, &secret);
    }
    let uri = format!("{CONFIG_MAPS}?watch=1&resourceVersion=10&labelSelector=app%3Dx");
    let mut watch = Lines::open(&server, &uri).await;
    assert_eq!(watch.take(MANY).await, expected);
    server.delete(&labelled("x0000", "x")).unwrap();
    assert_eq!(
        watch.take(1).await,
        [format!("DELETED x0000@{}", server.revision())]
    );
}

#[tokio::test(start_paused = true)]
async fn an_initial_state_of_several_batches_is_complete() {
    let server = server();
    for number in 0..MANY {
        create(&server, &config_map(&format!("m{number:04}")));
    }
    let query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = Lines::open(&server, &format!("{CONFIG_MAPS}?{query}")).await;
    let events = watch.take(MANY + 1).await;
    assert_eq!(events[0], "ADDED m0000@11");
    assert_eq!(events[MANY - 1], format!("ADDED m{:04}@{}", MANY - 1, 10 + MANY));
    assert_eq!(events[MANY], format!("BOOKMARK end@{}", 10 + MANY));
}

#[tokio::test(start_paused = true)]
async fn compacting_an_older_revision_does_not_restore_history() {
    let server = server();
    for name in ["a", "b", "c"] {
        create(&server, &config_map(name));
    }
    server.compact(13);
    server.compact(11);
    for (version, expected) in [
        (12, "ERROR 410 too old resource version: 12 (13)"),
        (11, "ERROR 410 too old resource version: 11 (13)"),
    ] {
        let uri = format!("{CONFIG_MAPS}?watch=1&resourceVersion={version}");
        assert_eq!(Lines::open(&server, &uri).await.rest().await, [expected]);
    }
    let uri = format!("{CONFIG_MAPS}?resourceVersion=12&resourceVersionMatch=Exact");
    assert_eq!(get(&server, &uri).await.code, 410);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_lags_too_far_is_closed() {
    let server = ApiServer::builder().first_revision(6).watch_buffer(2).start();
    let mut watch = Lines::open(&server, &format!("{CONFIG_MAPS}?watch=1&resourceVersion=10")).await;
    for name in ["a", "b", "c"] {
        create(&server, &config_map(name));
    }
    assert_eq!(watch.next().await, None);
}
