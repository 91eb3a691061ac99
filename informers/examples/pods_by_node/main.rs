//! Which pods are on which node, kept up to date: an index of one's own, `cargo run --example pods_by_node -- --help`.

#[path = "../shared/lib.rs"]
#[allow(dead_code, reason = "each example uses its part of what all share")]
mod shared;
mod story;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use futures::StreamExt as _;
use informers::{Event, Index, IndexDefinition, Origin};
use k8s_openapi::api::core::v1::Pod;
use shared::{Failure, Session, Usage, pod};

#[tokio::main]
async fn main() -> ExitCode {
    let usage = Usage::new("Shows which pods are on which node, and every change of that.");
    shared::main(usage, story::tell, run).await
}

/// An index is a value: every part of a program that names it means the same one.
static BY_NODE: IndexDefinition<Pod, String> = IndexDefinition::new("node", |pod| {
    pod::node(pod).map(str::to_owned).into_iter().collect()
});

async fn run(session: &mut Session) -> Result<(), Failure> {
    let factory = session
        .factory()
        .kind::<Pod>(|pods| pods.index(&BY_NODE))
        .build()?;
    let pods = factory.core().v1().pods().informer();
    let by_node = pods.index(&BY_NODE)?;
    let mut events = pods.events();
    factory.start();
    factory.wait_for_sync_within(Duration::from_secs(60)).await?;

    for node in by_node.values() {
        session.line(&row(&node, &by_node))?;
    }
    while let Some(event) = session.or_end(events.next()).await.flatten() {
        for node in concerned(&event) {
            // The index has the change already: the cache is never behind an event.
            session.line(&row(&node, &by_node))?;
        }
    }
    factory.shutdown().await;
    Ok(())
}

/// The nodes whose pods an event changes. The first list has been shown already.
fn concerned(event: &Event<Pod>) -> BTreeSet<String> {
    let (before, after) = match event {
        Event::Added {
            origin: Origin::Initial,
            ..
        } => (None, None),
        Event::Added { object, .. } => (None, pod::node(object)),
        Event::Updated { old, new, .. } => (pod::node(old), pod::node(new)),
        Event::Deleted(deleted) => (pod::node(deleted.last_known()), None),
    };
    match before == after {
        true => BTreeSet::new(),
        false => before.into_iter().chain(after).map(str::to_owned).collect(),
    }
}

fn row(node: &str, by_node: &Index<Pod, String>) -> String {
    let pods: Vec<String> = by_node.get(node).iter().map(|pod| pod::name(pod)).collect();
    format!("{node:<12} {:>4}  {}", pods.len(), pods.join(" "))
}
