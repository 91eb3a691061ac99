//! The router in a server of axum.

use axum::body::Body;
use axum::routing::get;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use informer_testing::ApiServer;
use informers::debug;
use tower::ServiceExt as _;

use crate::support::{config_maps, synced};

async fn body(app: &axum::Router, target: &str) -> (StatusCode, String) {
    let request = Request::builder().uri(target).body(Body::empty()).unwrap();
    let answer = app.clone().oneshot(request).await.unwrap();
    let status = answer.status();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn axum_mounts_the_router_with_and_without_the_prefix() {
    let server = ApiServer::start();
    config_maps(&server, "web", ["a".to_owned()]);
    let factory = synced(&server).await;
    let router = debug::router(&factory);
    let nested = axum::Router::new()
        .route("/", get(async || "own page"))
        .nest_service("/debug", router.clone());
    let routed = axum::Router::new()
        .route_service("/internal/debug", router.clone())
        .route_service("/internal/debug/{*rest}", router);
    for (app, prefix) in [(&nested, "/debug"), (&routed, "/internal/debug")] {
        for page in [prefix.to_owned(), format!("{prefix}?informer=configmaps")] {
            let (status, text) = body(app, &page).await;
            assert_eq!(status, StatusCode::OK, "{page}: {text}");
            assert!(text.contains("configmaps"), "{page}: {text}");
        }
        let (status, text) = body(app, &format!("{prefix}/keys.json?informer=configmaps")).await;
        assert_eq!(status, StatusCode::OK);
        assert!(text.contains("web/a"), "{text}");
        assert_eq!(
            body(app, &format!("{prefix}/informers.json")).await.0,
            StatusCode::OK
        );
        assert_eq!(
            body(app, &format!("{prefix}/other")).await.0,
            StatusCode::NOT_FOUND
        );
    }
    assert_eq!(body(&nested, "/debug/").await.0, StatusCode::OK);
    assert_eq!(body(&nested, "/").await.1, "own page");
}
