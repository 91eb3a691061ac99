//! The same server over a socket.

use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams, WatchEvent, WatchParams};

use crate::support::config_map;

#[tokio::test]
async fn a_client_over_http_writes_and_watches() {
    let server = ApiServer::builder().start_http().await.unwrap();
    let url = server.url().expect("it listens");
    assert!(server.kubeconfig().unwrap().contains(&url));
    let config = kube::Config::new(url.parse().unwrap());
    let api: Api<ConfigMap> = Api::namespaced(kube::Client::try_from(config).unwrap(), "default");
    let watch = api.watch(&WatchParams::default(), "0").await.unwrap();
    let mut watch = std::pin::pin!(watch);
    api.create(
        &PostParams::default(),
        &serde_json::from_value(config_map("a")).unwrap(),
    )
    .await
    .unwrap();
    loop {
        match futures::StreamExt::next(&mut watch)
            .await
            .expect("an event")
            .unwrap()
        {
            WatchEvent::Bookmark(_) => continue,
            WatchEvent::Added(object) => break assert_eq!(object.metadata.name.as_deref(), Some("a")),
            other => panic!("unexpected {other:?}"),
        }
    }
    server.shutdown().await;
    assert!(api.get("a").await.is_err());
}
