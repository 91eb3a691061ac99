//! Builds kube-apiserver, etcd and kubectl with Go, once for each release, into the target folder.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::binaries::{BinariesError, KUBERNETES_VERSION, is_program};

/// As in the Go module's `go` line. A Go since 1.21 that is older fetches this one by itself.
pub(super) const OLDEST_GO: &str = "1.26";

/// The time between two progress reports of a build.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// How many of Go's last lines an error shows.
const LAST_LINES: usize = 30;

/// What is built, the small one first so that a mistake shows early.
const PROGRAMS: [Program; 3] = [
    Program {
        name: "etcd",
        package: "go.etcd.io/etcd/server/v3",
    },
    Program {
        name: "kube-apiserver",
        package: "k8s.io/kubernetes/cmd/kube-apiserver",
    },
    Program {
        name: "kubectl",
        package: "k8s.io/kubernetes/cmd/kubectl",
    },
];

struct Program {
    name: &'static str,
    package: &'static str,
}

/// How far a build is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildProgress {
    /// Another process builds the same; its result is waited for.
    Waiting {
        /// Since when.
        elapsed: Duration,
    },
    /// One program is being built.
    Building {
        /// Its name.
        program: &'static str,
        /// Since when.
        elapsed: Duration,
        /// How many packages have been compiled; those of an earlier build are not compiled again.
        packages: usize,
        /// The one that was begun last.
        latest: String,
    },
    /// One program was built.
    Built {
        /// Its name.
        program: &'static str,
        /// How long it took.
        elapsed: Duration,
    },
}

/// Where the programs are when they are built: in cargo's target folder, by release.
pub(super) fn folder() -> PathBuf {
    target().join("kubernetes").join(KUBERNETES_VERSION)
}

/// Cargo's target folder: the one this very program was built in.
pub fn target() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    // Cargo marks its target folder as a cache.
    let built_in = program
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").is_file());
    if let Some(folder) = built_in {
        return folder.to_owned();
    }
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from)
}

/// Builds what is not there yet. Callers in other processes wait for the one that builds.
///
/// A program appears under its name only when it is complete, so a build that was killed leaves nothing that
/// looks whole.
pub fn build(report: &mut dyn FnMut(&BuildProgress)) -> Result<(), BinariesError> {
    if !has_go() {
        return Err(BinariesError::NoGo);
    }
    let folder = folder();
    std::fs::create_dir_all(&folder)?;
    // Held until the end of this function; the kernel lets go of it if we are killed.
    let _lock = lock(&folder.join("lock"), report)?;
    for program in &PROGRAMS {
        if !is_program(&folder.join(program.name)) {
            build_one(program, &folder, report)?;
        }
    }
    Ok(())
}

fn has_go() -> bool {
    let mut go = Command::new("go");
    go.arg("version").stdout(Stdio::null()).stderr(Stdio::null());
    go.status().is_ok_and(|status| status.success())
}

fn lock(path: &Path, report: &mut dyn FnMut(&BuildProgress)) -> Result<File, BinariesError> {
    let file = File::create(path)?;
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Err(TryLockError::WouldBlock) => {
                report(&BuildProgress::Waiting {
                    elapsed: start.elapsed(),
                });
                std::thread::sleep(TELL_EVERY);
            }
        }
    }
}

fn build_one(
    program: &'static Program,
    folder: &Path,
    report: &mut dyn FnMut(&BuildProgress),
) -> Result<(), BinariesError> {
    let start = Instant::now();
    let unfinished = folder.join(format!("{}.unfinished", program.name));
    let mut go = go_build(program, &unfinished).spawn()?;
    let lines = go.stderr.take().map(lines_of);
    let mut output = VecDeque::new();
    let mut packages = 0;
    report_build(program, start, packages, &output, report);
    while let Some(lines) = &lines {
        match lines.recv_timeout(TELL_EVERY) {
            Ok(line) => {
                packages += usize::from(is_package(&line));
                output.push_back(line);
                if output.len() > LAST_LINES {
                    output.pop_front();
                }
                continue;
            }
            Err(RecvTimeoutError::Timeout) => report_build(program, start, packages, &output, report),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    finish(program, &mut go, output)?;
    std::fs::rename(&unfinished, folder.join(program.name))?;
    report(&BuildProgress::Built {
        program: program.name,
        elapsed: start.elapsed(),
    });
    Ok(())
}

/// `go build` of one program, in our module, which pins everything.
fn go_build(program: &Program, output: &Path) -> Command {
    let mut go = Command::new("go");
    go.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("apiserver"))
        // A workspace file or flags of the user's own would change what the module pins.
        .env("GOWORK", "off")
        .env("GOFLAGS", "-mod=readonly")
        .args(["build", "-v", "-ldflags", &linker_flags()])
        .args([OsStr::new("-o"), output.as_os_str(), OsStr::new(program.package)])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    go
}

/// No debug information; and the version, which discovery would otherwise answer as v0.0.0.
fn linker_flags() -> String {
    let mut numbers = KUBERNETES_VERSION.split('.');
    let mut number = || numbers.next().unwrap_or_default();
    let (major, minor) = (number(), number());
    let set = |name: &str, value: &str| format!(" -X k8s.io/component-base/version.{name}={value}");
    [
        "-s -w".to_owned(),
        set("gitVersion", &format!("v{KUBERNETES_VERSION}")),
        set("gitMajor", major),
        set("gitMinor", minor),
    ]
    .concat()
}

/// With `-v`, Go prints the name of each package it compiles; all other lines contain a blank.
fn is_package(line: &str) -> bool {
    !line.is_empty() && !line.contains(char::is_whitespace)
}

fn lines_of(output: ChildStderr) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

fn report_build(
    program: &'static Program,
    start: Instant,
    packages: usize,
    output: &VecDeque<String>,
    report: &mut dyn FnMut(&BuildProgress),
) {
    report(&BuildProgress::Building {
        program: program.name,
        elapsed: start.elapsed(),
        packages,
        latest: output.back().cloned().unwrap_or_default(),
    });
}

fn finish(program: &Program, go: &mut Child, output: VecDeque<String>) -> Result<(), BinariesError> {
    let status = go.wait()?;
    if status.success() {
        return Ok(());
    }
    let output: Vec<String> = output.into_iter().filter(|line| !is_package(line)).collect();
    Err(BinariesError::Build {
        what: program.name.to_owned(),
        why: format!("`go build` ended with {status}\n{}", output.join("\n")),
    })
}
