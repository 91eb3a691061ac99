//! The simulation: whole informers and controllers on the embedded server, with a paused clock. A seed
//! determines the faults and the order of tasks, and every guarantee is checked after every step.
//!
//! A seed yields a [`Plan`], a list of steps. The same plan always gives the same run, so a failing plan can
//! be reduced to the steps it needs ([`shrink`]) and run again. `cargo xtask sim` runs many seeds.
//!
//! A seed also yields a [`ControllerPlan`], for controllers and leader election.

mod controllers;
mod coverage;
mod history;
mod observer;
mod plan;
mod playable;
mod shrink;
mod subject;
mod verdict;
mod wire;
mod world;

pub use controllers::ControllerPlan;
pub use coverage::Coverage;
pub use plan::{InformerPlan, Keep, ParseKeepError, Plan, ServerPlan, Step};
pub use playable::Playable;
pub use shrink::shrink;
pub use verdict::{Violation, trace};
pub use world::{Outcome, run};
