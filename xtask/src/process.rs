//! Runs other programs: prints the command first, and names it in the error if it fails.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::Result;

/// How often a process with a time limit is polled.
const POLL: Duration = Duration::from_millis(20);

/// Runs the command with its output on the terminal; fails if the command fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = show(command);
    let status = command
        .status()
        .map_err(|error| format!("cannot start `{shown}`: {error}"))?;
    expect_success(&shown, status)
}

/// Like [`run`], and returns the command's standard output, which is printed as well.
pub(crate) fn run_and_read(command: &mut Command) -> Result<String> {
    let shown = show(command);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start `{shown}`: {error}"))?;
    let mut text = String::new();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines() {
            let line = line?;
            println!("{line}");
            text.push_str(&line);
            text.push('\n');
        }
    }
    expect_success(&shown, child.wait()?)?;
    Ok(text)
}

/// Like [`run_and_read`], for long output, which is not printed.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let shown = show(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot start `{shown}`: {error}"))?;
    expect_success(&shown, output.status)?;
    String::from_utf8(output.stdout).map_err(|_| format!("`{shown}` printed invalid UTF-8").into())
}

/// Whether the command starts and succeeds, without output. Used to check whether a tool is installed.
pub(crate) fn works(command: &mut Command) -> bool {
    let quiet = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// How a process with a time limit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// By itself.
    Exited(ExitStatus),
    /// Killed after the time limit.
    TimedOut,
}

/// Runs the command with both outputs in the file `log`, and kills it when `limit` has passed.
pub(crate) fn run_limited(command: &mut Command, log: &Path, limit: Duration) -> Result<Ended> {
    let output = File::create(log).map_err(|error| format!("cannot write {}: {error}", log.display()))?;
    let errors = output.try_clone()?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn()?;
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::Exited(status));
        }
        if start.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(Ended::TimedOut);
        }
        std::thread::sleep(POLL);
    }
}

/// Prints the command as typed in a shell, variables first, and returns that text.
fn show(command: &Command) -> String {
    let variables = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}={:?} ", name.display(), value?)));
    let program = Path::new(command.get_program())
        .file_stem()
        .unwrap_or_default()
        .display()
        .to_string();
    let arguments = command
        .get_args()
        .map(|argument| format!(" {}", argument.display()));
    let shown: String = variables.chain([program]).chain(arguments).collect();
    println!("$ {shown}");
    shown
}

fn expect_success(shown: &str, status: ExitStatus) -> Result<()> {
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{shown}` failed: {status}").into())
    }
}
