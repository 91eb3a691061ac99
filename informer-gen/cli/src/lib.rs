//! The program `informer-gen` as a library: typed informers for custom resources, from CRD files or a live cluster.
//!
//! [`run`] is the program; whoever wants the text without files or a server calls [`informer_gen::crd`] instead.

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

/// Where the program reads and writes.
pub struct Console<'a> {
    /// What `-f -` reads.
    pub input: &'a mut dyn Read,
    /// What was done, or is different.
    pub output: &'a mut dyn Write,
    /// Why it failed.
    pub errors: &'a mut dyn Write,
}

impl std::fmt::Debug for Console<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").finish_non_exhaustive()
    }
}

/// How a run ended, as an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// 0: everything was done, or is as it should be.
    Done,
    /// 1: the input is bad, or a check found a difference. Nothing was written.
    Failed,
    /// 2: the command line cannot be understood.
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

/// Help is an answer; anything else that clap says is about a mistake.
fn usage(error: &clap::Error, console: &mut Console<'_>) -> Ending {
    let text = error.render();
    // Nobody is left to be told that this cannot be written.
    let (_written, ending) = match error.use_stderr() {
        true => (write!(console.errors, "{text}"), Ending::Usage),
        false => (write!(console.output, "{text}"), Ending::Done),
    };
    ending
}

/// Says what went wrong, with every cause.
fn report(error: &Error, to: &mut dyn Write) {
    let mut text = format!("error: {error}\n");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text += &format!("  because: {error}\n");
        cause = error.source();
    }
    let _written = to.write_all(text.as_bytes());
}
