//! Follows the pods of a cluster, or of one inside this program: `cargo run --example quickstart -- --help`.
//!
//! What an informer needs is in [`run`], in the order a program of one's own would have it, and in `follow.rs`. The other
//! files are about what is around it: the command line, kubeconfigs, the screen, and a small cluster to look at.

mod args;
mod cluster;
mod follow;
mod overview;
mod patience;
mod pod;
mod screen;
mod target;

use std::io::{self, Write};
use std::process::ExitCode;

use informers::{SharedInformer, client};
use k8s_openapi::api::core::v1::Pod;

use args::{Command, Options, Server};
use cluster::Living;
use follow::{Ending, Follower};
use overview::Overview;
use screen::{Look, Screen, Tone};
use target::{Environment, Target};

/// The embedded cluster tells the same story every time.
const SEED: u64 = 1;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1);
    let options = match args::parse(arguments.map(|argument| argument.to_string_lossy().into_owned())) {
        Ok(Command::Run(options)) => options,
        Ok(Command::Help) => {
            // Nobody is left to be told that this failed.
            let _written = io::stdout().write_all(args::HELP.as_bytes());
            return ExitCode::SUCCESS;
        }
        Err(problem) => return failed(2, &problem),
    };
    match run(&options).await {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that closed its end has seen enough, as in `quickstart | head`.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(Failure::Output(error)) => failed(1, &format!("the output cannot be written: {error}")),
        Err(Failure::NoCluster(problem)) => failed(
            1,
            &format!(
                "{}\n\nTo see it work without a cluster: cargo run --example quickstart -- --embedded",
                problem.trim_end()
            ),
        ),
        Err(Failure::Internal(problem)) => failed(1, &problem),
    }
}

fn failed(code: u8, problem: &str) -> ExitCode {
    let _written = writeln!(io::stderr(), "error: {problem}");
    ExitCode::from(code)
}

/// Why nothing can be shown.
#[derive(Debug)]
enum Failure {
    /// The output cannot be written.
    Output(io::Error),
    /// No cluster can be used, for this reason.
    NoCluster(String),
    /// What should not happen.
    Internal(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

fn internal(error: impl std::fmt::Display) -> Failure {
    Failure::Internal(error.to_string())
}

/// Follows pods as the options say, and sums up.
async fn run(options: &Options) -> Result<(), Failure> {
    let mut screen = Screen::new(io::stdout(), Look::of_stdout());
    let source = connect(options, &mut screen).await?;

    let mut builder = SharedInformer::<Pod>::builder(source.client);
    if !options.namespaces.is_empty() {
        builder = builder.namespaces(options.namespaces.iter().cloned());
    }
    let informer = builder.build().map_err(internal)?;
    let by_node = informer
        .add_index("node", |pod: &Pod| pod::node(pod).map(str::to_owned))
        .map_err(internal)?;

    let mut follower = Follower::new(&informer, by_node, screen);
    let followed = follower.follow(options.duration).await;
    informer.shutdown().await;

    match followed? {
        Ok(ending) => sum_up(follower, ending, source.embedded.as_ref())?,
        Err(trouble) => {
            let problem = patience::explain(trouble.as_ref(), &source.address, &options.namespaces);
            return Err(Failure::NoCluster(problem));
        }
    }
    match source.embedded {
        Some(living) => living.stop().await.map_err(internal),
        None => Ok(()),
    }
}

/// A server to follow.
struct Source {
    client: kube::Client,
    address: String,
    embedded: Option<Living>,
}

/// Finds the server to use, and says which one it is.
async fn connect(options: &Options, screen: &mut Screen<impl Write>) -> Result<Source, Failure> {
    let target = match options.server {
        Server::Embedded => Target::Nothing,
        Server::Configured => target::find(&Environment::of_process())
            .await
            .map_err(Failure::NoCluster)?,
    };
    match target {
        Target::Cluster { config, origin } => {
            let address = target::address(&config);
            let client = client::from_config(*config)
                .map_err(|error| Failure::NoCluster(format!("{origin}: {error}.")))?;
            screen.line(&format!("Following the pods of {address}, from {origin}."))?;
            Ok(Source {
                client,
                address,
                embedded: None,
            })
        }
        Target::Nothing => {
            let living = Living::start(SEED).map_err(internal)?;
            let why = match options.server {
                Server::Embedded => "",
                Server::Configured => "There is no kubeconfig. ",
            };
            screen.line(&format!(
                "{why}Following the pods of a small cluster on an API server inside this program."
            ))?;
            Ok(Source {
                client: living.server().client(),
                address: "the embedded API server".to_owned(),
                embedded: Some(living),
            })
        }
    }
}

/// Says what was seen, from the cache as the informer left it.
fn sum_up<W: Write>(
    follower: Follower<'_, W>,
    ending: Ending,
    embedded: Option<&Living>,
) -> Result<(), Failure> {
    let (heard, informer, mut screen) = (follower.heard, follower.informer, follower.screen);
    let why = match ending {
        Ending::Interrupted => "Ctrl-C",
        Ending::TimeIsUp => "the time is up",
        Ending::InformerStopped => "the informer stopped",
    };
    let snapshot = informer.indexer().snapshot();
    let overview = Overview::of(&snapshot, &follower.by_node);
    screen.line("")?;
    let heading = screen.paint(
        Tone::Heading,
        &format!(
            "Ended after {:.1}s: {why}.",
            follower.started.elapsed().as_secs_f32()
        ),
    );
    screen.line(&heading)?;
    screen.line(&format!(
        "  events    {} initial, {} added, {} updated, {} deleted",
        heard.initial, heard.added, heard.updated, heard.deleted
    ))?;
    screen.line(&format!(
        "  cache     {} pods in {} namespaces",
        snapshot.len(),
        overview.namespaces()
    ))?;
    if let Some(living) = embedded {
        let requests = living.server().requests();
        screen.line(&format!(
            "  requests  {} (lists: {}, watches: {})",
            requests.len(),
            requests.lists().len(),
            requests.watches().len()
        ))?;
    }
    Ok(())
}
