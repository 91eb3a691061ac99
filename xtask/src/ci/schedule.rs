//! Runs steps side by side: which may start, what is printed meanwhile, and the summary at the end.

use std::time::{Duration, Instant};

use super::child::{Ended, Running};
use super::{Place, Step, summary};
use crate::{Result, workspace};

/// How often the running steps are polled.
const POLL: Duration = Duration::from_millis(100);
/// How often a line lists the running steps, so that a quiet log is not mistaken for a hang.
const HEARTBEAT: Duration = Duration::from_secs(60);
/// More steps at a time need more memory than they save minutes: each starts as many compilers as there are
/// cores.
const MOST_AT_A_TIME: usize = 4;

/// Runs the steps, in their order where they exclude each other; fails if one of them fails.
pub(super) fn run(mut waiting: Vec<&'static Step>) -> Result<()> {
    let names: Vec<&str> = waiting.iter().map(|step| step.name).collect();
    // Taken once: a step may build this program again, and then its path is reported as deleted.
    let program = std::env::current_exe()?;
    let logs = workspace::target()?.join("ci");
    std::fs::create_dir_all(&logs)?;
    let slots = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(MOST_AT_A_TIME);

    let start = Instant::now();
    let mut heartbeat = start;
    let mut running: Vec<Running> = Vec::new();
    let mut ended = Vec::new();
    while !waiting.is_empty() || !running.is_empty() {
        let places: Vec<Place> = running.iter().map(|running| running.step.place).collect();
        if let Some(index) = next(&waiting, &places, slots) {
            let step = waiting.remove(index);
            println!("{} started {}", clock(start), step.name);
            running.push(Running::start(step, &program, &logs)?);
            continue;
        }
        std::thread::sleep(POLL);
        let mut still = Vec::new();
        for mut step in running {
            match step.poll()? {
                None => still.push(step),
                Some(end) => {
                    print_output(&end);
                    println!("{} {}", clock(start), summary::line(&end));
                    heartbeat = Instant::now();
                    ended.push(end);
                }
            }
        }
        running = still;
        if heartbeat.elapsed() >= HEARTBEAT {
            heartbeat = Instant::now();
            println!("{} running: {}", clock(start), describe(&running));
        }
    }
    ended.sort_by_key(|end| names.iter().position(|name| *name == end.step.name));
    summary::print(&ended, start.elapsed());
    summary::verdict(&ended)
}

/// The first waiting step that may start beside those that run.
fn next(waiting: &[&Step], running: &[Place], slots: usize) -> Option<usize> {
    if running.len() >= slots || running.contains(&Place::Alone) {
        return None;
    }
    waiting.iter().position(|step| match step.place {
        Place::Workspace => !running.contains(&Place::Workspace),
        Place::Elsewhere => true,
        Place::Alone => running.is_empty(),
    })
}

fn print_output(end: &Ended) {
    println!("\n=== {} ===", end.step.name);
    println!("{}", end.output.trim_end());
}

fn describe(running: &[Running]) -> String {
    let steps = running
        .iter()
        .map(|running| format!("{} ({} s)", running.step.name, running.elapsed().as_secs()));
    steps.collect::<Vec<_>>().join(", ")
}

/// Minutes and seconds since the start.
fn clock(start: Instant) -> String {
    let seconds = start.elapsed().as_secs();
    format!("[{:>2}:{:02}]", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::super::{Pace, Passed};
    use super::*;

    const fn step(name: &'static str, place: Place) -> Step {
        Step {
            name,
            pace: Pace::Always,
            place,
            run: || Ok(Passed::Ran),
        }
    }

    const BUILD: Step = step("build", Place::Workspace);
    const OWN: Step = step("own", Place::Elsewhere);
    const ALONE: Step = step("alone", Place::Alone);

    #[test]
    fn steps_of_one_target_folder_run_one_at_a_time() {
        assert_eq!(next(&[&BUILD, &OWN], &[], 2), Some(0));
        assert_eq!(next(&[&BUILD, &OWN], &[Place::Workspace], 2), Some(1));
        assert_eq!(next(&[&BUILD], &[Place::Workspace], 2), None);
        assert_eq!(next(&[&BUILD], &[Place::Elsewhere], 2), Some(0));
    }

    #[test]
    fn a_step_that_runs_alone_waits_for_the_others() {
        assert_eq!(next(&[&ALONE], &[Place::Elsewhere], 2), None);
        assert_eq!(next(&[&ALONE], &[], 2), Some(0));
        assert_eq!(next(&[&OWN], &[Place::Alone], 2), None);
    }

    #[test]
    fn no_step_starts_when_all_slots_are_taken() {
        assert_eq!(next(&[&OWN], &[Place::Elsewhere, Place::Workspace], 2), None);
    }
}
