//! `informer-top`: which kinds of a Kubernetes cluster change most.
//!
//! The program discovers the kinds of a server, starts an informer of metadata for each, and draws their
//! status as a table.

mod app;
mod args;
mod caches;
mod kinds;
mod row;
mod sizes;
mod terminal;
mod view;

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use informer_testing::ApiServer;
use informer_testing::demo::Script;

use crate::app::App;
use crate::args::Args;
use crate::caches::Caches;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let Err(failure) = run(args).await else {
        return ExitCode::SUCCESS;
    };
    let text = chain(&*failure);
    // Nothing can be done about an error output that is closed.
    let _written = writeln!(std::io::stderr(), "error: {text}");
    ExitCode::FAILURE
}

/// An error with its causes.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

async fn run(args: Args) -> Result<(), Failure> {
    if !args.once && !std::io::stdout().is_terminal() {
        return Err("standard output is not a terminal; pass --once to print the table once".into());
    }
    let (client, server) = connect(&args).await?;
    let found = kinds::discover(&client).await?;
    if let Some(name) = kinds::unknown(&found, &args.kinds) {
        return Err(format!("the server has no kind {name:?} that can be watched").into());
    }
    let chosen = kinds::choose(found, &args.kinds, &args.namespaces, args.most);
    if chosen.kinds.is_empty() {
        return Err("no kind is left to show; --namespace leaves only namespaced kinds".into());
    }
    let app = App::new(server, chosen.left_out);
    let caches = Caches::start(client, chosen.kinds, &args.namespaces)?;
    match args.once {
        true => terminal::print_once(app, caches).await?,
        false => terminal::run(app, caches, args.interval()).await?,
    }
    Ok(())
}

/// Connects to the cluster of the kubeconfig, or starts a demo cluster. Also returns its name for display.
async fn connect(args: &Args) -> Result<(kube::Client, String), Failure> {
    if !args.embedded {
        let client = informers::client::try_default()
            .await
            .map_err(|error| format!("{}; pass --embedded for a demo cluster", chain(&error)))?;
        return Ok((client, address().await));
    }
    let server = Arc::new(ApiServer::builder().seed(1).start());
    let client = server.client();
    let script = Script::cluster().play(server)?;
    // If it fails, the cluster stays as it is.
    tokio::spawn(script);
    Ok((client, "demo cluster".to_owned()))
}

/// The host and port of the configured cluster. Not the whole URL, which may hold a password.
async fn address() -> String {
    let config = kube::Config::infer().await.ok();
    let authority = config.and_then(|config| {
        let host = config.cluster_url.host()?.to_owned();
        let port = config.cluster_url.port_u16();
        Some(port.map_or(host.clone(), |port| format!("{host}:{port}")))
    });
    authority.unwrap_or_else(|| "cluster".to_owned())
}
