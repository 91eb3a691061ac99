//! `cargo xtask bench`: measures this library beside client-go, controller-runtime and kube-rs.
//!
//! The programs of `tests/bench` measure; this task builds them, runs them in turn, and writes the report.
//! To add a row, add it to both programs and to `rows`.

mod charts;
mod machine;
mod profile;
mod programs;
mod report;
mod rows;
mod samples;
mod server;
pub(crate) mod svg;

use std::path::PathBuf;

use machine::Machine;
use profile::FastPaths;
use programs::Programs;
use rows::{Needs, Pace, Row};
use samples::Samples;
use server::Server;

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

/// Which libraries are measured beside this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peers {
    All,
    /// As if Go were not installed, and no kube-apiserver either.
    WithoutGo,
}

/// Measures the rows whose names begin with one of the given ones, or all of them; `=sync` is that row alone.
/// `--quick` measures less, `--rounds N` sets how often, `--no-go` leaves out the libraries in Go and uses
/// the replay server. `--profile ROW` records a flame graph of one row instead, and `--fast-paths off` behind
/// it one of the plain ways.
///
/// A full run of all rows replaces the report in `docs/bench`; any other writes below the target folder.
pub(crate) fn run(mut arguments: &[&str]) -> Result<()> {
    let (mut size, mut rounds, mut peers, mut names) = (Size::Full, ROUNDS, Peers::All, Vec::new());
    loop {
        arguments = match arguments {
            [] => break,
            ["--quick", rest @ ..] => {
                size = Size::Quick;
                rest
            }
            ["--no-go", rest @ ..] => {
                peers = Peers::WithoutGo;
                rest
            }
            ["--rounds", number, rest @ ..] => {
                rounds = number.parse()?;
                rest
            }
            ["--profile", row] => return profile::run(row, size, FastPaths::On),
            ["--profile", row, "--fast-paths", "off"] => return profile::run(row, size, FastPaths::Off),
            [name, rest @ ..] if !name.starts_with('-') => {
                names.push(*name);
                rest
            }
            [option, ..] => {
                return Err(format!("unknown option `{option}` of `bench`, or its value is missing").into());
            }
        };
    }
    let chosen: Vec<&Row> = rows::all()
        .filter(|row| match names.as_slice() {
            [] => size == Size::Full || row.pace == Pace::Always,
            names => names.iter().any(|name| row.is_chosen_by(name)),
        })
        .collect();
    if chosen.is_empty() {
        return Err(no_such_row().into());
    }
    if rounds == 0 {
        return Err("at least one round is needed".into());
    }
    let folder = match (size, peers, names.as_slice()) {
        (Size::Full, Peers::All, []) => workspace::root().join("docs/bench"),
        _ => scratch()?,
    };
    let programs = Programs::build(&chosen, peers)?;
    let needs_server = |row: &&Row| !matches!(row.needs, Needs::Nothing | Needs::Replay(_));
    let real = match (chosen.iter().any(needs_server), peers) {
        (true, Peers::All) => Server::start(programs.server(), size, &chosen)
            .inspect_err(|error| println!("bench: no server: {error}"))
            .ok(),
        _ => None,
    };
    let pods_from = match (chosen.iter().any(needs_server), &real) {
        (true, None) => PodsFrom::Replay,
        _ => PodsFrom::RealServer,
    };
    let mut report = report::Report {
        machine: Machine::look()?,
        size,
        rounds: 0,
        pods_from,
        rows: chosen,
        samples: Samples::default(),
    };
    for round in 0..rounds {
        measure(
            &report.rows,
            size,
            round,
            &programs,
            real.as_ref(),
            &mut report.samples,
        )?;
        report.rounds = round + 1;
        report.machine.look_again();
        // After each round: a run that is interrupted leaves the rounds before.
        report.write(&folder)?;
    }
    print!("{}", report.markdown());
    Ok(())
}

fn no_such_row() -> String {
    let known: Vec<_> = rows::all().map(|row| row.name).collect();
    format!("no such row; the rows are {}", known.join(", "))
}

/// Where everything is written that is not the report.
fn scratch() -> Result<PathBuf> {
    Ok(workspace::target()?.join("bench"))
}

/// Where the rows that read Pods have read them from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PodsFrom {
    RealServer,
    /// No kube-apiserver could be started, so the others are missing.
    Replay,
}

/// Runs every row with every library once. Rounds follow one another, so that a busy minute of the machine
/// affects all.
fn measure(
    rows: &[&Row],
    size: Size,
    round: usize,
    programs: &Programs,
    real: Option<&Server>,
    samples: &mut Samples,
) -> Result<()> {
    for row in rows {
        match (row.needs, real) {
            (Needs::NewNamespace | Needs::FilledNamespace, None) => {
                samples.skip(row, "no kube-apiserver and etcd, and no Go to build them");
            }
            _ => measure_row(row, size, round, programs, real, samples)?,
        }
    }
    Ok(())
}

fn measure_row(
    row: &Row,
    size: Size,
    round: usize,
    programs: &Programs,
    real: Option<&Server>,
    samples: &mut Samples,
) -> Result<()> {
    for place in 0..row.libraries.len() {
        // Another library begins in each round.
        let library = row.libraries[(place + round) % row.libraries.len()];
        let Some(program) = programs.of(library, row) else {
            samples.miss(row, library, "Go is not installed");
            continue;
        };
        // Each run has its own replay server: the one before has changed Pods.
        let replay = match (row.needs, real) {
            (Needs::Replay(pod), _) | (Needs::Pods(pod), None) => {
                Some(Server::replay(programs.server(), size, row, pod)?)
            }
            _ => None,
        };
        let server = match row.needs {
            Needs::Nothing => None,
            _ => replay.as_ref().or(real),
        };
        let command = programs::command(program, programs.server(), row, library, size, round, server);
        let figures = programs::measure(command, row, library)?;
        println!("bench: {} {}: {figures:?}", row.name, library.name());
        samples.add(row, library, figures);
    }
    Ok(())
}
