//! `cargo xtask every-kind`: an object of every kind through its own accessor, with the newest and the oldest release.

use std::process::Command;

use crate::Result;
use crate::process::run;
use crate::workspace::{cargo, with_oldest};

/// Switches the test on. Plain `cargo test` leaves it out, because it compiles an informer for each of the kinds.
pub(crate) const FEATURE: &str = "informer-generated-tests/every-kind";

/// The test itself demands that no kind of the table is left out.
pub(crate) fn play() -> Result<()> {
    play_newest()?;
    run(with_oldest(&mut test())?)
}

/// With the newest release only.
pub(crate) fn play_newest() -> Result<()> {
    run(&mut test())
}

fn test() -> Command {
    let mut command = cargo();
    // The whole workspace, so that `cargo test` has compiled all it depends on.
    command
        .args(["test", "--workspace", "--features", FEATURE])
        .args(["--test", "every_kind"]);
    command
}
