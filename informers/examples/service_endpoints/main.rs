//! The ready addresses of each service, joined from two kinds: `cargo run --example service_endpoints -- --help`.

mod join;
#[path = "../shared/lib.rs"]
#[allow(dead_code, reason = "each example uses its part of what all share")]
mod shared;
mod story;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use informers::Event;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use shared::{Failure, Session, Usage};
use tokio::sync::Notify;

#[tokio::main]
async fn main() -> ExitCode {
    let usage =
        Usage::new("Shows the ready addresses of each service, and every change of them.").with_selector();
    shared::main(usage, story::tell, run).await
}

async fn run(session: &mut Session) -> Result<(), Failure> {
    // A change of either kind is a reason to look again; several at once are one.
    let changed = Arc::new(Notify::new());
    let factory = session
        .factory()
        // The join looks slices up by this label: with an index it costs what one service has.
        .kind::<EndpointSlice>(|slices| slices.label_index(join::SERVICE_NAME))
        .build()?;
    let services = factory.core().v1().services();
    let slices = factory.discovery().v1().endpoint_slices();

    let notify = changed.clone();
    services
        .informer()
        .add_handler(move |_: Event<Service>| notify.notify_one())?;
    let notify = changed.clone();
    slices
        .informer()
        .add_handler(move |_: Event<EndpointSlice>| notify.notify_one())?;
    factory.start();
    factory.wait_for_sync_within(Duration::from_secs(60)).await?;

    let (services, slices) = (services.lister(), slices.lister());
    let mut shown = join::Table::default();
    while session.or_end(changed.notified()).await.is_some() {
        let table = join::ready_addresses(&services, &slices, &session.options.selector);
        for line in table.changes_since(&shown) {
            session.line(&line)?;
        }
        shown = table;
    }
    factory.shutdown().await;
    Ok(())
}
