//! `cargo xtask e2e`: the tests of `tests/live` against a real kube-apiserver, with watch lists and without.

use std::time::Instant;

use crate::apiserver::{self, Servers};
use crate::workspace::cargo;
use crate::{Result, artifact, process};

/// What the tests read to know which server to start.
const WATCH_LIST: &str = "INFORMER_LIVE_WATCH_LIST";

/// What the seeded tests read to know which seeds to play.
const SEEDS: &str = "INFORMER_LIVE_SEEDS";

/// How many tests run at a time. Each waits for the server most of the time, and one server serves them all.
const TESTS_AT_A_TIME: &str = "4";

/// Whether the tests ran.
pub(crate) enum Outcome {
    Ran,
    /// There is neither a server nor Go to build one.
    Skipped,
}

/// The settings of the server's feature gate `WatchList` to test with.
const PAIRINGS: [&str; 2] = ["on", "off"];

/// What to run, as said on the command line.
struct Choice<'a> {
    pairings: Vec<&'a str>,
    /// Seeds of the seeded tests, as `7` or `0..100`.
    seeds: Option<&'a str>,
    /// The test programs, as cargo is told of them.
    programs: &'static [&'static str],
    /// What the test programs are told.
    arguments: Vec<&'a str>,
}

/// How cargo is told to run tests: of the whole workspace, though only one package has these, so that `cargo test` has compiled all they
/// depend on.
const TESTS: &[&str] = &["test", "--workspace", "--features", FEATURE];

/// Switches the tests on. Plain `cargo test` never needs a server.
pub(crate) const FEATURE: &str = "informer-live/e2e";

/// All that `tests/live` has.
const ALL: &[&str] = &["--test", "e2e", "--test", "kinds"];

/// The one with the seeded tests in it.
const SEEDED: &[&str] = &["--test", "e2e"];

/// Runs the tests whose names contain the filter, or all, in both pairings or the one that `--watch-list` names.
///
/// `--storms` and `--differential` run the seeded tests only, and show their tables: `--seed 7` plays one seed again, `--seeds 0..100`
/// plays a hundred. They take the first pairing if none is named.
pub(crate) fn run(arguments: &[&str]) -> Result<Outcome> {
    let choice = choice(arguments)?;
    let build = [TESTS, choice.programs, &["--no-run"]].concat();
    let servers = apiserver::provide(&artifact::build("tests/live", "informer-live", &build)?)?;
    if servers == Servers::None {
        println!("e2e: skipped, because there is no server to test against (see above for what to install)");
        return Ok(Outcome::Skipped);
    }
    for pairing in &choice.pairings {
        if servers == Servers::WithoutWatchLists && *pairing == "on" {
            println!("e2e: skipped with watch lists on, because the etcd is too old for them (see above)");
            continue;
        }
        test(pairing, &choice)?;
    }
    Ok(Outcome::Ran)
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
                return Err(format!("`e2e` cannot understand `{option}`, or its value").into());
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
        // Their tables are what one runs them for.
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

fn test(pairing: &str, choice: &Choice<'_>) -> Result<()> {
    println!("e2e: with the server's watch lists {pairing}");
    let start = Instant::now();
    let mut command = cargo();
    command
        .args(TESTS)
        .args(choice.programs)
        .args(["--", "--test-threads", TESTS_AT_A_TIME])
        .args(&choice.arguments)
        .env(WATCH_LIST, pairing);
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
