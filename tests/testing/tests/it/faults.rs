//! Each fault has its documented effect, on the selected requests, as often as configured.

use std::time::Duration;

use http::Method;
use informer_testing::{ApiServer, Cut, EventType, Fault, Garble, Outcome, Profile, Rule, Verb};
use serde_json::{Value, json};

use crate::support::{CONFIG_MAPS, Lines, check_refused, config_map, get, send};

/// A server with the config maps a and b at versions 11 and 12.
fn two() -> ApiServer {
    let server = ApiServer::builder().first_revision(6).start();
    server.create(&config_map("a")).unwrap();
    server.create(&config_map("b")).unwrap();
    server
}

const WATCH: &str = "/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=10";
const WATCH_LIST: &str = "/api/v1/namespaces/default/configmaps?watch=1&sendInitialEvents=true\
                          &resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

/// Returns the events of a watch with a fault, and how it ended.
async fn check_watch(server: &ApiServer, uri: &str, fault: Fault, expected: &[&str]) {
    let id = server.faults().add(Rule::new(fault).once());
    let mut watch = Lines::open(server, &format!("{uri}&timeoutSeconds=1")).await;
    let mut seen = Vec::new();
    loop {
        match watch.try_next().await {
            Ok(Some(event)) if event["object"]["metadata"].is_object() || event["type"] == "ERROR" => {
                seen.push(crate::support::summary(&event));
            }
            Ok(Some(event)) => seen.push(format!("{} ?", event["type"].as_str().unwrap())),
            Ok(None) => break seen.push("end".into()),
            Err(_) => break seen.push("broken".into()),
        }
    }
    assert_eq!(seen, expected);
    assert_eq!(server.faults().hits(id), 1);
}

#[tokio::test(start_paused = true)]
async fn refusals_apply_to_the_requests_they_name_as_often_as_set() {
    let server = two();
    let rule = Rule::new(Fault::too_many_requests(7))
        .on(Verb::List)
        .resource("configmaps")
        .after(1)
        .times(2);
    let id = server.faults().add(rule);
    let mut codes = Vec::new();
    for _ in 0..4 {
        codes.push(get(&server, CONFIG_MAPS).await.code);
    }
    assert_eq!((codes, server.faults().hits(id)), (vec![200, 429, 429, 200], 2));
    assert_eq!(get(&server, "/api/v1/pods").await.code, 200);
    server.faults().add(Rule::new(Fault::too_many_requests(7)).once());
    assert_eq!(get(&server, CONFIG_MAPS).await.headers["retry-after"], "7");
    server.faults().add(Fault::Forbidden);
    let message = "configmaps is forbidden: User \"test\" cannot list resource \"configmaps\" in API \
        group \"\" in the namespace \"default\"";
    check_refused(&server, Method::GET, CONFIG_MAPS, Value::Null, 403, message).await;
    server.faults().clear();
    assert_eq!(get(&server, CONFIG_MAPS).await.code, 200);
}

#[tokio::test(start_paused = true)]
async fn connections_are_refused_hang_or_are_delayed() {
    let server = two();
    server.faults().add(Rule::new(Fault::Refuse).once());
    let refused = send(&server, Method::GET, CONFIG_MAPS, &[], String::new())
        .await
        .unwrap_err();
    assert_eq!(refused, "connection refused");
    assert_eq!(server.requests().last().unwrap().outcome, Outcome::Failed);

    let started = tokio::time::Instant::now();
    server
        .faults()
        .add(Rule::new(Fault::Delay(Duration::from_secs(5))).once());
    assert_eq!(get(&server, CONFIG_MAPS).await.code, 200);
    assert_eq!(started.elapsed(), Duration::from_secs(5));

    let id = server.faults().add(Rule::new(Fault::Hang).once());
    let mut hanging = Box::pin(send(&server, Method::GET, CONFIG_MAPS, &[], String::new()));
    let waited = tokio::time::timeout(Duration::from_secs(3600), &mut hanging).await;
    assert!(waited.is_err());
    assert_eq!(server.requests().last().unwrap().outcome, Outcome::Pending);
    server.faults().remove(id);
    assert!(hanging.await.is_err());
}

#[tokio::test(start_paused = true)]
async fn watches_end_break_or_fall_silent_as_scripted() {
    let server = two();
    check_watch(&server, WATCH, Fault::CloseWatch { after: 0 }, &["end"]).await;
    check_watch(
        &server,
        WATCH,
        Fault::CloseWatch { after: 1 },
        &["ADDED a@11", "end"],
    )
    .await;
    check_watch(
        &server,
        WATCH,
        Fault::Cut(Cut::Events(1)),
        &["ADDED a@11", "broken"],
    )
    .await;
    check_watch(
        &server,
        WATCH,
        Fault::Cut(Cut::MidObject(1)),
        &["ADDED a@11", "broken"],
    )
    .await;
    check_watch(&server, WATCH, Fault::Cut(Cut::Bytes(30)), &["broken"]).await;
    let error = informer_testing::ApiError::new(410, "Expired", "gone");
    let fault = Fault::ErrorEvent { after: 1, error };
    check_watch(&server, WATCH, fault, &["ADDED a@11", "ERROR 410 gone", "end"]).await;
    check_watch(
        &server,
        WATCH,
        Fault::Fragment(7),
        &["ADDED a@11", "ADDED b@12", "end"],
    )
    .await;
    let fault = Fault::DropEvents { after: 0, count: 1 };
    check_watch(&server, WATCH, fault, &["ADDED b@12", "end"]).await;

    let id = server
        .faults()
        .add(Rule::new(Fault::HalfOpen { after: 1 }).once());
    let mut watch = Lines::open(&server, WATCH).await;
    assert_eq!(watch.take(1).await, ["ADDED a@11"]);
    assert!(
        tokio::time::timeout(Duration::from_secs(36_000), watch.try_next())
            .await
            .is_err()
    );
    server.faults().remove(id);
    assert!(watch.try_next().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_cut_at_an_age() {
    let server = two();
    let begun = tokio::time::Instant::now();
    let fault = Fault::Cut(Cut::After(Duration::from_millis(600)));
    check_watch(&server, WATCH, fault, &["ADDED a@11", "ADDED b@12", "broken"]).await;
    assert_eq!(begun.elapsed().as_millis(), 600);
    assert_eq!(server.faults().struck().get("Cut After"), Some(&1));
}

#[tokio::test(start_paused = true)]
async fn copies_of_another_namespace_are_sent_to_requests_of_one_namespace() {
    let server = two();
    let foreign = |namespace: Option<&str>| Fault::Foreign {
        namespace: namespace.map(str::to_owned),
    };
    let events = ["ADDED a@11", "ADDED a@11", "ADDED b@12", "ADDED b@12", "end"];
    check_watch(&server, WATCH, foreign(Some("elsewhere")), &events).await;
    // A copy in the requested namespace is not foreign: the fault does not apply.
    let own = server.faults().add(Rule::new(foreign(Some("default"))));
    let list = get(&server, CONFIG_MAPS).await.json();
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    assert_eq!(server.faults().hits(own), 0);
    server.faults().remove(own);
    for (namespace, expected) in [(Some("elsewhere"), json!("elsewhere")), (None, Value::Null)] {
        server.faults().add(Rule::new(foreign(namespace)).once());
        let list = get(&server, CONFIG_MAPS).await.json();
        let namespaces: Vec<_> = list["items"].as_array().unwrap().iter().collect();
        let namespaces: Vec<_> = namespaces
            .iter()
            .map(|item| &item["metadata"]["namespace"])
            .collect();
        let default = json!("default");
        assert_eq!(namespaces, [&default, &default, &expected, &expected]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cut_within_a_character_leaves_half_of_it() {
    let server = ApiServer::builder().first_revision(6).start();
    let mut object = config_map("a");
    object["data"] = json!({ "k": "é" });
    server.create(&object).unwrap();
    server.faults().add(Fault::Cut(Cut::MidCharacter(0)));
    let response = send(&server, Method::GET, WATCH, &[], String::new())
        .await
        .unwrap();
    let mut body = http_body_util::BodyExt::into_data_stream(response.into_body());
    let chunk = futures::StreamExt::next(&mut body).await.unwrap().unwrap();
    assert!(std::str::from_utf8(&chunk).is_err());
    assert_eq!(chunk.last(), Some(&0xC3));
    assert!(futures::StreamExt::next(&mut body).await.unwrap().is_err());
}

#[tokio::test(start_paused = true)]
async fn faults_apply_to_the_end_bookmark_and_initial_events() {
    let server = two();
    let all = ["ADDED a@11", "ADDED b@12"];
    let with = |rest: &[&'static str]| [&all[..], rest].concat();
    check_watch(&server, WATCH_LIST, Fault::OmitEndBookmark, &with(&["end"])).await;
    check_watch(
        &server,
        WATCH_LIST,
        Fault::PlainEndBookmark,
        &with(&["BOOKMARK -@12", "end"]),
    )
    .await;
    check_watch(
        &server,
        WATCH_LIST,
        Fault::FalseEndBookmark,
        &with(&["BOOKMARK -@12", "end"]),
    )
    .await;
    check_watch(
        &server,
        WATCH_LIST,
        Fault::OmitBookmarkVersion,
        &with(&["BOOKMARK end@-", "end"]),
    )
    .await;
    let twice = [
        "ADDED a@11",
        "ADDED a@11",
        "ADDED b@12",
        "ADDED b@12",
        "BOOKMARK end@12",
        "end",
    ];
    check_watch(&server, WATCH_LIST, Fault::DuplicateInitial, &twice).await;
    server.delete(&config_map("a")).unwrap();
    let fault = Fault::ChangesBeforeEnd { revisions: 1 };
    check_watch(
        &server,
        WATCH_LIST,
        fault,
        &with(&["DELETED a@13", "BOOKMARK end@13", "end"]),
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn shuffled_initial_events_depend_only_on_the_seed() {
    let server = ApiServer::start();
    for number in 0..8 {
        server.create(&config_map(&format!("m{number}"))).unwrap();
    }
    let mut orders = Vec::new();
    for seed in [1, 1, 2] {
        server
            .faults()
            .add(Rule::new(Fault::ShuffleInitial { seed }).once());
        orders.push(Lines::open(&server, WATCH_LIST).await.take(8).await);
    }
    assert_eq!(orders[0], orders[1]);
    assert_ne!(orders[0], orders[2]);
}

#[tokio::test(start_paused = true)]
async fn empty_gzip_members_do_not_disturb_a_multi_member_reader() {
    let server = two();
    server.faults().add(Fault::EmptyMembers);
    let mut watch = Lines::open_with(&server, WATCH_LIST, &[("accept-encoding", "gzip")]).await;
    assert_eq!(
        watch.take(3).await,
        ["ADDED a@11", "ADDED b@12", "BOOKMARK end@12"]
    );
    server.faults().clear();
    server.faults().add(Fault::Cut(Cut::MidMember(0)));
    let mut watch = Lines::open_with(&server, WATCH_LIST, &[("accept-encoding", "gzip")]).await;
    assert!(watch.try_next().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn objects_are_corrupted_in_lists_and_events() {
    let server = two();
    let fault = |garble| Fault::GarbleEvent {
        kind: EventType::Added,
        index: 0,
        garble,
    };
    check_watch(
        &server,
        WATCH,
        fault(Garble::Content),
        &["ADDED a@11", "ADDED b@12", "end"],
    )
    .await;
    check_watch(
        &server,
        WATCH,
        fault(Garble::Key),
        &["ADDED ?", "ADDED b@12", "end"],
    )
    .await;
    check_watch(
        &server,
        WATCH,
        fault(Garble::Null),
        &["ADDED ?", "ADDED b@12", "end"],
    )
    .await;
    check_watch(&server, WATCH, fault(Garble::Syntax), &["broken"]).await;
    server.faults().add(
        Rule::new(Fault::GarbleItem {
            index: 1,
            garble: Garble::Content,
        })
        .once(),
    );
    let list = get(&server, CONFIG_MAPS).await.json();
    assert_eq!(
        (
            &list["items"][1]["metadata"]["labels"],
            &list["items"][1]["metadata"]["name"]
        ),
        (&json!("garbled"), &json!("b"))
    );
}

#[tokio::test(start_paused = true)]
async fn lists_are_truncated_stripped_or_sent_as_tables() {
    let server = two();
    let once = |fault| server.faults().add(Rule::new(fault).once());
    once(Fault::TruncateList { bytes: 100 });
    let answer = get(&server, CONFIG_MAPS).await;
    assert_eq!((answer.code, answer.bytes.len()), (200, 100));
    once(Fault::OmitListVersion);
    assert_eq!(get(&server, CONFIG_MAPS).await.json()["metadata"], json!({}));
    once(Fault::Table);
    assert_eq!(get(&server, CONFIG_MAPS).await.json()["kind"], "Table");
    let metadata = get(&server, &format!("{CONFIG_MAPS}?limit=1")).await.json()["metadata"].clone();
    once(Fault::ExpireToken);
    assert_eq!(get(&server, CONFIG_MAPS).await.code, 200);
    let uri = format!(
        "{CONFIG_MAPS}?limit=1&continue={}",
        metadata["continue"].as_str().unwrap()
    );
    assert_eq!(get(&server, &uri).await.code, 410);
    assert_eq!(get(&server, &uri).await.code, 200);
}

#[tokio::test(start_paused = true)]
async fn a_stale_replica_reads_an_old_state_and_its_watches_catch_up() {
    let server = two();
    let id = server.faults().add(Fault::Stale(11));
    let list = get(&server, CONFIG_MAPS).await;
    assert_eq!(
        (list.names(), &list.json()["metadata"]["resourceVersion"]),
        (vec!["a".to_owned()], &json!("11"))
    );
    let mut watch = Lines::open(&server, WATCH).await;
    assert_eq!(watch.take(1).await, ["ADDED a@11"]);
    assert!(
        tokio::time::timeout(Duration::from_secs(60), watch.next())
            .await
            .is_err()
    );
    server.faults().remove(id);
    assert_eq!(watch.take(1).await, ["ADDED b@12"]);
}

#[tokio::test(start_paused = true)]
async fn a_rewind_undoes_writes_and_closes_watches() {
    let server = two();
    let mut watch = Lines::open(&server, WATCH).await;
    assert_eq!(watch.take(2).await, ["ADDED a@11", "ADDED b@12"]);
    server.rewind(11).unwrap();
    assert_eq!(watch.next().await, None);
    assert_eq!(
        (get(&server, CONFIG_MAPS).await.names(), server.revision()),
        (vec!["a".to_owned()], 11)
    );
    server.compact(11);
    assert!(server.rewind(10).is_err());
}

#[tokio::test(start_paused = true)]
async fn random_faults_depend_only_on_the_seed() {
    let run = async |seed| {
        let server = two();
        server.faults().random(seed, Profile::mild());
        let mut seen = Vec::new();
        for _ in 0..60 {
            seen.push(
                match send(&server, Method::GET, CONFIG_MAPS, &[], String::new()).await {
                    Ok(response) => response.status().as_u16(),
                    Err(_) => 0,
                },
            );
        }
        seen
    };
    let (first, again, other) = (run(1).await, run(1).await, run(2).await);
    assert_eq!(first, again);
    assert_ne!(first, other);
    assert!(
        first.iter().any(|code| *code != 200) && first.contains(&200),
        "{first:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_log_records_requests_and_answers() {
    let server = two();
    get(&server, &format!("{CONFIG_MAPS}?limit=5&resourceVersion=0")).await;
    drop(
        Lines::open_with(
            &server,
            WATCH_LIST,
            &[("user-agent", "me/1"), ("accept-encoding", "gzip")],
        )
        .await,
    );
    let requests = server.requests().of("configmaps");
    let list = &requests.lists()[0];
    assert_eq!(
        (list.parameter("limit"), list.resource_version(), list.code()),
        (Some("5"), "0", Some(200))
    );
    let watch = &requests.watches()[0];
    assert!(watch.is_watch_list());
    assert_eq!(
        (watch.user_agent.as_str(), watch.accept_encoding.as_str()),
        ("me/1", "gzip")
    );
    assert_eq!(requests.after(list.number).len(), 1);
    server.clear_requests();
    assert!(server.requests().is_empty());
}
