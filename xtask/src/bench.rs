//! `cargo xtask bench`: measures this library beside client-go, controller-runtime and kube-rs.
//!
//! The programs of `tests/bench` measure; this task builds them, runs them in turn, and writes the report.
//! To add a row, add it to both programs and to `rows`.

mod machine;
mod programs;
mod report;
mod rows;
mod samples;

use std::path::PathBuf;

use machine::Machine;
use programs::{Programs, Server};
use rows::{Needs, ROWS, Row};
use samples::Samples;

use crate::{Result, workspace};

/// How often each row is measured with each library. The median counts.
const ROUNDS: usize = 5;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    /// What the checked-in report has.
    Full,
    /// A few minutes. Enough to notice a large change.
    Quick,
}

/// Measures the rows whose names begin with one of the given ones, or all of them. `--quick` measures less,
/// `--rounds N` sets how often.
///
/// A full run of all rows replaces the report in `docs/bench`; any other writes below the target folder.
pub(crate) fn run(mut arguments: &[&str]) -> Result<()> {
    let (mut size, mut rounds, mut names) = (Size::Full, ROUNDS, Vec::new());
    loop {
        arguments = match arguments {
            [] => break,
            ["--quick", rest @ ..] => {
                size = Size::Quick;
                rest
            }
            ["--rounds", number, rest @ ..] => {
                rounds = number.parse()?;
                rest
            }
            [name, rest @ ..] if !name.starts_with('-') => {
                names.push(*name);
                rest
            }
            [option, ..] => {
                return Err(format!("unknown option `{option}` of `bench`, or its value is missing").into());
            }
        };
    }
    let chosen: Vec<&Row> = ROWS
        .iter()
        .filter(|row| names.is_empty() || names.iter().any(|name| row.name.starts_with(name)))
        .collect();
    if chosen.is_empty() {
        let known: Vec<_> = ROWS.iter().map(|row| row.name).collect();
        return Err(format!("no such row; the rows are {}", known.join(", ")).into());
    }
    if rounds == 0 {
        return Err("at least one round is needed".into());
    }
    let programs = Programs::build()?;
    let mut machine = Machine::look()?;
    let mut samples = Samples::default();
    measure(&chosen, size, rounds, &programs, &mut samples)?;
    machine.look_again()?;
    let report = report::Report {
        machine,
        size,
        rounds,
        rows: chosen,
        samples,
    };
    print!("{}", report.markdown());
    report.write(&folder(size, &names)?)
}

/// Runs every row with every library in each round, so that a busy minute of the machine affects all.
fn measure(
    rows: &[&Row],
    size: Size,
    rounds: usize,
    programs: &Programs,
    samples: &mut Samples,
) -> Result<()> {
    let needs_server = rows.iter().any(|row| row.needs != Needs::Nothing);
    let server = match needs_server {
        true => programs
            .start_server(size, rows)
            .inspect_err(|error| println!("bench: no server: {error}"))
            .ok(),
        false => None,
    };
    for round in 0..rounds {
        for row in rows {
            let kubeconfig = match (row.needs, &server) {
                (Needs::Nothing, _) => None,
                (_, Some(server)) => Some(server),
                (_, None) => {
                    samples.skip(row, "no kube-apiserver and etcd, and no Go to build them");
                    continue;
                }
            };
            measure_row(row, size, round, programs, kubeconfig, samples)?;
        }
    }
    Ok(())
}

fn measure_row(
    row: &Row,
    size: Size,
    round: usize,
    programs: &Programs,
    server: Option<&Server>,
    samples: &mut Samples,
) -> Result<()> {
    for place in 0..row.libraries.len() {
        // Another library begins in each round.
        let library = row.libraries[(place + round) % row.libraries.len()];
        let Some(program) = programs.of(library, row) else {
            samples.miss(row, library, "Go is not installed");
            continue;
        };
        let figures = programs::measure(program, programs.writer(), row, library, size, round, server)?;
        println!("bench: {} {}: {figures:?}", row.name, library.name());
        samples.add(row, library, figures);
    }
    Ok(())
}

/// Where the report is written.
fn folder(size: Size, names: &[&str]) -> Result<PathBuf> {
    Ok(match (size, names) {
        (Size::Full, []) => workspace::root().join("docs/bench"),
        _ => workspace::target()?.join("bench"),
    })
}
