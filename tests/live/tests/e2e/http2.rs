//! HTTP/2: many informers on few connections, and a server that stops without closing them.

use std::time::{Duration, Instant};

use futures::future::join_all;
use informer_core::client::{ClientOptions, Protocols, from_config_with};
use informer_core::{SharedInformer, State};
use informer_live::{ADMIN, Cluster};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;

use crate::support::{Room, cached, eventually, options, shared, short_waits, until};
use crate::wire::Wire;

const INFORMERS: usize = 100;

fn informer(client: kube::Client, room: &Room) -> SharedInformer<ConfigMap> {
    SharedInformer::builder(client)
        .namespace(&room.name)
        .reflector(|_| short_waits())
        .build()
        .unwrap()
}

/// A client of HTTP/2, also where the suite runs without fast paths.
fn http2(config: kube::Config) -> kube::Client {
    let options = ClientOptions {
        protocols: Protocols::Http2AndHttp1,
    };
    from_config_with(config, options).unwrap()
}

async fn synced(client: &kube::Client, room: &Room, count: usize) -> Vec<SharedInformer<ConfigMap>> {
    let informers: Vec<_> = (0..count).map(|_| informer(client.clone(), room)).collect();
    for informer in &informers {
        informer.start().unwrap();
    }
    for informer in &informers {
        cached(informer, &room.items()).await;
    }
    informers
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_informers_share_three_connections() {
    let cluster = shared().await;
    let room = Room::new(cluster, "shared").await;
    room.create("a", "1").await;
    let wire = Wire::to(cluster).await;
    let client = http2(wire.config_as(cluster, ADMIN));
    let informers = synced(&client, &room, INFORMERS).await;
    eventually(async || match wire.connections() {
        1..=3 => Ok(()),
        other => Err(format!("{other} connections")),
    })
    .await;
    room.update("a", "2").await;
    for informer in &informers {
        cached(informer, &room.items()).await;
        informer.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_http2_every_watch_has_a_connection() {
    let cluster = shared().await;
    let room = Room::new(cluster, "single").await;
    room.create("a", "1").await;
    let wire = Wire::to(cluster).await;
    let options = ClientOptions {
        protocols: Protocols::Http1,
    };
    let client = from_config_with(wire.config_as(cluster, ADMIN), options).unwrap();
    let informers = synced(&client, &room, 5).await;
    assert!(wire.connections() >= 5, "{} connections", wire.connections());
    for informer in &informers {
        informer.shutdown().await;
    }
}

/// The kernel of a stopped process acknowledges every packet, so that TCP notices nothing. Without pings,
/// missing bookmarks show it after about three minutes.
#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_server_is_noticed_by_pings_within_a_minute() {
    let cluster = Cluster::start(options()).await.unwrap();
    let room = Room::new(&cluster, "stopped").await;
    room.create("a", "1").await;
    let client = http2(cluster.config_as(ADMIN).unwrap());
    let informers = synced(&client, &room, 10).await;
    cluster.pause().unwrap();
    let began = Instant::now();
    for informer in &informers {
        until(informer, "in error", |status| status.scopes[0].counts.errors > 0).await;
    }
    let noticed = began.elapsed();
    cluster.resume().unwrap();
    // 45 s by the pings, then the wait for the answer to the next request; and the machine may be busy.
    assert!(noticed < Duration::from_secs(100), "after {noticed:?}");
    room.update("a", "2").await;
    for informer in &informers {
        until(informer, "live", |status| matches!(status.state, State::Live)).await;
        cached(informer, &room.items()).await;
        let lists = informer.status().scopes[0].counts.lists;
        assert_eq!(lists, 1, "a watch that broke is resumed without a list");
        informer.shutdown().await;
    }
    cluster.stop();
}

/// `--goaway-chance` closes connections at random, to spread clients over the servers behind a load balancer.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_sends_goaway_at_random_fails_no_request() {
    let mut options = options();
    options.flags = vec!["--goaway-chance=0.02".to_owned()];
    let cluster = Cluster::start(options).await.unwrap();
    let room = Room::new(&cluster, "goaway").await;
    room.create("a", "1").await;
    let wire = Wire::to(&cluster).await;
    let client = http2(wire.config_as(&cluster, ADMIN));
    let informers = synced(&client, &room, 10).await;
    let items: Api<ConfigMap> = Api::namespaced(client, &room.name);
    for _ in 0..50 {
        // At once, so that a GOAWAY meets other requests on its connection.
        for answer in join_all((0..20).map(|_| items.get("a"))).await {
            answer.expect("a GOAWAY fails no request");
        }
    }
    // A thousand requests: about twenty connections were given up.
    assert!(wire.accepted() >= 5, "{} connections", wire.accepted());
    room.update("a", "2").await;
    for informer in &informers {
        cached(informer, &room.items()).await;
        let counts = informer.status().scopes[0].counts;
        assert_eq!((counts.lists, counts.errors), (1, 0));
        informer.shutdown().await;
    }
    cluster.stop();
}
