//! Which pods are on which node, kept up to date by an index: `cargo run --example pods_by_node -- --help`.

use std::collections::BTreeSet;
use std::process::ExitCode;

use futures::StreamExt as _;
use informer_testing::demo::{self, Demo, Program, Script};
use informers::{Event, Index, IndexDefinition, Origin, SharedInformerFactory, client};
use k8s_openapi::api::core::v1::Pod;

#[tokio::main]
async fn main() -> ExitCode {
    let program = Program::new("Shows which pods are on which node, and every change of that.");
    program.script(Script::pods_on_nodes()).run(follow_nodes).await
}

/// An index is a value: all parts of a program that name it use the same one.
static BY_NODE: IndexDefinition<Pod, String> =
    IndexDefinition::new("node", |pod| node(pod).map(str::to_owned).into_iter().collect());

async fn follow_nodes(demo: &mut Demo) -> demo::Result {
    // The cluster of your kubeconfig, or an embedded server on which something happens.
    let client = demo.connect(client::try_default()).await?;
    let mut builder = SharedInformerFactory::builder(client).kind::<Pod>(|pods| pods.index(&BY_NODE));
    if let Some(namespaces) = demo.namespaces() {
        builder = builder.namespaces(namespaces);
    }
    let factory = builder.build()?;
    let pods = factory.core().v1().pods().informer();
    let by_node = pods.index(&BY_NODE)?;
    // A stream has the same events as a handler, for async code.
    let mut events = pods.events();

    factory.start();
    let mut progress = factory.progress();
    let synced = factory.wait_for_sync_within(demo.timeout());
    demo.wait(synced, async || progress.next().await).await?;

    for node in by_node.values() {
        demo.line(row(&node, &by_node));
    }
    while let Some(event) = demo.or_end(events.next()).await.flatten() {
        for node in affected(&event) {
            // The index has the change already: the cache is never behind an event.
            demo.line(row(node, &by_node));
        }
    }
    factory.shutdown().await;
    Ok(())
}

/// The nodes whose pods an event changes. Those of the initial state have been shown.
fn affected(event: &Event<Pod>) -> BTreeSet<&str> {
    let (before, after) = match event {
        Event::Added {
            origin: Origin::Initial,
            ..
        } => (None, None),
        Event::Added { object, .. } => (None, node(object)),
        Event::Updated { old, new, .. } => (node(old), node(new)),
        Event::Deleted(deleted) => (node(deleted.last_known()), None),
    };
    match before == after {
        true => BTreeSet::new(),
        false => before.into_iter().chain(after).collect(),
    }
}

fn row(node: &str, by_node: &Index<Pod, String>) -> String {
    let keys = by_node.keys(node);
    let names: Vec<String> = keys.iter().map(|key| key.to_string()).collect();
    format!("{node:<12} {:>4}  {}", names.len(), names.join(" "))
}

fn node(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}
