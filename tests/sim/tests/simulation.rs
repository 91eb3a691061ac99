//! The simulation in `cargo test`: a few seeds, and the determinism of a run.

use informer_sim::{ControllerPlan, Keep, Plan, Playable, run};

/// The number of seeds in each test run; `cargo xtask sim` runs thousands.
const SEEDS: u64 = 16;

#[test]
fn no_seed_breaks_a_guarantee() {
    no_violation::<Plan>();
}

#[test]
fn no_seed_breaks_a_guarantee_of_controllers() {
    no_violation::<ControllerPlan>();
}

fn no_violation<P: Playable>() {
    for seed in 0..SEEDS {
        let violation = P::of(seed).run().violation;
        let violation = violation.map(|violation| violation.to_string());
        assert_eq!(
            violation,
            None,
            "seed {seed}; cargo xtask sim --only {} --seed {seed} reduces it",
            P::NAME
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_run_twice() {
    same_run_twice::<Plan>();
}

#[test]
fn the_same_seed_gives_the_same_run_of_controllers_twice() {
    same_run_twice::<ControllerPlan>();
}

fn same_run_twice<P: Playable>() {
    let hashes = |seed| {
        let plan = P::of(seed);
        (plan.run().hash, plan.run().hash)
    };
    for seed in 0..SEEDS {
        let (first, second) = hashes(seed);
        assert_eq!(first, second, "seed {seed}");
    }
    assert_ne!(hashes(1).0, hashes(2).0);
}

#[test]
fn a_reduced_plan_can_be_run() {
    let plan = Plan::of(3);
    let half: Keep = (0..plan.steps.len()).filter(|step| step % 2 == 0).collect();
    let outcome = run(&plan.kept(&half));
    assert_eq!(outcome.steps as usize, plan.steps.len().div_ceil(2));
    assert_eq!(outcome.violation, None);
}
