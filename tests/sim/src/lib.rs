//! The simulation: whole informers on the embedded server, with a paused clock. A seed determines the faults
//! and the order of tasks, and every guarantee is checked after every step.
//!
//! A seed yields a [`Plan`], a list of steps. The same plan always gives the same run, so a failing plan can
//! be reduced to the steps it needs ([`shrink`]) and run again. `cargo xtask sim` runs many seeds.

mod coverage;
mod history;
mod observer;
mod plan;
mod shrink;
mod subject;
mod verdict;
mod wire;
mod world;

pub use coverage::Coverage;
pub use plan::{InformerPlan, Keep, ParseKeepError, Plan, ServerPlan, Step};
pub use shrink::shrink;
pub use verdict::{Violation, trace};
pub use world::{Outcome, run};
