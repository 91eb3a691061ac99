//! The ready addresses of each service, joined from two kinds: `cargo run --example service_endpoints --
//! --help`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::Arc;

use informer_testing::demo::{self, Demo, Program, Script};
use informers::core::v1::ServiceLister;
use informers::discovery::v1::EndpointSliceLister;
use informers::{Event, ObjectKey, Selector, SharedInformerFactory, client};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use tokio::sync::Notify;

/// The label of a slice that names its service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

#[tokio::main]
async fn main() -> ExitCode {
    let program = Program::new("Shows the ready addresses of each service, and every change of them.");
    program
        .with_selector()
        .script(Script::endpoints())
        .run(follow_endpoints)
        .await
}

async fn follow_endpoints(demo: &mut Demo) -> demo::Result {
    // The cluster of your kubeconfig, or an embedded server on which something happens.
    let client = demo.connect(client::try_default()).await?;
    let selector: Selector = demo.selector().parse()?;
    let mut builder = SharedInformerFactory::builder(client)
        // The join selects slices by this label: with an index it reads the slices of one service only.
        .kind::<EndpointSlice>(|slices| slices.label_index(SERVICE_NAME));
    if let Some(namespaces) = demo.namespaces() {
        builder = builder.namespaces(namespaces);
    }
    let factory = builder.build()?;
    let services = factory.core().v1().services();
    let slices = factory.discovery().v1().endpoint_slices();

    // A change of either kind is a reason to look again; several at once are one.
    let changed = Arc::new(Notify::new());
    let notify = changed.clone();
    services
        .informer()
        .add_handler(move |_: Event<Service>| notify.notify_one())?;
    let notify = changed.clone();
    slices
        .informer()
        .add_handler(move |_: Event<EndpointSlice>| notify.notify_one())?;

    factory.start();
    let mut progress = factory.progress();
    let synced = factory.wait_for_sync_within(demo.timeout());
    demo.wait(synced, async || progress.next().await).await?;

    let (services, slices) = (services.lister(), slices.lister());
    let mut shown = Table::new();
    while demo.or_end(changed.notified()).await.is_some() {
        let table = ready_addresses(&services, &slices, &selector);
        for line in changes(&shown, &table) {
            demo.line(line);
        }
        shown = table;
    }
    factory.shutdown().await;
    Ok(())
}

/// The ready addresses of each service.
type Table = BTreeMap<ObjectKey, BTreeSet<String>>;

/// Joins the selected services with their slices. A service without slices has no addresses.
fn ready_addresses(services: &ServiceLister, slices: &EndpointSliceLister, selector: &Selector) -> Table {
    let mut table = Table::new();
    services.for_each(selector, |service| {
        let Some(key) = ObjectKey::of(&service.metadata) else {
            return;
        };
        // The name of a service is always a valid label value.
        let Ok(of_service) = Selector::from_labels([(SERVICE_NAME, key.name())]) else {
            return;
        };
        let mut ready = BTreeSet::new();
        let slices = slices.namespace(key.namespace().unwrap_or_default());
        slices.for_each(&of_service, |slice| ready.extend(ready_in(slice)));
        table.insert(key, ready);
    });
    table
}

fn ready_in(slice: &EndpointSlice) -> impl Iterator<Item = String> {
    // The field is optional in newer versions of k8s-openapi only: this reads both.
    let endpoints: Option<&Vec<Endpoint>> = (&slice.endpoints).into();
    let ready = endpoints.into_iter().flatten().filter(|endpoint| {
        let conditions = endpoint.conditions.as_ref();
        // By the rules of the API, an unknown condition counts as ready.
        conditions.and_then(|conditions| conditions.ready) != Some(false)
    });
    ready.flat_map(|endpoint| endpoint.addresses.clone())
}

/// A line for each service that is new, was deleted, or has other addresses.
fn changes(before: &Table, after: &Table) -> Vec<String> {
    let deleted = before.keys().filter(|service| !after.contains_key(*service));
    let deleted = deleted.map(|service| format!("{:<20} deleted", service.to_string()));
    let changed = after
        .iter()
        .filter(|(service, ready)| before.get(*service) != Some(*ready));
    let changed = changed.map(|(service, ready)| {
        let addresses = Vec::from_iter(ready.iter().map(String::as_str)).join(" ");
        format!("{:<20} {} ready  {addresses}", service.to_string(), ready.len())
    });
    deleted.chain(changed).collect()
}
