//! Error responses, timeouts and failures to connect.

use super::*;

fn failing(code: u16, text: &'static str) -> KubeSource<ConfigMap> {
    let answer = move |_| {
        let text = text.as_bytes().to_vec();
        Response::builder()
            .status(code)
            .header("retry-after", "3")
            .body(body([Ok(text)]))
            .unwrap()
    };
    source(client(answer), inline())
}

/// Returns the error of a list, after checking that a watch has the same.
async fn error_of(code: u16, text: &'static str) -> SourceError {
    let list = failing(code, text)
        .list(whole_list())
        .await
        .err()
        .expect("the list fails");
    let watch = failing(code, text)
        .watch(watch_after("1"))
        .await
        .err()
        .expect("the watch fails");
    let of_watch = watch.to_string().replace("may not watch", "may not list");
    assert_eq!(list.to_string(), of_watch, "but for the verb");
    list
}

#[tokio::test]
async fn errors_have_a_status_and_retry_after() {
    let error = error_of(
        403,
        r#"{"kind":"Status","code":403,"reason":"Forbidden","message":"not for you"}"#,
    )
    .await;
    assert!(error.is_forbidden());
    assert!(
        error
            .to_string()
            .starts_with("the server answered 403 Forbidden: not for you; this account may not list "),
        "{error}"
    );
    let error = error_of(429, "slow down").await;
    assert!(error.is_too_many_requests());
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3)));
    let error = error_of(
        422,
        r#"{"kind":"Status","code":422,"reason":"Invalid","message":"sendInitialEvents is forbidden"}"#,
    )
    .await;
    assert!(error.is_invalid() && error.is_watch_list_refused());
    assert!(
        error_of(302, "").await.status().is_some(),
        "a redirect is an error"
    );
}

#[tokio::test]
async fn only_the_beginning_of_an_error_response_is_read() {
    let endless = |_| {
        let filler = futures::stream::repeat_with(|| Ok(Frame::data(Bytes::from_static(&[b'x'; 4096]))));
        Response::builder()
            .status(500)
            .body(StreamBody::new(filler.boxed()))
            .unwrap()
    };
    let error = source(client(endless), inline())
        .list(whole_list())
        .await
        .err()
        .expect("the list fails");
    assert!(error.is_internal());
    assert!(error.to_string().len() < 300, "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_request_without_a_response_times_out_after_the_deadline() {
    let service =
        tower::service_fn(|_: Request<Body>| futures::future::pending::<Result<Answer, Infallible>>());
    let source = source(kube::Client::new(service, "default"), inline());
    let began = tokio::time::Instant::now();
    let error = source.watch(watch_after("1")).await.err().expect("it times out");
    assert!(matches!(error, SourceError::Deadline { .. }), "{error:?}");
    assert_eq!(began.elapsed().as_secs(), 30);
}

#[tokio::test]
async fn an_encoding_that_was_not_requested_is_an_error() {
    let answer = |_| {
        Response::builder()
            .header("content-encoding", "br")
            .body(body([]))
            .unwrap()
    };
    let error = source(client(answer), inline())
        .list(whole_list())
        .await
        .err()
        .expect("the encoding is unsupported");
    assert!(matches!(error, SourceError::Protocol(_)), "{error:?}");
}

#[tokio::test]
async fn names_of_encodings_are_case_insensitive() {
    for encoding in ["Identity", "IDENTITY", "GZIP", "X-Gzip"] {
        let answer = move |_| {
            let response = Response::builder().header("content-encoding", encoding);
            response.body(body([])).unwrap()
        };
        let outcome = source(client(answer), inline()).list(whole_list()).await;
        assert!(outcome.is_ok(), "{encoding}: {:?}", outcome.err());
    }
}

#[tokio::test]
async fn a_refused_connection_is_reported_as_such() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let config = kube::Config::new(format!("http://127.0.0.1:{port}").parse().unwrap());
    let source = source(crate::client::from_config(config).unwrap(), inline());
    let error = source.list(whole_list()).await.err().expect("the port is closed");
    assert!(error.is_connection_refused(), "{error:?}");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_a_failure_to_connect() {
    let config = kube::Config::new("http://no-such-host.invalid:1".parse().unwrap());
    let source = source(crate::client::from_config(config).unwrap(), inline());
    let error = source
        .list(whole_list())
        .await
        .err()
        .expect("the host does not exist");
    assert!(error.is_connection_refused(), "{error:?}");
}
