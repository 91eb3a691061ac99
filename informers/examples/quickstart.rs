//! Follows the pods of a cluster, or of a demo cluster inside this program: `cargo run --example quickstart
//! -- --help`.

use std::process::ExitCode;
use std::time::Duration;

use informer_testing::demo::{self, Demo, PodTable, Program};
use informers::{Event, Index, Origin, Selector, SharedInformerFactory, Snapshot, client, debug};
use k8s_openapi::api::core::v1::Pod;
use tokio::time::sleep;

#[tokio::main]
async fn main() -> ExitCode {
    let program = Program::new("Follows the pods of a cluster: shows every change, and the cache it keeps.");
    let program = program.with_selector().with_rbac().with_debug_port();
    program.run(follow_pods).await
}

async fn follow_pods(demo: &mut Demo) -> demo::Result {
    // The cluster of your kubeconfig, or a demo cluster inside this program.
    let client = demo.connect(client::try_default()).await?;
    let selector: Selector = demo.selector().parse()?;
    let mut builder = SharedInformerFactory::builder(client);
    if let Some(namespaces) = demo.namespaces() {
        builder = builder.namespaces(namespaces);
    }
    let factory = builder.build()?;
    let pods = factory.core().v1().pods();
    // An index finds the pods of a node without reading all the others.
    let node = |pod: &Pod| pod.spec.as_ref()?.node_name.clone();
    let by_node = pods.informer().add_index("node", node)?;
    if demo.prints_rbac() {
        return demo.print(factory.rights()); // The least rights of this program, for `kubectl apply -f -`.
    }
    // A handler receives every change in order, on its own task.
    let screen = demo.screen();
    pods.informer()
        .add_handler(move |event: Event<Pod>| match event {
            Event::Added {
                object,
                origin: Origin::Initial,
                ..
            } => screen.existing(&object),
            Event::Added { object, .. } => screen.added(&object),
            Event::Updated { old, new, .. } => screen.updated(&old, &new),
            Event::Deleted(deleted) => screen.deleted(deleted.last_known()),
        })?;

    // A page that shows what the informers do, for a browser.
    if let Some(port) = demo.debug_port() {
        let server = debug::serve(&factory, port).await?;
        demo.line(format_args!("The debug page is {}", server.url()));
    }
    factory.start(); // Nothing is sent to the server before this.
    let mut progress = factory.progress();
    let synced = factory.wait_for_sync_within(demo.timeout());
    demo.wait(synced, async || progress.next().await).await?;

    // The cache is complete, and follows the cluster until Ctrl-C.
    let (lister, informer) = (pods.lister(), pods.informer());
    demo.footer(move || informer.status().state);
    demo.table(&table(&lister.snapshot(), &by_node, &selector));
    while demo.or_end(sleep(Duration::from_secs(5))).await.is_some() {
        demo.table(&table(&lister.snapshot(), &by_node, &selector));
    }
    demo.table(&table(&lister.snapshot(), &by_node, &selector));
    factory.shutdown().await; // When it returns, no task of the informers is left.
    Ok(())
}

/// Counts the selected pods. A snapshot does not change while it is read, so all numbers agree.
fn table(cache: &Snapshot<Pod>, by_node: &Index<Pod, String>, selector: &Selector) -> PodTable {
    let version = cache.resource_version().map(|version| version.to_string());
    let mut table = PodTable::new(format!("The cache at version {}", version.unwrap_or_default()));
    for (_, pod) in cache.select(selector) {
        table.add(&pod);
    }
    let by_node = cache.index(by_node);
    for node in by_node.values() {
        let pods = by_node.get(&node);
        let selected = pods.iter().filter(|pod| selector.matches_object(&***pod));
        table.add_node(&node, selected.count());
    }
    table
}
