//! `cargo xtask e2e`: runs the tests of `tests/live` against a real kube-apiserver, with and without watch
//! lists.

use std::process::Command;
use std::time::Instant;

use crate::apiserver::{self, Servers};
use crate::workspace::cargo;
use crate::{Result, artifact, process};

/// The variable that selects the server to start.
const WATCH_LIST: &str = "INFORMER_LIVE_WATCH_LIST";

/// Set for the tests that run programs of the workspace: they are built.
const PROGRAMS: &str = "INFORMER_LIVE_PROGRAMS";

/// The variable that selects the seeds of the seeded tests.
const SEEDS: &str = "INFORMER_LIVE_SEEDS";

/// How many tests run at a time. They share one server, and each waits for it most of the time.
const TESTS_AT_A_TIME: &str = "4";

/// The modules whose tests build a program with client-go.
const NEED_GO: [&str; 2] = ["differential::", "shared_lease::"];

/// Whether the tests ran.
pub(crate) enum Outcome {
    Ran,
    /// No server was found, and no Go to build one.
    Skipped,
}

/// The settings of the server's feature gate `WatchList` to test with.
const PAIRINGS: [&str; 2] = ["on", "off"];

/// What to run, from the command line.
struct Choice<'a> {
    pairings: Vec<&'a str>,
    /// Seeds of the seeded tests, as `7` or `0..100`.
    seeds: Option<&'a str>,
    /// The arguments of cargo that select the test programs.
    programs: &'static [&'static str],
    /// The arguments of the test programs.
    arguments: Vec<&'a str>,
}

/// Runs tests of the whole workspace, although one package has them all: this selects the features that
/// `cargo test` has built already.
const TESTS: &[&str] = &["test", "--workspace", "--features", FEATURE];

/// The feature of the live tests. Plain `cargo test` needs no server.
pub(crate) const FEATURE: &str = "informer-live/e2e";

/// All test programs of `tests/live`.
const ALL: &[&str] = &["--test", "e2e", "--test", "kinds"];

/// The program with the seeded tests.
const SEEDED: &[&str] = &["--test", "e2e"];

/// Runs the tests whose names contain the filter, or all of them, with the watch lists of the server on and
/// off, or as `--watch-list` says.
///
/// `--storms` and `--differential` run the seeded tests only, with watch lists on by default, and print their
/// tables: `--seed 7` runs one seed, `--seeds 0..100` a hundred.
pub(crate) fn run(arguments: &[&str]) -> Result<Outcome> {
    let choice = choice(arguments)?;
    let servers = build(choice.programs)?;
    if servers == Servers::None {
        println!("e2e: skipped: no server to test against (see above for what to install)");
        return Ok(Outcome::Skipped);
    }
    let skipped = skipped();
    let mut outcome = Outcome::Skipped;
    for pairing in &choice.pairings {
        if servers == Servers::WithoutWatchLists && *pairing == "on" {
            println!("e2e: skipped with watch lists on: the etcd is too old for them (see above)");
            continue;
        }
        test(pairing, &choice, &skipped)?;
        outcome = Outcome::Ran;
    }
    Ok(outcome)
}

/// Builds all test programs and the servers, so that a later run only tests.
pub(crate) fn prepare() -> Result<Outcome> {
    Ok(match build(ALL)? {
        Servers::None => Outcome::Skipped,
        _ => Outcome::Ran,
    })
}

fn build(programs: &[&str]) -> Result<Servers> {
    let build = [TESTS, programs, &["--no-run"]].concat();
    // The tests that run these programs build them only without this.
    process::run(cargo().args([
        "build",
        "--workspace",
        "--features",
        FEATURE,
        "--example",
        "operator",
        "--bin",
        "informer-top",
    ]))?;
    apiserver::provide(&artifact::build("tests/live", "informer-live", &build)?)
}

/// The arguments that leave out the tests that need Go, where there is none.
fn skipped() -> Vec<&'static str> {
    if process::works(Command::new("go").arg("version")) {
        return Vec::new();
    }
    for module in NEED_GO {
        println!("e2e: skipped: {module}, because Go is not installed (https://go.dev/dl)");
    }
    NEED_GO.iter().flat_map(|module| ["--skip", module]).collect()
}

fn choice<'a>(mut arguments: &[&'a str]) -> Result<Choice<'a>> {
    let (mut pairings, mut seeds) = (None, None);
    let (mut seeded, mut filter) = (Vec::new(), Vec::new());
    loop {
        arguments = match arguments {
            [] => break,
            ["--watch-list", pairing, rest @ ..] if PAIRINGS.contains(pairing) => {
                pairings = Some(vec![*pairing]);
                rest
            }
            ["--seed" | "--seeds", range, rest @ ..] => {
                seeds = Some(*range);
                rest
            }
            ["--storms", rest @ ..] => {
                seeded.push("storms::");
                rest
            }
            ["--differential", rest @ ..] => {
                seeded.push("differential::");
                rest
            }
            [option, ..] if option.starts_with('-') => {
                return Err(format!("unknown option `{option}` of `e2e`, or an invalid value").into());
            }
            [name, rest @ ..] => {
                filter.push(*name);
                rest
            }
        };
    }
    let (by_default, programs) = if seeded.is_empty() {
        (&PAIRINGS[..], ALL)
    } else {
        // Their tables are the result, so the output must not be captured.
        seeded.push("--nocapture");
        (&PAIRINGS[..1], SEEDED)
    };
    Ok(Choice {
        pairings: pairings.unwrap_or_else(|| by_default.to_vec()),
        seeds,
        programs,
        arguments: [seeded, filter].concat(),
    })
}

fn test(pairing: &str, choice: &Choice<'_>, skipped: &[&str]) -> Result<()> {
    println!("e2e: with the server's watch lists {pairing}");
    let start = Instant::now();
    let mut command = cargo();
    command
        .args(TESTS)
        .args(choice.programs)
        .args(["--", "--test-threads", TESTS_AT_A_TIME])
        .args(skipped)
        .args(&choice.arguments)
        .env(WATCH_LIST, pairing)
        .env(PROGRAMS, "built");
    if let Some(seeds) = choice.seeds {
        command.env(SEEDS, seeds);
    }
    process::run(&mut command)?;
    println!(
        "e2e: watch lists {pairing}: passed in {:.0} s",
        start.elapsed().as_secs_f64()
    );
    Ok(())
}
