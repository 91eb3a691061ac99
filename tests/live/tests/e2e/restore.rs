//! An etcd that is restored to an older state while informers watch.

use std::time::Duration;

use http::{Request, Uri};
use informer_core::client::{ClientOptions, Protocols, from_config_with};
use informer_core::{InitialState, SharedInformer};
use informer_it::recorder::{Recorder, version_of};
use informer_live::{ADMIN, Cluster};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Patch, PatchParams};
use kube::client::Body;
use serde_json::json;

use crate::support::{Room, agree, cached, eventually, options, short_waits, start};
use crate::tap::Tap;

/// How long the server keeps each watch open. The informer's own timeout, of five minutes at least, stays as
/// it is.
const WATCH: &str = "2";

/// How many writes are lost. A kube-apiserver writes a few objects when it starts, and must not reach the
/// version that the informers have seen.
const LOST: usize = 300;

/// A kube-apiserver keeps a watch from a version that it has not reached open, and sends nothing. An informer
/// that only watched would be live and wrong until the server reaches the version, so it reads the server's
/// version after two such watches (`reflector/probe.rs`).
#[tokio::test]
async fn an_etcd_restored_to_an_older_state_is_noticed_by_its_watchers() {
    let mut cluster = Cluster::start(options()).await.unwrap();
    let room = Room::new(&cluster, "restored").await;
    room.create("kept", "1").await;
    room.create("changed", "1").await;
    let backup = cluster.backup().await.unwrap();

    let tap = Tap::default();
    let informers = [InitialState::WatchList, InitialState::List].map(|initial| {
        SharedInformer::<ConfigMap>::builder(tap.on(with_short_watches(http1(&cluster))))
            .namespace(&room.name)
            .reflector(|_| short_waits())
            .initial_state(initial)
            .build()
            .unwrap()
    });
    let recorders = informers
        .each_ref()
        .map(|informer| Recorder::of(informer).unwrap().0);
    for informer in &informers {
        start(informer).await;
    }
    room.create("lost", "1").await;
    let last = write_often(&room, "changed").await;
    for (informer, recorder) in informers.iter().zip(&recorders) {
        agree(informer, recorder, &room.items()).await;
    }

    cluster.restore(&backup).await.unwrap();
    let hurry = tokio::spawn(hurry());
    for (informer, recorder) in informers.iter().zip(&recorders) {
        cached(informer, &room.items()).await;
        assert_eq!(informer.status().scopes[0].counts.rewinds, 1);
        // Handlers are called after the cache has changed.
        eventually(async || match recorder.summary() {
            events if events.contains(&"missed lost".to_owned()) => Ok(()),
            events => Err(format!("{events:?}")),
        })
        .await;
    }
    let watch = format!("resourceVersion={last}");
    let is_watch = |uri: &str| uri.contains("watch=true") && uri.contains(&watch);
    let accepted = tap
        .seen()
        .iter()
        .filter(|seen| is_watch(&seen.uri) && seen.code == 200)
        .count();
    assert!(
        accepted >= 2,
        "{accepted} watches from {last} were accepted: the server refuses them now"
    );

    // Changes after the restore are received, too.
    room.update("changed", "after").await;
    for informer in &informers {
        cached(informer, &room.items()).await;
    }
    hurry.abort();
    for informer in informers {
        informer.shutdown().await;
    }
    cluster.stop();
}

/// Changes an object many times, and returns the last version.
async fn write_often(room: &Room, name: &str) -> String {
    for number in 0..LOST {
        let patch = Patch::Merge(json!({"data": {"value": format!("lost-{number}")}}));
        room.items()
            .patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }
    version_of(&room.update(name, "lost").await)
}

/// Makes tokio's clock run about a hundred times faster: two seconds of the server are more than three
/// minutes of the informer, and less than its timeout of a watch.
async fn hurry() {
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(10)).await;
        tokio::time::resume();
    }
}

/// A client without the pings of HTTP/2: with a clock that runs faster, their responses would come too late.
fn http1(cluster: &Cluster) -> Client {
    let options = ClientOptions {
        protocols: Protocols::Http1,
    };
    from_config_with(cluster.config_as(ADMIN).unwrap(), options).unwrap()
}

/// A client whose watches ask the server for [`WATCH`] seconds, so that they end soon, and in good order.
fn with_short_watches(client: Client) -> Client {
    let service = tower::service_fn(move |mut request: Request<Body>| {
        let client = client.clone();
        *request.uri_mut() = with_short_timeout(request.uri());
        async move { client.send(request).await }
    });
    Client::new(service, "default")
}

fn with_short_timeout(uri: &Uri) -> Uri {
    let text = uri.to_string();
    let Some((before, after)) = text.split_once("timeoutSeconds=") else {
        return uri.clone();
    };
    let rest = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
    format!("{before}timeoutSeconds={WATCH}{rest}").parse().unwrap()
}
