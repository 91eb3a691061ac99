//! What plans have in common: they can be run, and reduced to a part of their steps.

use std::fmt;

use crate::plan::{Keep, Plan};
use crate::world::{self, Outcome};

/// A plan of one seed.
pub trait Playable: Clone + fmt::Display {
    /// The value of `--only` that selects plans of this kind.
    const NAME: &'static str;

    /// Draws the plan of a seed.
    fn of(seed: u64) -> Self;

    /// The seed of the plan.
    fn seed(&self) -> u64;

    /// The numbers of its steps, in order.
    fn numbers(&self) -> Vec<usize>;

    /// Returns the plan without the steps that are not in `keep`.
    fn kept(&self, keep: &Keep) -> Self;

    /// Runs the plan.
    fn run(&self) -> Outcome;
}

impl Playable for Plan {
    const NAME: &'static str = "informers";

    fn of(seed: u64) -> Self {
        Plan::of(seed)
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn numbers(&self) -> Vec<usize> {
        self.steps.iter().map(|step| step.number).collect()
    }

    fn kept(&self, keep: &Keep) -> Self {
        Plan::kept(self, keep)
    }

    fn run(&self) -> Outcome {
        world::run(self)
    }
}
