//! Tests of the HTTP requests.

use std::time::Duration;

use super::*;

fn endpoint(options: ListOptions) -> Endpoint {
    Endpoint {
        path: "/api/v1/pods".to_owned(),
        representation: Representation::Full,
        options,
        media_types: vec!["application/json"],
    }
}

fn check_list(from: ListFrom, limit: Option<u32>, token: Option<&str>, expected: &str) {
    let request = ListRequest {
        from,
        limit,
        continue_token: token.map(str::to_owned),
        answer_within: None,
    };
    let built = endpoint(ListOptions::default()).list(&request).unwrap();
    assert_eq!(built.uri().to_string(), expected, "{request:?}");
}

fn check_watch(from: WatchFrom, expected: &str) {
    let request = WatchRequest {
        from,
        timeout: Duration::from_millis(420_900),
        answer_within: None,
    };
    let built = endpoint(ListOptions::default()).watch(&request).unwrap();
    assert_eq!(built.uri().to_string(), expected, "{request:?}");
}

#[test]
fn lists_are_requested_as_upstream_does() {
    check_list(ListFrom::MostRecent, None, None, "/api/v1/pods");
    check_list(ListFrom::MostRecent, Some(500), None, "/api/v1/pods?limit=500");
    // kube-core's ListParams drops the version here.
    check_list(
        ListFrom::AnyCached,
        Some(500),
        None,
        "/api/v1/pods?limit=500&resourceVersion=0",
    );
    check_list(
        ListFrom::NotOlderThan("7".into()),
        None,
        None,
        "/api/v1/pods?resourceVersion=7",
    );
}

#[test]
fn a_limit_does_not_turn_not_older_than_into_exact() {
    check_list(
        ListFrom::NotOlderThan("7".into()),
        Some(500),
        None,
        "/api/v1/pods?limit=500&resourceVersion=7&resourceVersionMatch=NotOlderThan",
    );
    check_list(
        ListFrom::Exactly("7".into()),
        None,
        None,
        "/api/v1/pods?resourceVersion=7&resourceVersionMatch=Exact",
    );
}

#[test]
fn a_continue_token_is_sent_without_a_version() {
    for from in [
        ListFrom::AnyCached,
        ListFrom::NotOlderThan("7".into()),
        ListFrom::Exactly("7".into()),
    ] {
        check_list(
            from,
            Some(2),
            Some("a+/=="),
            "/api/v1/pods?limit=2&continue=a%2B%2F%3D%3D",
        );
    }
}

#[test]
fn watches_request_bookmarks_and_a_timeout() {
    check_watch(
        WatchFrom::After("12".into()),
        "/api/v1/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds=420&resourceVersion=12",
    );
    check_watch(
        WatchFrom::InitialEvents(WatchListFrom::MostRecent),
        "/api/v1/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds=420&sendInitialEvents=true\
         &resourceVersionMatch=NotOlderThan&resourceVersion=",
    );
    check_watch(
        WatchFrom::InitialEvents(WatchListFrom::NotOlderThan("12".into())),
        "/api/v1/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds=420&sendInitialEvents=true\
         &resourceVersionMatch=NotOlderThan&resourceVersion=12",
    );
}

#[test]
fn selectors_and_parameters_are_encoded_in_both() {
    let options = ListOptions::default()
        .labels("tier in (a, b)")
        .fields("spec.nodeName=n&1")
        .parameter("shardSelector", "shardRange(object.metadata.uid,'0x0','0x8')");
    let query = "labelSelector=tier%20in%20%28a%2C%20b%29&fieldSelector=spec.nodeName%3Dn%261\
                 &shardSelector=shardRange%28object.metadata.uid%2C%270x0%27%2C%270x8%27%29";
    let list = ListRequest {
        from: ListFrom::MostRecent,
        limit: None,
        continue_token: None,
        answer_within: None,
    };
    assert_eq!(
        endpoint(options.clone()).list(&list).unwrap().uri().to_string(),
        format!("/api/v1/pods?{query}")
    );
    let watch = WatchRequest {
        from: WatchFrom::After("1".into()),
        timeout: Duration::from_secs(300),
        answer_within: None,
    };
    assert_eq!(
        endpoint(options).watch(&watch).unwrap().uri().to_string(),
        format!(
            "/api/v1/pods?watch=true&{query}&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=1"
        )
    );
}

#[test]
fn selectors_are_sent_with_every_page_and_every_watch() {
    let options = ListOptions::default()
        .labels("a=b")
        .fields("c=d")
        .parameter("e", "f");
    let query = "labelSelector=a%3Db&fieldSelector=c%3Dd&e=f";
    let froms = [
        ListFrom::MostRecent,
        ListFrom::AnyCached,
        ListFrom::NotOlderThan("7".into()),
        ListFrom::Exactly("7".into()),
    ];
    for from in froms {
        for continue_token in [None, Some("next".to_owned())] {
            let request = ListRequest {
                from: from.clone(),
                limit: Some(2),
                continue_token,
                answer_within: None,
            };
            for representation in [Representation::Full, Representation::MetadataOnly] {
                let built = endpoint(options.clone())
                    .list_as(representation, &request)
                    .unwrap();
                assert!(built.uri().to_string().contains(query), "{request:?}");
            }
        }
    }
    for from in [
        WatchFrom::After("1".into()),
        WatchFrom::InitialEvents(WatchListFrom::MostRecent),
        WatchFrom::InitialEvents(WatchListFrom::NotOlderThan("1".into())),
    ] {
        let request = WatchRequest {
            from,
            timeout: Duration::from_secs(1),
            answer_within: None,
        };
        let built = endpoint(options.clone()).watch(&request).unwrap();
        assert!(built.uri().to_string().contains(query), "{request:?}");
    }
}

#[test]
fn a_url_over_the_limit_is_an_error() {
    let request = ListRequest {
        from: ListFrom::MostRecent,
        limit: None,
        continue_token: Some("x".repeat(URL_LIMIT)),
        answer_within: None,
    };
    let error = endpoint(ListOptions::default()).list(&request).unwrap_err();
    assert!(error.to_string().contains("longer than"), "{error}");
}

#[test]
fn empty_selectors_are_not_sent() {
    let list = ListRequest {
        from: ListFrom::MostRecent,
        limit: None,
        continue_token: None,
        answer_within: None,
    };
    let built = endpoint(ListOptions::default().labels(" ").fields(""))
        .list(&list)
        .unwrap();
    assert_eq!(built.uri().to_string(), "/api/v1/pods");
}
