//! What the examples have in common: the command line, finding a server, the screen, and an end.
//!
//! None of it is about informers; each example's own files are.

pub(crate) mod args;
pub(crate) mod ends;
mod failure;
pub(crate) mod pod;
pub(crate) mod screen;
mod session;
pub(crate) mod stage;
mod target;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

pub(crate) use args::Usage;
pub(crate) use failure::{Failure, NoCluster};
pub(crate) use session::Session;
pub(crate) use stage::Stage;

use args::Command;

/// Runs an example as its command line says: `run` on the configured cluster, or on an embedded server whose story is told by
/// `story`. That puts there what is there from the start, and returns what happens then.
pub(crate) async fn main<Play>(
    usage: Usage,
    story: impl FnOnce(Stage) -> Result<Play, Failure>,
    run: impl AsyncFnOnce(&mut Session) -> Result<(), Failure>,
) -> ExitCode
where
    Play: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let mut arguments = std::env::args_os();
    let program = PathBuf::from(arguments.next().unwrap_or_default());
    let name = program.file_stem().unwrap_or_default().to_string_lossy();
    let arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    let options = match args::parse(usage, arguments) {
        Ok(Command::Run(options)) => options,
        Ok(Command::Help) => {
            // Nobody is left to be told that this failed.
            let _written = io::stdout().write_all(usage.help(&name).as_bytes());
            return ExitCode::SUCCESS;
        }
        Err(problem) => return failure::failed(2, &problem),
    };
    let ran = async {
        let mut session = Session::open(options, story).await?;
        let ran = run(&mut session).await;
        // What the program says of its failure tells more than how the story ended because of it.
        ran.and(session.close().await)
    };
    match ran.await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure::report(&name, &failure),
    }
}
