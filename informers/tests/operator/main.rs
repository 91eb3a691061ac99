//! The example `operator`: its generated kinds, and its reconciler on an embedded API server.

#![cfg(all(feature = "apps", feature = "core", feature = "events"))]
#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]
#![allow(
    clippy::duplicate_mod,
    reason = "one test includes the generated files again, as the output of a build script"
)]

mod definitions;
mod reconcile;
mod rights;

/// The program. Only its command line is not used here.
#[allow(dead_code, reason = "the tests call its manager, not its main function")]
#[path = "../../examples/operator.rs"]
mod operator;

use operator::generated;
