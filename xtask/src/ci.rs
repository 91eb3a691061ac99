//! `cargo xtask ci`: everything CI runs, in order, up to the first failure.

mod steps;

use std::time::{Duration, Instant};

use crate::Result;

/// Which steps to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    /// All of them.
    Everything,
    /// Those for the everyday loop.
    Quick,
}

/// One thing CI checks.
struct Step {
    name: &'static str,
    pace: Pace,
    run: fn() -> Result<Passed>,
}

/// When a step runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    Always,
    NotIfQuick,
}

/// How a step that did not fail went. A step that was skipped is never told as one that passed.
enum Passed {
    Ran,
    /// It ran, and there is something to say about it.
    RanWith(String),
    Skipped(String),
}

/// A line of the summary.
struct Line {
    name: &'static str,
    result: &'static str,
    time: Option<Duration>,
    note: String,
}

pub(crate) fn run(selection: Selection) -> Result<()> {
    let mut summary = Vec::new();
    let mut failure = None;
    for step in steps::ALL {
        let line = |result, time, note| Line {
            name: step.name,
            result,
            time,
            note,
        };
        if failure.is_some() {
            summary.push(line("not run", None, String::new()));
        } else if selection == Selection::Quick && step.pace == Pace::NotIfQuick {
            summary.push(line("skipped", None, "--quick".to_owned()));
        } else {
            println!("\n=== {} ===", step.name);
            let start = Instant::now();
            let result = (step.run)();
            let time = Some(start.elapsed());
            summary.push(match &result {
                Ok(Passed::Ran) => line("passed", time, String::new()),
                Ok(Passed::RanWith(note)) => line("passed", time, note.clone()),
                Ok(Passed::Skipped(reason)) => line("skipped", None, reason.clone()),
                Err(error) => line("FAILED", time, error.to_string()),
            });
            failure = result.err().map(|error| (step.name, error));
        }
    }
    print_summary(&summary);
    match failure {
        None => Ok(()),
        Some((name, error)) => Err(format!("step `{name}`: {error}").into()),
    }
}

fn print_summary(lines: &[Line]) {
    println!("\n=== summary ===");
    for Line {
        name,
        result,
        time,
        note,
    } in lines
    {
        let time = time
            .map(|time| format!("{:.1} s", time.as_secs_f64()))
            .unwrap_or_default();
        let first = note.lines().next().unwrap_or_default();
        println!(
            "{}",
            format!("{name:<12} {result:<8} {time:>8}  {first}").trim_end()
        );
    }
}
