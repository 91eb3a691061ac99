//! The servers of the rows that need one: kube-apiserver with etcd, or the replay server.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use super::Size;
use super::rows::{Needs, PodSize, Row, objects, pods};
use crate::{Result, process};

/// The namespace with many objects.
pub(super) const FILLED: &str = "filled";

/// A running server; it stops when this value is dropped.
pub(super) struct Server {
    kubeconfig: PathBuf,
    /// The address of a replay server, which takes commands.
    replay: Option<String>,
    process: Child,
    input: Option<ChildStdin>,
}

impl Server {
    /// Starts a kube-apiserver and etcd, and fills the namespaces that the rows need.
    pub(super) fn start(program: &Path, size: Size, rows: &[&Row]) -> Result<Self> {
        let (server, _) = Self::run(Command::new(program).args(["server", "run"]))?;
        let is_needed = |needs| rows.iter().any(|row| row.needs == needs);
        if is_needed(Needs::FilledNamespace) {
            server.fill(program, &["fill"], FILLED, objects(size))?;
        }
        for pod in PodSize::ALL {
            if is_needed(Needs::Pods(pod)) {
                let fill = ["fill-pods", "--pod", pod.name()];
                server.fill(program, &fill, pod.namespace(), pods(size))?;
            }
        }
        Ok(server)
    }

    fn fill(&self, program: &Path, fill: &[&str], namespace: &str, objects: usize) -> Result<()> {
        println!("bench: creating {objects} objects in the namespace {namespace}");
        process::run(
            Command::new(program)
                .arg("server")
                .args(fill)
                .args(["--namespace", namespace])
                .args(["--objects", &objects.to_string()])
                .env("KUBECONFIG", &self.kubeconfig),
        )
    }

    /// Starts a replay server with as many Pods as the row reads.
    pub(super) fn replay(program: &Path, size: Size, row: &Row, pod: PodSize) -> Result<Self> {
        let objects = row
            .option("--objects", size)
            .ok_or("the row has no number of Pods")?;
        let mut command = Command::new(program);
        command
            .args(["server", "replay", "--pod", pod.name()])
            .args(["--objects", objects]);
        let (mut server, mut output) = Self::run(&mut command)?;
        let mut address = String::new();
        output.read_line(&mut address)?;
        server.replay = Some(address.trim_end().to_owned());
        Ok(server)
    }

    /// Starts a program that prints the path of a kubeconfig.
    fn run(command: &mut Command) -> Result<(Self, BufReader<std::process::ChildStdout>)> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = process.stdin.take();
        let output = process.stdout.take().ok_or("the server has no output")?;
        let mut output = BufReader::new(output);
        let mut kubeconfig = String::new();
        output.read_line(&mut kubeconfig)?;
        let server = Self {
            kubeconfig: kubeconfig.trim_end().into(),
            replay: None,
            process,
            input,
        };
        match kubeconfig.is_empty() {
            true => Err("cannot start the server; the reason is above".into()),
            false => Ok((server, output)),
        }
    }

    /// Whether it serves the Pods of one row only.
    pub(super) fn is_replay(&self) -> bool {
        self.replay.is_some()
    }

    /// Points a program to this server.
    pub(super) fn name_in(&self, command: &mut Command) {
        command.env("KUBECONFIG", &self.kubeconfig);
        if let Some(address) = &self.replay {
            command.env("BENCH_REPLAY", address);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its input ends the program, which ends the servers.
        drop(self.input.take());
        let _ = self.process.wait();
    }
}
