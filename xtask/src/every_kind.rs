//! `cargo xtask every-kind`: an object of every kind through its own accessor, with the newest and the oldest release.

use crate::Result;
use crate::process::run;
use crate::workspace::{cargo, with_oldest};

/// Switches the test on. Plain `cargo test` leaves it out, because it compiles an informer for each of the kinds.
pub(crate) const FEATURE: &str = "informer-generated-tests/every-kind";

/// The packages whose tests depend on the release, with the test switched on. Not the whole workspace: the program informer-gen
/// chooses a release by itself, as an installed program has to.
pub(crate) const PACKAGES: &[&str] = &[
    "-p",
    "informer-it",
    "-p",
    "informer-generated-tests",
    "--features",
    FEATURE,
];

/// The test itself demands that no kind of the table is left out.
pub(crate) fn play() -> Result<()> {
    play_newest()?;
    run(with_oldest(
        cargo().arg("test").args(PACKAGES).args(["--test", "every_kind"]),
    )?)
}

/// With the newest release only.
pub(crate) fn play_newest() -> Result<()> {
    // The whole workspace, so that `cargo test` has compiled all it depends on.
    run(cargo()
        .args(["test", "--workspace", "--features", FEATURE])
        .args(["--test", "every_kind"]))
}
