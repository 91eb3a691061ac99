//! `cargo xtask ci`: runs the checks of CI, side by side where they do not disturb each other.
//!
//! Each step runs as a child process, `cargo xtask ci <step>`, with its output in a file. The output is
//! printed as one block when the step ends. A failed step does not stop the others; the summary at the end
//! lists every step.

mod child;
mod schedule;
mod steps;
mod summary;
mod tool;

use crate::Result;

/// Which steps to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Selection<'a> {
    /// All steps but those that run by name only.
    Everything,
    /// The steps of the everyday loop.
    Quick,
    /// The named steps.
    Named(&'a [&'a str]),
}

/// One check of CI.
struct Step {
    name: &'static str,
    pace: Pace,
    place: Place,
    run: fn() -> Result<Passed>,
}

/// When a step runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    Always,
    NotIfQuick,
    /// Only by name: the workflow of `.github` runs it as a separate job.
    IfNamed,
}

/// Where a step works, which decides what may run beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Builds in the target folder of the workspace. Cargo locks that folder, so one such step runs at a
    /// time.
    Workspace,
    /// Builds in a separate folder, builds nothing, or builds little and then runs for long. Where it does
    /// use the workspace's folder, it waits for cargo's lock.
    Elsewhere,
    /// Measures time or depends on it: nothing else runs meanwhile.
    Alone,
}

/// The result of a step that did not fail. A skipped step is reported as such, never as passed.
#[derive(Debug, PartialEq, Eq)]
enum Passed {
    Ran,
    /// It ran, and the summary shows this note.
    RanWith(String),
    Skipped(String),
}

/// Runs the selected steps. A single named step runs in this process, with its output on the terminal.
pub(crate) fn run(selection: Selection<'_>) -> Result<()> {
    match selection {
        Selection::Everything => {
            let all = steps::ALL.iter().filter(|step| step.pace != Pace::IfNamed);
            schedule::run(all.collect())
        }
        Selection::Quick => {
            let quick = steps::ALL.iter().filter(|step| step.pace == Pace::Always);
            schedule::run(quick.collect())
        }
        Selection::Named([name]) => child::run(find(name)?),
        Selection::Named(names) => {
            let named = names.iter().map(|name| find(name)).collect::<Result<Vec<_>>>()?;
            schedule::run(named)
        }
    }
}

fn find(name: &str) -> Result<&'static Step> {
    let step = steps::ALL.iter().find(|step| step.name == name);
    step.ok_or_else(|| {
        let names: Vec<&str> = steps::ALL.iter().map(|step| step.name).collect();
        format!("unknown step `{name}`; the steps are {}", names.join(", ")).into()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::workspace;

    #[test]
    fn the_workflow_of_github_runs_every_step_once() {
        let path = workspace::root().join(".github/workflows/ci.yml");
        let workflow = std::fs::read_to_string(path).unwrap();
        let listed: Vec<&str> = workflow
            .lines()
            .filter_map(|line| line.trim().strip_prefix("- steps: "))
            .flat_map(str::split_whitespace)
            .collect();
        let unique: BTreeSet<&str> = listed.iter().copied().collect();
        let all: BTreeSet<&str> = steps::ALL.iter().map(|step| step.name).collect();
        assert_eq!(unique, all, "correct the matrix in .github/workflows/ci.yml");
        assert_eq!(listed.len(), all.len(), "a step is listed twice");
    }

    #[test]
    fn an_unknown_step_is_an_error_that_lists_the_steps() {
        let error = run(Selection::Named(&["tests"])).unwrap_err().to_string();
        assert!(
            error.starts_with("unknown step `tests`; the steps are fmt, tidy"),
            "{error}"
        );
    }
}
