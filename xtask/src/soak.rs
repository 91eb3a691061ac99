//! `cargo xtask soak`: informers under writes and faults on a real kube-apiserver for a long time, and the
//! question whether memory, tasks, threads and sockets stay flat.
//!
//! The test `soak` of `tests/live` runs and samples; this task builds it, judges the samples and draws them.

mod graph;
mod samples;

use std::path::PathBuf;
use std::time::Duration;

use samples::Samples;

use crate::apiserver::{self, Servers};
use crate::process::run;
use crate::workspace::{self, cargo};
use crate::{Result, artifact, e2e};

/// Without `--for`.
const DEFAULT: Duration = Duration::from_secs(30 * 60);

/// Longer than this is refused: a soak is bounded.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

const GRAPH: &str = "docs/operating/soak.svg";

/// Runs the soak for `--for 30m` (`90s`, `2h`), writes the graph, and fails if something grew.
/// `--samples <file>` judges and draws the samples of an earlier run instead.
pub(crate) fn play(arguments: &[&str]) -> Result<()> {
    let path = match arguments {
        [] => sample(DEFAULT)?,
        ["--for", text] => sample(duration(text)?)?,
        ["--samples", path] => path.into(),
        _ => return Err("usage: cargo xtask soak [--for 30m | --samples <file>]".into()),
    };
    let samples = Samples::parse(&std::fs::read_to_string(&path)?)?;
    std::fs::write(workspace::root().join(GRAPH), graph::svg(&samples))?;
    println!("soak: wrote {GRAPH}");
    samples.judge()
}

/// Builds and runs the test, and returns the file with its samples.
fn sample(time: Duration) -> Result<PathBuf> {
    let tests = ["test", "--workspace", "--features", e2e::FEATURE, "--test", "e2e"];
    let build = [&tests[..], &["--no-run"]].concat();
    if apiserver::provide(&artifact::build("tests/live", "informer-live", &build)?)? == Servers::None {
        return Err("soak: no server to test against (see above for what to install)".into());
    }
    let folder = workspace::target()?.join("soak");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("samples.tsv");
    println!("soak: {} s, samples in {}", time.as_secs(), path.display());
    run(cargo()
        .args(tests)
        .args(["--", "--ignored", "--exact", "--nocapture"])
        .arg("soak::resources_are_sampled_while_writes_and_faults_go_on")
        .env("INFORMER_LIVE_SOAK_SECONDS", time.as_secs().to_string())
        .env("INFORMER_LIVE_SOAK_SAMPLES", &path))?;
    Ok(path)
}

/// Reads `90s`, `30m` or `2h`.
fn duration(text: &str) -> Result<Duration> {
    let invalid = || format!("`{text}` is no duration; use one such as `90s`, `30m` or `2h`, up to 24h");
    let unit = match text.chars().last() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3600,
        _ => return Err(invalid().into()),
    };
    let number: u32 = text[..text.len() - 1].parse().map_err(|_| invalid())?;
    let time = Duration::from_secs(u64::from(number) * unit);
    match (Duration::from_secs(10)..=LONGEST).contains(&time) {
        true => Ok(time),
        false => Err(invalid().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit_and_a_bound() {
        assert_eq!(duration("90s").unwrap(), Duration::from_secs(90));
        assert_eq!(duration("30m").unwrap(), Duration::from_secs(1_800));
        assert_eq!(duration("2h").unwrap(), Duration::from_secs(7_200));
        for text in ["", "30", "m", "-1m", "5s", "25h", "99999999999h", "1ü"] {
            assert!(duration(text).is_err(), "{text:?}");
        }
    }
}
