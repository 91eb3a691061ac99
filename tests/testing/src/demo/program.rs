//! The main function of a demo program: command line, logs, errors and exit codes.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use super::args::{self, Command, Flag};
use super::failure::{self, Ended, Result};
use super::{Demo, Script, logs};

/// A program with the command line, the output and the exit codes of a demo: 0, 1 for a failure, 2 for wrong
/// arguments.
#[derive(Clone, Debug)]
#[must_use = "a program does nothing until it is run"]
pub struct Program {
    about: &'static str,
    flags: Vec<Flag>,
    script: Script,
}

impl Program {
    /// A program that does this, in a sentence. On the embedded server it has the [demo
    /// cluster](Script::cluster).
    pub fn new(about: &'static str) -> Self {
        Self {
            about,
            flags: Vec::new(),
            script: Script::cluster(),
        }
    }

    /// Adds the flag `--selector`: see [`Demo::selector`].
    pub fn with_selector(mut self) -> Self {
        self.flags.push(Flag::Selector);
        self
    }

    /// Adds the flag `--rbac`: see [`Demo::prints_rbac`].
    pub fn with_rbac(mut self) -> Self {
        self.flags.push(Flag::Rbac);
        self
    }

    /// Adds the flag `--debug-port`: see [`Demo::debug_port`].
    pub fn with_debug_port(mut self) -> Self {
        self.flags.push(Flag::DebugPort);
        self
    }

    /// Sets what happens on the embedded server.
    pub fn script(mut self, script: Script) -> Self {
        self.script = script;
        self
    }

    /// Runs the program with the arguments of this process, and prints its error with all causes.
    pub async fn run(self, body: impl AsyncFnOnce(&mut Demo) -> Result) -> ExitCode {
        let mut arguments = std::env::args_os();
        let path = PathBuf::from(arguments.next().unwrap_or_default());
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
        let options = match args::parse(&self.flags, arguments) {
            Ok(Command::Run(options)) => options,
            Ok(Command::Help) => {
                let help = args::help(&name, self.about, &self.flags);
                // A reader that closed its end has seen enough.
                let _written = io::stdout().write_all(help.as_bytes());
                return ExitCode::SUCCESS;
            }
            Err(problem) => return failed(2, &problem),
        };
        let mut demo = Demo::new(options, self.script);
        logs::install(&demo.screen);
        let outcome = body(&mut demo).await;
        demo.screen.clear_footer();
        let cluster = demo.cluster.clone();
        let failure = match outcome {
            Err(failure) if !failure.is::<Ended>() => failure,
            _ if demo.prints_rbac() => return ExitCode::SUCCESS,
            _ => match demo.close().await {
                Ok(()) => return ExitCode::SUCCESS,
                Err(failure) => failure,
            },
        };
        let text = failure::with_causes(&failure);
        match cluster {
            Some(cluster) => failed(1, &format!("{text}\n\n{}", failure::hint(&name, &cluster, &text))),
            None => failed(1, &text),
        }
    }
}

fn failed(code: u8, problem: &str) -> ExitCode {
    // Nothing can be done about an error output that is closed.
    let _written = writeln!(io::stderr(), "error: {problem}");
    ExitCode::from(code)
}
