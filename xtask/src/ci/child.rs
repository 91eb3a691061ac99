//! A step as a child process: started by the scheduler, it reports its result in the last line of its output.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Passed, Step};
use crate::{Result, workspace};

/// What the last line of a step that did not fail begins with, before `passed` or `skipped`.
const REPORT: &str = "ci: step ";

/// A step that is running.
pub(super) struct Running {
    pub(super) step: &'static Step,
    start: Instant,
    child: Child,
    log: PathBuf,
}

/// A step that has ended.
pub(super) struct Ended {
    pub(super) step: &'static Step,
    /// The error's text if the step failed.
    pub(super) result: Result<Passed, String>,
    pub(super) time: Duration,
    pub(super) output: String,
}

impl Running {
    /// Starts `program ci <step>` with both outputs in a file of the folder `logs`.
    pub(super) fn start(step: &'static Step, program: &Path, logs: &Path) -> Result<Self> {
        let log = logs.join(step.name).with_extension("log");
        let output =
            File::create(&log).map_err(|error| format!("cannot write {}: {error}", log.display()))?;
        let errors = output.try_clone()?;
        let child = Command::new(program)
            .args(["ci", step.name])
            .current_dir(workspace::root())
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .map_err(|error| format!("cannot start `{} ci {}`: {error}", program.display(), step.name))?;
        Ok(Self {
            step,
            start: Instant::now(),
            child,
            log,
        })
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// The result, if the child has exited.
    pub(super) fn poll(&mut self) -> Result<Option<Ended>> {
        let Some(status) = self.child.try_wait()? else {
            return Ok(None);
        };
        let output = std::fs::read(&self.log)
            .map_err(|error| format!("cannot read {}: {error}", self.log.display()))?;
        let output = String::from_utf8_lossy(&output).into_owned();
        let result = if status.success() {
            parse(&output).ok_or_else(|| "the step ended without a report".to_owned())
        } else {
            let error = output.lines().rev().find_map(|line| line.strip_prefix("error: "));
            Err(error.map_or_else(|| status.to_string(), str::to_owned))
        };
        Ok(Some(Ended {
            step: self.step,
            result,
            time: self.elapsed(),
            output,
        }))
    }
}

/// Runs the step in this process and prints its report as the last line.
pub(super) fn run(step: &Step) -> Result<()> {
    let passed = (step.run)()?;
    println!("{REPORT}{}", passed.report());
    Ok(())
}

impl Passed {
    fn report(&self) -> String {
        match self {
            Self::Ran => "passed".to_owned(),
            Self::RanWith(note) => format!("passed: {}", first_line(note)),
            Self::Skipped(reason) => format!("skipped: {}", first_line(reason)),
        }
    }
}

/// Reads the report of [`run`] from a step's output.
fn parse(output: &str) -> Option<Passed> {
    let report = output.lines().rev().find_map(|line| line.strip_prefix(REPORT))?;
    match report.split_once(": ") {
        None if report == "passed" => Some(Passed::Ran),
        Some(("passed", note)) => Some(Passed::RanWith(note.to_owned())),
        Some(("skipped", reason)) => Some(Passed::Skipped(reason.to_owned())),
        _ => None,
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written() {
        for passed in [
            Passed::Ran,
            Passed::RanWith("3 models: all of them".to_owned()),
            Passed::Skipped("cargo-deny is not installed".to_owned()),
        ] {
            let output = format!("error: not the last line\n{REPORT}{}\n", passed.report());
            assert_eq!(parse(&output), Some(passed));
        }
        assert_eq!(parse("tests passed\n"), None);
    }
}
