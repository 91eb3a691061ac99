//! One of the two programs of a cluster, as a process.

use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};

use rustix::process::{Pid, Signal, kill_process};

use super::guard::Guard;

/// How much of a log an error shows.
const TAIL_LINES: usize = 20;

/// A program, how it is started, and the process if it runs.
pub(super) struct Server {
    program: PathBuf,
    arguments: Vec<String>,
    log: PathBuf,
    child: Option<Child>,
}

impl Server {
    pub(super) fn new(program: &Path, arguments: Vec<String>, log: PathBuf) -> Self {
        Self {
            program: program.to_owned(),
            arguments,
            log,
            child: None,
        }
    }

    /// Starts the program; one that runs already is left alone.
    pub(super) fn start(&mut self, guard: &Guard) -> std::io::Result<()> {
        if self.child.is_none() {
            self.child = Some(guard.spawn(&self.program, &self.arguments, &self.log)?);
        }
        Ok(())
    }

    /// Kills the program as `kill -9` does, and waits until it has ended.
    pub(super) fn kill(&mut self, guard: &Guard) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        // Both fail only for a process that was waited for, and then there is nothing to do.
        let _ = child.kill();
        let _ = child.wait();
        guard.ended(child.id());
    }

    /// How it ended, if it did so by itself.
    pub(super) fn exited(&mut self) -> Option<ExitStatus> {
        self.child.as_mut()?.try_wait().ok().flatten()
    }

    /// Suspends the process; connections to it stay open and silent.
    pub(super) fn pause(&self) -> std::io::Result<()> {
        self.signal(Signal::STOP)
    }

    /// Undoes [`pause`](Self::pause).
    pub(super) fn resume(&self) -> std::io::Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> std::io::Result<()> {
        let Some(child) = &self.child else {
            return Err(std::io::Error::other("it does not run"));
        };
        Ok(kill_process(Pid::from_child(child), signal)?)
    }

    pub(super) fn name(&self) -> String {
        self.program.file_name().unwrap_or_default().display().to_string()
    }

    pub(super) fn log(&self) -> &Path {
        &self.log
    }

    /// Returns the last lines of its log.
    pub(super) fn log_tail(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let from = lines.len().saturating_sub(TAIL_LINES);
        lines[from..].join("\n")
    }
}
