//! Runs seeds of the simulation. `cargo xtask sim` starts this program and documents its arguments.

#![expect(clippy::print_stdout, reason = "a command line program")]

mod args;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use args::{Amount, Args, Many, Mode, One, Only};
use informer_sim::{ControllerPlan, Coverage, Keep, Plan, Playable, Violation, shrink};

/// A run ends after this many failing seeds.
const FAILURES: usize = 10;

fn main() -> ExitCode {
    // Handlers and transforms panic on purpose, thousands of times. Other panics are reported with their
    // seed.
    std::panic::set_hook(Box::new(|_| {}));
    match Args::read(std::env::args().skip(1)) {
        Ok(Args {
            mode: Mode::One(one),
            only,
        }) => {
            let informers = only.includes::<Plan>().then(|| play_one::<Plan>(&one));
            let controllers = only.includes::<ControllerPlan>();
            let controllers = controllers.then(|| play_one::<ControllerPlan>(&one));
            match [informers, controllers].contains(&Some(Verdict::Violated)) {
                true => ExitCode::FAILURE,
                false => ExitCode::SUCCESS,
            }
        }
        Ok(Args {
            mode: Mode::Many(many),
            only,
        }) => play_many(&many, only),
        Err(error) => {
            println!("{error}");
            ExitCode::from(2)
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Kept,
    Violated,
}

/// Runs one seed, or the steps of it that `--keep` names, and reduces it if it fails.
fn play_one<P: Playable>(one: &One) -> Verdict {
    let mut plan = P::of(one.seed);
    if let Some(keep) = &one.keep {
        plan = plan.kept(keep);
    }
    if one.trace {
        println!("{plan}");
        informer_sim::trace();
    }
    let outcome = plan.run();
    println!(
        "seed {}, {}: {} steps, {} events, hash {:016x}",
        one.seed,
        P::NAME,
        outcome.steps,
        outcome.events,
        outcome.hash
    );
    match outcome.violation {
        None => Verdict::Kept,
        Some(violation) => {
            println!("{violation}");
            if one.keep.is_none() && !one.trace {
                print_smallest(&plan, &violation);
            }
            Verdict::Violated
        }
    }
}

fn print_smallest<P: Playable>(plan: &P, violation: &Violation) {
    let (plan, violation) = shrink(plan, violation);
    println!("\nthe smallest plan found that fails like this:\n{plan}{violation}");
    println!(
        "\nrun it again: cargo xtask sim --only {} --seed {} --keep {}",
        P::NAME,
        plan.seed(),
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
    failures: Vec<Failure>,
}

/// A plan that violated a guarantee.
struct Failure {
    seed: u64,
    /// The kind of plan.
    name: &'static str,
    violation: Violation,
}

fn play_many(many: &Many, only: Only) -> ExitCode {
    let start = Instant::now();
    let tally = Tally::default();
    std::thread::scope(|scope| {
        for _ in 0..many.jobs {
            scope.spawn(|| work(many, only, &tally, start));
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
    sums.failures.sort_by_key(|failure| (failure.seed, failure.name));
    let mut code = ExitCode::SUCCESS;
    for Failure {
        seed,
        name,
        violation,
    } in &sums.failures
    {
        println!("seed {seed}, {name}: {violation}");
        code = ExitCode::FAILURE;
    }
    if let Some(Failure {
        seed,
        name,
        violation,
    }) = sums.failures.first()
        && !many.first_only
    {
        match *name == Plan::NAME {
            true => print_smallest(&Plan::of(*seed), violation),
            false => print_smallest(&<ControllerPlan as Playable>::of(*seed), violation),
        }
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

fn work(many: &Many, only: Only, tally: &Tally, start: Instant) {
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
        if only.includes::<Plan>() {
            play::<Plan>(seed, many, tally);
        }
        if only.includes::<ControllerPlan>() {
            play::<ControllerPlan>(seed, many, tally);
        }
        tally.sums.lock().unwrap_or_else(PoisonError::into_inner).seeds += 1;
    }
}

fn play<P: Playable>(seed: u64, many: &Many, tally: &Tally) {
    let outcome = P::of(seed).run();
    let mut sums = tally.sums.lock().unwrap_or_else(PoisonError::into_inner);
    sums.steps += outcome.steps;
    sums.events += outcome.events;
    sums.coverage.add(outcome.coverage);
    if let Some(violation) = outcome.violation {
        let name = P::NAME;
        sums.failures.push(Failure {
            seed,
            name,
            violation,
        });
        if many.first_only || sums.failures.len() >= FAILURES {
            tally.enough.store(true, Ordering::Relaxed);
        }
    }
}
