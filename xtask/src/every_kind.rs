//! `cargo xtask every-kind`: syncs an object of every kind through its accessor, with the newest and the
//! oldest release.
//!
//! Not part of CI: it compiles an informer for each kind, which takes minutes. CI checks the types of all
//! accessors instead, and syncs every kind on a real server if one is available.

use std::process::Command;

use crate::Result;
use crate::process::run;
use crate::workspace::{cargo, with_oldest};

/// Switches the test on.
pub(crate) const FEATURE: &str = "informer-it/every-kind";

/// The test itself demands that no kind of the table is left out.
pub(crate) fn play() -> Result<()> {
    run(&mut test())?;
    run(with_oldest(&mut test())?)
}

fn test() -> Command {
    let mut command = cargo();
    command
        .args(["test", "-p", "informer-it", "--features", FEATURE])
        .args(["--test", "every_kind"]);
    command
}
