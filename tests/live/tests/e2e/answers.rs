//! The answers of the embedded server beside those of a real one, request by request.
//!
//! Users test their programs against the embedded server, so its answers must be the real ones. Each table of
//! requests is sent to both servers in the same order. Status codes, headers and whole bodies are compared,
//! after UIDs, versions, times and tokens are replaced by marks. A difference fails the test unless [`known`]
//! lists it with a reason; a listed difference that did not occur fails the test, too.

/// A custom resource.
mod custom;
/// What differs on purpose, and why.
mod known;
/// Lists and watches: versions, pages, selectors, bookmarks.
mod lists;
/// Makes the answers of two servers comparable.
mod normal;
/// Create, read, replace and delete.
mod objects;
/// The four types of patches.
mod patches;
/// Sends requests and reads answers.
mod player;

use informer_live::{Cluster, WatchList};
use informer_testing::ApiServer;
use serde_json::Value;

use self::known::Known;
use self::player::{Request, Server, Step};
use crate::support::{options, watch_list};

/// One place in which the answers to a request differ.
struct Difference {
    step: &'static str,
    request: String,
    /// A JSON pointer into the compared answer, such as `/body/reason`.
    at: String,
    real: Value,
    embedded: Value,
}

/// Plays tables on both servers and compares the answers.
async fn check(real: &Server, embedded: &Server, tables: &[Vec<Step>], known: &[Known]) {
    let mut differences = Vec::new();
    for steps in tables {
        differences.extend(self::differences(real, embedded, steps).await);
    }
    let listed = |difference: &Difference, known: &Known| {
        known.step == difference.step && difference.at.starts_with(known.at)
    };
    let unlisted: Vec<String> = differences
        .iter()
        .filter(|difference| !known.iter().any(|known| listed(difference, known)))
        .map(|difference| {
            format!(
                "{}\n  {}\n  {}\n    real:     {}\n    embedded: {}",
                difference.step, difference.request, difference.at, difference.real, difference.embedded
            )
        })
        .collect();
    let stale: Vec<String> = known
        .iter()
        .filter(|known| tables.iter().flatten().any(|step| step.is_named(known.step)))
        .filter(|known| !differences.iter().any(|difference| listed(difference, known)))
        .map(|known| format!("{} {}", known.step, known.at))
        .collect();
    assert!(
        unlisted.is_empty() && stale.is_empty(),
        "{} differences that are not listed:\n{}\nlisted, but equal: {stale:#?}",
        unlisted.len(),
        unlisted.join("\n")
    );
}

async fn differences(real: &Server, embedded: &Server, steps: &[Step]) -> Vec<Difference> {
    let mut differences = Vec::new();
    let [ours, theirs] = [player::play(embedded, steps), player::play(real, steps)];
    let (ours, theirs) = tokio::join!(ours, theirs);
    for (ours, theirs) in ours.into_iter().zip(theirs) {
        normal::compare(
            &theirs.content,
            &ours.content,
            &mut String::new(),
            &mut |at, real, embedded| {
                differences.push(Difference {
                    step: theirs.step,
                    request: theirs.request.clone(),
                    at: at.to_owned(),
                    real: real.clone(),
                    embedded: embedded.clone(),
                });
            },
        );
    }
    differences
}

fn embedded() -> informer_testing::Builder {
    let watch_lists = match watch_list() {
        WatchList::On => informer_testing::WatchList::On,
        WatchList::Off => informer_testing::WatchList::Off,
    };
    ApiServer::builder().watch_list(watch_lists)
}

fn tables() -> [Vec<Step>; 4] {
    [
        objects::steps(),
        lists::steps(),
        patches::steps(),
        custom::steps(),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_server_answers_as_the_real_one() {
    let real = Server::Real(Box::new(Cluster::start(options()).await.unwrap()));
    let embedded = Server::Embedded(embedded().start());
    check(&real, &embedded, &tables(), known::DIFFERENCES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_server_forgets_history_as_the_real_one() {
    let mut options = options();
    // Without its cache the server reads etcd, whose history can be compacted.
    options.flags = vec!["--watch-cache=false".to_owned()];
    let real = Server::Real(Box::new(Cluster::start(options).await.unwrap()));
    let embedded = embedded()
        .watch_cache(informer_testing::WatchCache::Off)
        .expired_watch(informer_testing::ExpiredWatch::InStream);
    let embedded = Server::Embedded(embedded.start());
    check(&real, &embedded, &[lists::history()], known::DIFFERENCES).await;
}

/// What differs from run to run is not compared: no difference is left between two servers of one make.
#[tokio::test(flavor = "multi_thread")]
async fn two_embedded_servers_answer_alike_and_other_settings_show() {
    let server = |builder: informer_testing::Builder| Server::Embedded(builder.start());
    let one = server(ApiServer::builder());
    let other = server(ApiServer::builder().seed(7).first_revision(5_000));
    check(&one, &other, &tables(), &[]).await;
    let old = server(ApiServer::builder().watch_list(informer_testing::WatchList::Off));
    let new = server(ApiServer::builder());
    let differences = differences(&old, &new, &lists::steps()).await;
    let differ = |step: &str, at: &str| {
        let mut differences = differences.iter();
        differences.any(|difference| difference.step == step && difference.at == at)
    };
    assert!(differ("initial events", "/code") && !differ("list", "/code"));
}

/// The request that creates the namespace of a table.
fn namespace(name: &'static str) -> Step {
    Request::post(
        "create a namespace",
        "/api/v1/namespaces",
        serde_json::json!({ "metadata": { "name": name } }),
    )
    .by("table")
    .into()
}
