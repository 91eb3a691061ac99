//! Follows the pods of a cluster, or of one inside this program: `cargo run --example quickstart -- --help`.
//!
//! What an informer needs is in [`run`], in the order a program of one's own would have it, and in `follow.rs`. The other
//! files are about what is around it: the screen, what to say of a server that refuses, and a small cluster to look at.

mod cluster;
mod follow;
mod overview;
mod patience;
#[path = "../shared/lib.rs"]
#[allow(dead_code, reason = "each example uses its part of what all share")]
mod shared;

use std::process::ExitCode;

use k8s_openapi::api::core::v1::Pod;

use follow::Follower;
use shared::ends::Ending;
use shared::screen::Tone;
use shared::{Failure, Session, Usage, pod};

#[tokio::main]
async fn main() -> ExitCode {
    let usage = Usage::new("Follows the pods of a cluster: lists them, watches them, and shows every change and the cache it keeps.").with_selector();
    shared::main(usage, cluster::live, run).await
}

/// Follows pods as the command line says, and sums up.
async fn run(session: &mut Session) -> Result<(), Failure> {
    let factory = session
        .factory()
        .give_up_refused_after(patience::REFUSED)
        .build()?;
    let pods = factory.core().v1().pods();
    let by_node = pods
        .informer()
        .add_index("node", |pod: &Pod| pod::node(pod).map(str::to_owned))?;

    let mut follower = Follower::new(&factory, by_node, session);
    let followed = follower.follow().await;
    // Whatever happened, no task of the informer is left.
    factory.shutdown().await;
    sum_up(&mut follower, followed?)
}

/// Says what was seen, from the cache as the informer left it.
fn sum_up(follower: &mut Follower<'_>, ending: Ending) -> Result<(), Failure> {
    let why = match ending {
        Ending::Interrupted => "Ctrl-C",
        Ending::TimeIsUp => "the time is up",
        Ending::StoryIsOver => "the cluster ended",
    };
    let time = follower.started.elapsed().as_secs_f32();
    let snapshot = follower.pods.snapshot();
    let (heard, screen) = (follower.heard, &mut follower.session.screen);
    screen.line("")?;
    let heading = screen.paint(Tone::Heading, &format!("Ended after {time:.1}s: {why}."));
    screen.line(&heading)?;
    screen.line(&format!(
        "  events    {} initial, {} added, {} updated, {} deleted",
        heard.initial, heard.added, heard.updated, heard.deleted
    ))?;
    screen.line(&format!(
        "  cache     {} pods in {} namespaces",
        snapshot.len(),
        snapshot.namespaces().len()
    ))?;
    if let Some(server) = &follower.session.server {
        let requests = server.requests();
        screen.line(&format!(
            "  requests  {} (lists: {}, watches: {})",
            requests.len(),
            requests.lists().len(),
            requests.watches().len()
        ))?;
    }
    Ok(())
}
