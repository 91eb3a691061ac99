//! Tests of the whole source: scripted responses through a real `kube::Client`.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::channel::mpsc;
use futures::stream::BoxStream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::client::Body;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, PartialObjectMeta};
use tower::{BoxError, ServiceExt as _};

use super::*;
use crate::scope::Scope;

mod answers;
mod bombs;
mod deep;
mod formats;
mod known;
mod lists;
mod protobuf;
mod requests;
mod watches;

type Chunks = BoxStream<'static, Result<Frame<Bytes>, BoxError>>;
type Answer = Response<StreamBody<Chunks>>;

/// A client that responds to every request with `answer`.
fn client(answer: impl Fn(Request<Body>) -> Answer + Send + Sync + 'static) -> kube::Client {
    let answer = Arc::new(answer);
    let service = tower::service_fn(move |request: Request<Body>| {
        let answer = Arc::clone(&answer);
        async move { Ok::<_, Infallible>(answer(request)) }
    });
    kube::Client::new(service, "default")
}

fn body(chunks: impl IntoIterator<Item = Result<Vec<u8>, BoxError>>) -> StreamBody<Chunks> {
    let frames: Vec<_> = chunks
        .into_iter()
        .map(|chunk| chunk.map(|bytes| Frame::data(bytes.into())))
        .collect();
    StreamBody::new(futures::stream::iter(frames).boxed())
}

fn chunks(text: &[u8], size: usize) -> Vec<Result<Vec<u8>, BoxError>> {
    text.chunks(size.max(1)).map(|chunk| Ok(chunk.to_vec())).collect()
}

fn inline() -> KubeSourceOptions {
    KubeSourceOptions {
        decode_on: DecodeOn::Worker,
        ..KubeSourceOptions::default()
    }
}

fn source(client: kube::Client, options: KubeSourceOptions) -> KubeSource<ConfigMap> {
    KubeSource::new(client, Scope::All, options).unwrap()
}

fn whole_list() -> ListRequest {
    ListRequest {
        from: ListFrom::MostRecent,
        limit: None,
        continue_token: None,
        answer_within: None,
    }
}

fn watch_after(version: &str) -> WatchRequest {
    WatchRequest {
        from: WatchFrom::After(version.into()),
        timeout: Duration::from_secs(300),
        answer_within: None,
    }
}

/// Reads a list and describes each event in one line.
async fn list_lines(source: &KubeSource<ConfigMap>) -> Vec<String> {
    list_lines_except(source, Known::nothing()).await
}

/// Reads a list except for known objects, and describes each event in one line.
async fn list_lines_except(source: &KubeSource<ConfigMap>, known: Known) -> Vec<String> {
    let mut stream = match source.list_except(whole_list(), known).await {
        Ok(stream) => stream,
        Err(error) => return vec![format!("refused: {error}")],
    };
    let mut lines = Vec::new();
    while let Some(event) = stream.next().await {
        lines.push(match event {
            Ok(ListEvent::Metadata(metadata)) => format!(
                "metadata {} {:?} {:?}",
                metadata.resource_version.unwrap(),
                metadata.continue_token,
                metadata.remaining
            ),
            Ok(ListEvent::Item(object)) => format!("item {}", ObjectKey::of(&object.metadata).unwrap()),
            Ok(ListEvent::Unchanged(key)) => format!("unchanged {key}"),
            Ok(ListEvent::Undecodable(object)) => {
                format!("undecodable {:?}", object.key.map(|key| key.to_string()))
            }
            Err(error) => format!("error: {error}"),
        });
    }
    lines
}

/// Reads a watch and describes each event in one line.
async fn watch_lines(source: &KubeSource<ConfigMap>) -> Vec<String> {
    watch_lines_except(source, Known::nothing()).await
}

/// Reads a watch except for known objects, and describes each event in one line.
async fn watch_lines_except(source: &KubeSource<ConfigMap>, known: Known) -> Vec<String> {
    let mut stream = match source.watch_except(watch_after("1"), known).await {
        Ok(stream) => stream,
        Err(error) => return vec![format!("refused: {error}")],
    };
    let mut lines = Vec::new();
    while let Some(event) = stream.next().await {
        lines.push(describe_event(event));
    }
    lines
}

fn describe_event(event: Result<WatchEvent<ConfigMap>, SourceError>) -> String {
    let key = |object: &ConfigMap| ObjectKey::of(&object.metadata).unwrap();
    match event {
        Ok(WatchEvent::Added(object)) => format!("added {}", key(&object)),
        Ok(WatchEvent::Modified(object)) => format!("modified {}", key(&object)),
        Ok(WatchEvent::Deleted(object)) => format!("deleted {}", key(&object)),
        Ok(WatchEvent::Bookmark { version, mark }) => format!("bookmark {} {mark:?}", version.unwrap()),
        Ok(WatchEvent::Undecodable { change, object }) => {
            format!(
                "undecodable {change:?} {:?}",
                object.key.map(|key| key.to_string())
            )
        }
        Ok(WatchEvent::Unchanged(key)) => format!("unchanged {key}"),
        Ok(WatchEvent::Unknown) => "unknown".to_owned(),
        Err(error) => format!("error: {error}"),
    }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// The integration tests run this for longer; this one keeps targets and corpus in step with the code.
#[test]
fn the_fuzz_targets_hold_on_their_corpus() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    if corpus.exists() {
        assert!(fuzzing::run_seeded(&corpus, 1, 500) > 2_000);
    }
}
