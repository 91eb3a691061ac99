//! The simulation: whole informers on the embedded server, by a clock that stands still until nothing else can run, with faults
//! and an order of tasks drawn from a seed, and every guarantee checked after every step.
//!
//! A seed is a [`Plan`], a list of steps; the same plan always gives the same run, so a failing one can be cut down to the steps it
//! needs ([`shrink`]) and played again. `cargo xtask sim` plays many.

mod coverage;
mod history;
mod plan;
mod shrink;
mod stage;
mod story;
mod verdict;
mod wire;
mod world;

pub use coverage::Coverage;
pub use plan::{InformerPlan, Keep, ParseKeepError, Plan, ServerPlan, Step};
pub use shrink::shrink;
pub use verdict::{Violation, trace};
pub use world::{Outcome, run};
