//! `cargo xtask e2e`: the tests of `tests/live` against a real kube-apiserver, with watch lists and without.

use std::time::Instant;

use crate::apiserver::{self, Servers};
use crate::workspace::cargo;
use crate::{Result, process};

/// What the tests read to know which server to start.
const WATCH_LIST: &str = "INFORMER_LIVE_WATCH_LIST";

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

/// Runs the tests whose names contain the filter, or all, in both pairings or the one that `--watch-list` names.
pub(crate) fn run(arguments: &[&str]) -> Result<Outcome> {
    let (pairings, filter) = match arguments {
        ["--watch-list", pairing, filter @ ..] if PAIRINGS.contains(pairing) => (vec![*pairing], filter),
        ["--watch-list", ..] => return Err("`--watch-list` takes `on` or `off`".into()),
        filter => (PAIRINGS.to_vec(), filter),
    };
    if let Servers::None = apiserver::provide()? {
        println!("e2e: skipped, because there is no server to test against (see above for what to install)");
        return Ok(Outcome::Skipped);
    }
    for pairing in pairings {
        println!("e2e: with the server's watch lists {pairing}");
        let start = Instant::now();
        let mut command = cargo();
        command
            .args([
                "test",
                "--package",
                "informer-live",
                "--features",
                "e2e",
                "--test",
                "e2e",
                "--",
            ])
            .args(["--test-threads", TESTS_AT_A_TIME])
            .args(filter)
            .env(WATCH_LIST, pairing);
        process::run(&mut command)?;
        println!(
            "e2e: watch lists {pairing}: passed in {:.0} s",
            start.elapsed().as_secs_f64()
        );
    }
    Ok(Outcome::Ran)
}
