//! Runs seeds of the simulation. `cargo xtask sim` starts this program and documents its arguments.

#![expect(clippy::print_stdout, reason = "a command line program")]

mod args;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use args::{Amount, Args, Many, Mode, One};
use informer_sim::{Coverage, Keep, Plan, Violation, run, shrink};

/// A run ends after this many failing seeds.
const FAILURES: usize = 10;

fn main() -> ExitCode {
    // Handlers and transforms panic on purpose, thousands of times. Other panics are reported with their
    // seed.
    std::panic::set_hook(Box::new(|_| {}));
    match Args::read(std::env::args().skip(1)) {
        Ok(Args { mode: Mode::One(one) }) => play_one(&one),
        Ok(Args {
            mode: Mode::Many(many),
        }) => play_many(&many),
        Err(error) => {
            println!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Runs one seed, or the steps of it that `--keep` names, and reduces it if it fails.
fn play_one(one: &One) -> ExitCode {
    let mut plan = Plan::of(one.seed);
    if let Some(keep) = &one.keep {
        plan = plan.kept(keep);
    }
    if one.trace {
        println!("{plan}");
        informer_sim::trace();
    }
    let outcome = run(&plan);
    println!(
        "seed {}: {} steps, {} events, hash {:016x}",
        one.seed, outcome.steps, outcome.events, outcome.hash
    );
    match outcome.violation {
        None => ExitCode::SUCCESS,
        Some(violation) => {
            println!("{violation}");
            if one.keep.is_none() && !one.trace {
                print_smallest(&plan, &violation);
            }
            ExitCode::FAILURE
        }
    }
}

fn print_smallest(plan: &Plan, violation: &Violation) {
    let (plan, violation) = shrink(plan, violation);
    println!("\nthe smallest plan found that fails like this:\n{plan}{violation}");
    println!(
        "\nrun it again: cargo xtask sim --seed {} --keep {}",
        plan.seed,
        Keep::of(&plan)
    );
}

/// The state that all threads of a run share.
#[derive(Default)]
struct Tally {
    next: AtomicU64,
    enough: AtomicBool,
    sums: Mutex<Sums>,
}

#[derive(Default)]
struct Sums {
    seeds: u64,
    steps: u64,
    events: u64,
    coverage: Coverage,
    failures: Vec<(u64, Violation)>,
}

fn play_many(many: &Many) -> ExitCode {
    let start = Instant::now();
    let tally = Tally::default();
    std::thread::scope(|scope| {
        for _ in 0..many.jobs {
            scope.spawn(|| work(many, &tally, start));
        }
    });
    let mut sums = tally.sums.into_inner().unwrap_or_else(PoisonError::into_inner);
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} seeds, {} steps, {} events in {seconds:.1} s: {:.0} seeds a minute",
        sums.seeds,
        sums.steps,
        sums.events,
        sums.seeds as f64 / seconds * 60.0
    );
    if let Some(file) = &many.coverage {
        let table = sums.coverage.table();
        if let Err(error) = std::fs::write(file, &table) {
            println!("cannot write {}: {error}", file.display());
            return ExitCode::FAILURE;
        }
        println!("coverage is in {}", file.display());
    }
    sums.failures.sort_by_key(|(seed, _)| *seed);
    let mut code = ExitCode::SUCCESS;
    for (seed, violation) in &sums.failures {
        println!("seed {seed}: {violation}");
        code = ExitCode::FAILURE;
    }
    if let Some((seed, violation)) = sums.failures.first()
        && !many.first_only
    {
        print_smallest(&Plan::of(*seed), violation);
    }
    if let Some(least) = many.least {
        for (what, count) in sums.coverage.below(least) {
            println!("hit {count} times, fewer than {least}: {what}");
            code = ExitCode::FAILURE;
        }
        for which in sums.coverage.unknown() {
            println!("hit, and not in tests/sim/known.txt: {which}");
            code = ExitCode::FAILURE;
        }
    }
    code
}

fn work(many: &Many, tally: &Tally, start: Instant) {
    while !tally.enough.load(Ordering::Relaxed) {
        let number = tally.next.fetch_add(1, Ordering::Relaxed);
        let over = match many.amount {
            Amount::Seeds(count) => number >= count,
            Amount::Time(time) => start.elapsed() >= time,
        };
        if over {
            return;
        }
        let seed = many.from + number;
        let outcome = run(&Plan::of(seed));
        let mut sums = tally.sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums.seeds += 1;
        sums.steps += outcome.steps;
        sums.events += outcome.events;
        sums.coverage.add(outcome.coverage);
        if let Some(violation) = outcome.violation {
            sums.failures.push((seed, violation));
            if many.first_only || sums.failures.len() >= FAILURES {
                tally.enough.store(true, Ordering::Relaxed);
            }
        }
    }
}
