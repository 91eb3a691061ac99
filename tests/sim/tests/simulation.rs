//! The simulation in `cargo test`: a few seeds, and that a seed means one run.

use informer_sim::{Keep, Plan, run};

/// What every test run plays; `cargo xtask sim` plays thousands.
const SEEDS: u64 = 16;

#[test]
fn no_seed_breaks_a_guarantee() {
    for seed in 0..SEEDS {
        let outcome = run(&Plan::of(seed));
        let violation = outcome.violation.map(|violation| violation.to_string());
        assert_eq!(
            violation, None,
            "seed {seed}; cargo xtask sim --seed {seed} cuts it down"
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_history_twice() {
    let hashes = |seed| {
        let plan = Plan::of(seed);
        (run(&plan).hash, run(&plan).hash)
    };
    for seed in 0..SEEDS {
        let (first, second) = hashes(seed);
        assert_eq!(first, second, "seed {seed}");
    }
    assert_ne!(hashes(1).0, hashes(2).0);
}

#[test]
fn a_plan_that_is_cut_can_still_be_played() {
    let plan = Plan::of(3);
    let half: Keep = (0..plan.steps.len()).filter(|step| step % 2 == 0).collect();
    let outcome = run(&plan.kept(&half));
    assert_eq!(outcome.steps as usize, plan.steps.len().div_ceil(2));
    assert_eq!(outcome.violation, None);
}
