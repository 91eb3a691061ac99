//! `cargo xtask every-kind`: an object of every kind through its own accessor, with the newest and the oldest release.
//!
//! Not a part of CI: it compiles an informer for each of the kinds, which takes minutes. CI pins the types of all accessors instead.

use std::process::Command;

use informer_gen::inventory::{self, NEWEST, OLDEST, Watchable};

use crate::process::run_and_read;
use crate::workspace::{cargo, with_oldest};
use crate::{Result, libtest};

pub(crate) fn run() -> Result<()> {
    let newest = libtest::passed(&run_and_read(&mut test())?);
    let oldest = libtest::passed(&run_and_read(with_oldest(&mut test())?)?);
    for (release, passed) in [(NEWEST, newest), (OLDEST, oldest)] {
        let kinds = inventory::builtin()
            .iter()
            .filter(|kind| kind.exists_in(release) && kind.watchable == Watchable::Yes)
            .count();
        println!("{passed} of {kinds} kinds of Kubernetes {release}");
        if passed != kinds {
            return Err(format!("{passed} kinds of Kubernetes {release} were played, of {kinds}").into());
        }
    }
    Ok(())
}

fn test() -> Command {
    let mut command = cargo();
    command.args(["test", "-p", "informer-generated-tests"]).args([
        "--features",
        "every-kind",
        "--test",
        "every_kind",
    ]);
    command
}
