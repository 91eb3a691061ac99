//! The programs that measure: builds and runs them, and the server for the rows that need one.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::Size;
use super::rows::{Library, Needs, Row, objects, pods};
use super::samples::Figures;
use crate::process::{self, Ended};
use crate::{Result, artifact, workspace};

/// The longest time of one run. The slowest rows take less than a minute.
const LIMIT: Duration = Duration::from_secs(300);

/// The namespace with many objects.
const FILLED: &str = "filled";

/// The namespace with many Pods.
const PODS: &str = "pods";

pub(super) struct Programs {
    rust: PathBuf,
    memory: PathBuf,
    /// None if Go is not installed.
    go: Option<PathBuf>,
}

impl Programs {
    /// Builds with the release profile.
    pub(super) fn build() -> Result<Self> {
        let build = ["build", "--release", "-p", "informer-bench"];
        Ok(Self {
            rust: artifact::build("tests/bench", "informer-bench", &build)?,
            memory: artifact::build("tests/bench", "informer-bench-memory", &build)?,
            go: build_go()?,
        })
    }

    /// The program that changes Pods while another one measures.
    pub(super) fn writer(&self) -> &Path {
        &self.rust
    }

    /// The program that measures a row with a library; none if it needs Go, which is not installed.
    pub(super) fn of(&self, library: Library, row: &Row) -> Option<&Path> {
        match library {
            Library::Informers if row.name == "memory" => Some(&self.memory),
            Library::Informers | Library::Kube => Some(&self.rust),
            Library::ClientGo | Library::ControllerRuntime => self.go.as_deref(),
        }
    }

    /// Starts a kube-apiserver and etcd, and fills one namespace.
    pub(super) fn start_server(&self, size: Size, rows: &[&Row]) -> Result<Server> {
        let mut process = Command::new(&self.rust)
            .args(["server", "run"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = process.stdin.take();
        let mut kubeconfig = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut kubeconfig)?;
        }
        let server = Server {
            kubeconfig: kubeconfig.trim_end().into(),
            process,
            input,
        };
        if kubeconfig.is_empty() {
            return Err("cannot start kube-apiserver and etcd; the reason is above".into());
        }
        for (needs, fill, namespace, objects) in [
            (Needs::FilledNamespace, "fill", FILLED, objects(size)),
            (Needs::Pods, "fill-pods", PODS, pods(size)),
        ] {
            if rows.iter().all(|row| row.needs != needs) {
                continue;
            }
            println!("bench: creating {objects} objects in the namespace {namespace}");
            process::run(
                Command::new(&self.rust)
                    .args(["server", fill, "--namespace", namespace])
                    .args(["--objects", &objects.to_string()])
                    .env("KUBECONFIG", &server.kubeconfig),
            )?;
        }
        Ok(server)
    }
}

/// A running kube-apiserver; it stops when this value is dropped.
pub(super) struct Server {
    kubeconfig: PathBuf,
    process: Child,
    input: Option<ChildStdin>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its input ends the program, which ends the servers.
        drop(self.input.take());
        let _ = self.process.wait();
    }
}

/// Builds the program in Go, unless Go is not installed.
fn build_go() -> Result<Option<PathBuf>> {
    if !process::works(Command::new("go").arg("version")) {
        println!("bench: Go is not installed: measuring without client-go and controller-runtime");
        return Ok(None);
    }
    let program = workspace::target()?.join("bench/go-libraries");
    process::run(
        Command::new("go")
            .args(["build", "-o"])
            .arg(&program)
            .arg(".")
            .current_dir(workspace::root().join("tests/bench/go"))
            // A workspace file or flags of the user would change what the module pins.
            .env("GOWORK", "off")
            .env("GOFLAGS", "-mod=readonly"),
    )?;
    Ok(Some(program))
}

/// Runs a program once and returns the figures it prints. `writer` changes Pods for it.
pub(super) fn measure(
    program: &Path,
    writer: &Path,
    row: &Row,
    library: Library,
    size: Size,
    round: usize,
    server: Option<&Server>,
) -> Result<Figures> {
    let mut command = Command::new(program);
    command.arg(library.name()).args(row.arguments(size));
    match row.needs {
        Needs::Nothing => {}
        Needs::NewNamespace => {
            let namespace = format!("{}-{}-{round}", row.name, library.name());
            command.args(["--namespace", &namespace]);
        }
        Needs::FilledNamespace => {
            command.args(["--namespace", FILLED]);
        }
        Needs::Pods => {
            command.args(["--namespace", PODS]).env("BENCH_WRITER", writer);
        }
    }
    if let Some(server) = server {
        command.env("KUBECONFIG", &server.kubeconfig);
    }
    let log = workspace::target()?.join("bench/output");
    std::fs::create_dir_all(log.with_file_name(""))?;
    let ended = process::run_limited(&mut command, &log, LIMIT)?;
    let text = std::fs::read_to_string(&log)?;
    let failed = |why: &str| format!("{} with {} {why}: {text}", row.name, library.name());
    match ended {
        Ended::Exited(status) if status.success() => {}
        Ended::Exited(_) => return Err(failed("failed").into()),
        Ended::TimedOut => return Err(failed("took too long").into()),
    }
    let last = text.lines().last().unwrap_or_default();
    let figures: Value = serde_json::from_str(last).map_err(|_| failed("printed no figures"))?;
    let figures = figures.as_object().ok_or_else(|| failed("printed no figures"))?;
    Ok(figures
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.as_f64()?)))
        .collect())
}
