//! The program `informer-gen` as a library: typed informers for custom resources, from CRD files or a live
//! cluster.
//!
//! [`run`] is the program. To generate text without files or a server, call [`informer_gen::crd`] instead.

mod args;
#[cfg(feature = "cluster")]
mod cluster;
mod command;
mod error;
mod output;
mod sources;

use std::ffi::OsString;
use std::io::{Read, Write};
use std::process::ExitCode;

use clap::Parser as _;

#[cfg(feature = "cluster")]
pub use self::cluster::ClusterError;
pub use self::error::Error;
pub use self::output::OutputError;
pub use self::sources::{MAX_DEPTH, MAX_FILE_BYTES, MAX_FILES, SourceError};

/// The input and outputs of the program.
pub struct Console<'a> {
    /// The input of `-f -`.
    pub input: &'a mut dyn Read,
    /// Results and differences.
    pub output: &'a mut dyn Write,
    /// Errors.
    pub errors: &'a mut dyn Write,
}

impl std::fmt::Debug for Console<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").finish_non_exhaustive()
    }
}

/// The exit code of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// 0: everything was written, or is up to date.
    Done,
    /// 1: the input is invalid, or a check found a difference. Nothing was written.
    Failed,
    /// 2: the command line is invalid.
    Usage,
}

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Done => Self::SUCCESS,
            Ending::Failed => Self::from(1),
            Ending::Usage => Self::from(2),
        }
    }
}

/// Runs the program with these arguments, the first of which is its own name.
pub fn run(arguments: impl IntoIterator<Item = OsString>, console: &mut Console<'_>) -> Ending {
    let program = match args::Program::try_parse_from(arguments) {
        Ok(program) => program,
        Err(error) => return usage(&error, console),
    };
    let args::Command::Crd(arguments) = program.command;
    match command::run(&arguments, console) {
        Ok(()) => Ending::Done,
        Err(error) => {
            report(&error, console.errors);
            Ending::Failed
        }
    }
}

/// Prints the message of clap: help is a success, anything else an error.
fn usage(error: &clap::Error, console: &mut Console<'_>) -> Ending {
    let text = error.render();
    // An error of writing to the terminal cannot be reported.
    let (_written, ending) = match error.use_stderr() {
        true => (write!(console.errors, "{text}"), Ending::Usage),
        false => (write!(console.output, "{text}"), Ending::Done),
    };
    ending
}

/// Prints an error with all causes.
fn report(error: &Error, to: &mut dyn Write) {
    let mut text = format!("error: {error}\n");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text += &format!("  because: {error}\n");
        cause = error.source();
    }
    let _written = to.write_all(text.as_bytes());
}
