//! Errors, and what is said of them before the program ends.

use std::error::Error;
use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

use informers::SyncError;

/// Any error: an example has nobody to tell them apart.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// No cluster can be used, for this reason.
#[derive(Debug)]
pub(crate) struct NoCluster(pub(crate) String);

impl Error for NoCluster {}

impl fmt::Display for NoCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.trim_end())
    }
}

/// Says why the example of this name ends, with every cause.
pub(super) fn report(name: &str, failure: &Failure) -> ExitCode {
    // A reader that closed its end has seen enough, as in `quickstart | head`.
    let output = failure.downcast_ref::<io::Error>();
    if output.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    let mut text = failure.to_string();
    let mut cause = failure.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    if failure.is::<NoCluster>() || failure.is::<SyncError>() {
        text =
            format!("{text}\n\nTo see it work without a cluster: cargo run --example {name} -- --embedded");
    }
    failed(1, &text)
}

pub(super) fn failed(code: u8, problem: &str) -> ExitCode {
    // Nobody is left to be told that this failed.
    let _written = writeln!(io::stderr(), "error: {problem}");
    ExitCode::from(code)
}
