//! Six listeners of different speed and wishes on one informer: `cargo run --example many_handlers -- --help`.

mod handlers;
mod report;
#[path = "../shared/lib.rs"]
#[allow(dead_code, reason = "each example uses its part of what all share")]
mod shared;
mod story;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use report::Tally;
use shared::{Failure, Session, Usage};

/// Every handler hears everything again this often, unless it says otherwise.
const RESYNC: Duration = Duration::from_secs(2);

#[tokio::main]
async fn main() -> ExitCode {
    let usage = Usage::new("Shows what handlers of every sort hear from one informer.");
    shared::main(usage, story::tell, run).await
}

async fn run(session: &mut Session) -> Result<(), Failure> {
    let factory = session.factory().resync(RESYNC).build()?;
    let pods = factory.core().v1().pods().informer();
    let tally = Arc::new(Tally::default());
    handlers::add(&pods, &tally)?;
    // The sixth listener is a stream, read here.
    let mut events = pods.events_with(&handlers::named("stream").resync(Some(Duration::from_secs(1))));
    factory.start();
    // The cache, and every handler that is called: the slow one holds this up, and nothing else.
    factory.wait_for_sync_within(Duration::from_secs(60)).await?;

    while let Some(event) = session.or_end(events.next()).await.flatten() {
        tally.count("stream", &event);
        session.line(&report::describe(&event))?;
    }
    for line in report::table(&pods.status().handlers, &tally) {
        session.line(&line)?;
    }
    if let Some(server) = &session.server {
        let line = report::requests(&server.requests());
        session.line(&line)?;
    }
    factory.shutdown().await;
    Ok(())
}
