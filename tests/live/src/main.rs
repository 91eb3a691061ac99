//! The program behind `cargo xtask apiserver`: builds the servers, and keeps a cluster up between two
//! commands.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program")]

mod candidate;
mod keeper;
mod progress;

use std::error::Error;
use std::process::ExitCode;

use informer_live::{Binaries, BinariesError, ClusterError, ClusterOptions, WatchList};

use self::progress::ProgressLine;

/// Errors are only ever printed, so one boxed type serves them all.
type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// The exit code if no server exists and none can be built. `cargo xtask e2e` then skips the tests.
const NOTHING_TO_RUN: u8 = 3;

/// The exit code if etcd is too old for watch lists. `cargo xtask e2e` then tests without them.
const NO_WATCH_LISTS: u8 = 4;

const USAGE: &str = "\
usage: informer-live <command>

  build                                        find kube-apiserver and etcd, or build them
  up [--watch-list on|off] [--port <number>]   start a cluster that stays, and print its kubeconfig's path
  kubeconfig                                   print that path again
  down                                         end that cluster
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let error = match dispatch(&arguments) {
        Ok(code) => return code,
        Err(error) => error,
    };
    eprintln!("error: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        eprintln!("  because: {cause}");
        source = cause.source();
    }
    match error.downcast_ref() {
        Some(BinariesError::NoGo) => ExitCode::from(NOTHING_TO_RUN),
        _ => ExitCode::FAILURE,
    }
}

fn dispatch(arguments: &[&str]) -> Result<ExitCode> {
    match arguments {
        ["build"] => return show(&find_or_build()?),
        ["up", options @ ..] => {
            let options = options_of(options)?;
            find_or_build()?;
            println!("{}", keeper::up(&options)?.display());
        }
        // Started by `up`. Not in the usage: it stays in the foreground and prints one line.
        ["keep", options @ ..] => keeper::keep(options_of(options)?.into())?,
        // Started by the tests of elections. Not in the usage.
        ["campaign", kubeconfig, namespace, identity] => {
            candidate::campaign(kubeconfig, namespace, identity)?;
        }
        ["kubeconfig"] => println!("{}", keeper::kubeconfig()?.display()),
        ["down"] => keeper::down()?,
        _ => return Err(format!("cannot understand `{}`\n\n{USAGE}", arguments.join(" ")).into()),
    }
    Ok(ExitCode::SUCCESS)
}

/// Says which programs there are, and what they cannot do.
fn show(binaries: &Binaries) -> Result<ExitCode> {
    let etcd = binaries.etcd_version()?;
    println!("{}", binaries.kube_apiserver().display());
    println!("{} ({etcd})", binaries.etcd().display());
    if etcd.reports_progress() {
        return Ok(ExitCode::SUCCESS);
    }
    let error = ClusterError::EtcdTooOld {
        version: etcd.to_string(),
    };
    println!("{error}");
    Ok(ExitCode::from(NO_WATCH_LISTS))
}

fn find_or_build() -> Result<Binaries> {
    let mut line = ProgressLine::default();
    Ok(Binaries::find_or_build(&mut |progress| line.show(progress))?)
}

/// The options of a cluster on the command line.
#[derive(Clone, Debug)]
struct UpOptions {
    watch_list: WatchList,
    port: Option<u16>,
}

fn options_of(mut arguments: &[&str]) -> Result<UpOptions> {
    let mut options = UpOptions {
        watch_list: WatchList::On,
        port: None,
    };
    while let [name, value, rest @ ..] = arguments {
        match (*name, *value) {
            ("--watch-list", "on") => options.watch_list = WatchList::On,
            ("--watch-list", "off") => options.watch_list = WatchList::Off,
            ("--port", number) => options.port = Some(number.parse()?),
            _ => return Err(format!("cannot understand `{name} {value}`\n\n{USAGE}").into()),
        }
        arguments = rest;
    }
    match arguments {
        [] => Ok(options),
        _ => Err(format!("`{}` lacks its value\n\n{USAGE}", arguments.join(" ")).into()),
    }
}

impl UpOptions {
    /// The command line that [`options_of`] reads back.
    fn arguments(&self) -> Vec<String> {
        let watch_list = match self.watch_list {
            WatchList::On => "on",
            WatchList::Off => "off",
        };
        let mut arguments = vec!["--watch-list".to_owned(), watch_list.to_owned()];
        if let Some(port) = self.port {
            arguments.extend(["--port".to_owned(), port.to_string()]);
        }
        arguments
    }
}

impl From<UpOptions> for ClusterOptions {
    fn from(options: UpOptions) -> Self {
        let mut cluster = Self::default();
        cluster.watch_list = options.watch_list;
        cluster.port = options.port;
        cluster
    }
}
