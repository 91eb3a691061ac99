//! Requests: paths, headers, and the effect of the compression layer.

use super::*;

/// Returns URI, `Accept` and `Accept-Encoding` of a list and a watch.
async fn requests_of<K, F>(layered: Layered, make: F) -> Vec<[String; 3]>
where
    K: crate::object::Object,
    F: FnOnce(kube::Client) -> KubeSource<K>,
{
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let service = tower::service_fn(move |request: Request<Body>| {
        let header = |name: &str| request.headers()[name].to_str().unwrap().to_owned();
        log.lock().unwrap().push([
            request.uri().to_string(),
            header("accept"),
            header("accept-encoding"),
        ]);
        async { Ok::<_, Infallible>(Response::new(body([]))) }
    });
    let client = match layered {
        Layered::Plain => kube::Client::new(service, "default"),
        Layered::Ours => kube::client::ClientBuilder::new(service, "default")
            .with_layer(&crate::client::layer())
            .build(),
    };
    let source = make(client);
    drop(source.list(whole_list()).await.unwrap());
    drop(source.watch(watch_after("7")).await.unwrap());
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 2);
    seen
}

#[derive(Clone, Copy)]
enum Layered {
    Plain,
    Ours,
}

const WATCH: &str = "watch=true&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=7";

#[tokio::test]
async fn all_namespaces_and_one_have_their_paths() {
    let options = KubeSourceOptions::default;
    let [list, watch] = requests_of(Layered::Plain, |client| {
        KubeSource::<Pod>::new(client, Scope::All, options()).unwrap()
    })
    .await
    .try_into()
    .unwrap();
    assert_eq!(list, ["/api/v1/pods", "application/json", "identity"]);
    assert_eq!(
        watch,
        [&format!("/api/v1/pods?{WATCH}"), "application/json", "identity"]
    );

    let scope = Scope::of(Some("web"));
    let requests = requests_of(Layered::Plain, |client| {
        KubeSource::<Pod>::new(client, scope, options()).unwrap()
    })
    .await;
    assert_eq!(requests[0][0], "/api/v1/namespaces/web/pods");
    assert_eq!(requests[1][0], format!("/api/v1/namespaces/web/pods?{WATCH}"));
}

#[tokio::test]
async fn only_our_own_layer_requests_compression() {
    let make = |client| KubeSource::<Pod>::new(client, Scope::All, KubeSourceOptions::default()).unwrap();
    for (layered, expected) in [(Layered::Plain, "identity"), (Layered::Ours, "gzip")] {
        for request in requests_of(layered, make).await {
            assert_eq!(request[2], expected);
        }
    }
}

#[tokio::test]
async fn other_requests_pass_the_layer_unchanged() {
    let service = tower::service_fn(|request: Request<Body>| async move {
        Ok::<_, Infallible>(request.headers().get("accept-encoding").cloned())
    });
    let layered = tower::Layer::layer(&crate::client::layer(), service);
    let answer = layered
        .oneshot(Request::get("/version").body(Body::empty()).unwrap())
        .await
        .unwrap();
    assert_eq!(answer, None);
}

#[tokio::test]
async fn metadata_is_requested_where_only_metadata_is_needed() {
    let make = |client| {
        KubeSource::<PartialObjectMeta<Pod>>::new(client, Scope::All, KubeSourceOptions::default()).unwrap()
    };
    let requests = requests_of(Layered::Plain, make).await;
    assert_eq!(requests[0][0], "/api/v1/pods");
    assert_eq!(
        requests[0][1],
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
    );
    assert_eq!(
        requests[1][1],
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
    );
}

#[tokio::test]
async fn dynamic_kinds_have_their_own_path_and_name() {
    let resource =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", "v1", "Widget"), "widgets");
    let make = |client| {
        let options = KubeSourceOptions::default();
        KubeSource::<DynamicObject>::of_type(client, &resource, Scope::of(Some("ns")), options).unwrap()
    };
    let requests = requests_of(Layered::Plain, make).await;
    assert_eq!(requests[0][0], "/apis/example.com/v1/namespaces/ns/widgets");
    let source = make(client(|_| Response::new(body([]))));
    assert_eq!(
        (source.resource(), source.namespace()),
        ("widgets.example.com", Some("ns"))
    );
}

#[tokio::test]
async fn options_and_namespaces_are_checked_at_creation() {
    let make = |scope, list_options| {
        let options = KubeSourceOptions {
            list_options,
            ..KubeSourceOptions::default()
        };
        KubeSource::<Pod>::new(client(|_| Response::new(body([]))), scope, options).map(drop)
    };
    for namespace in ["", "A", "a/b", "-a", "a-", "a?b", &"a".repeat(64)] {
        let error = make(Scope::of(Some(namespace)), ListOptions::default()).unwrap_err();
        assert_eq!(
            error,
            KubeSourceError::Namespace {
                namespace: namespace.to_owned()
            }
        );
    }
    let error = make(Scope::All, ListOptions::default().labels("a in (")).unwrap_err();
    assert!(
        matches!(
            error,
            KubeSourceError::ListOptions(ListOptionsError::LabelSelector(_))
        ),
        "{error:?}"
    );
    assert_eq!(
        make(Scope::of(Some("web-1")), ListOptions::default().labels("a=b")),
        Ok(())
    );
}
