//! The servers of the rows that need one: kube-apiserver with etcd, or the replay server.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use super::Size;
use super::rows::{Needs, Row, objects, pods};
use crate::{Result, process};

/// The namespace with many objects.
pub(super) const FILLED: &str = "filled";

/// The namespace with many Pods.
pub(super) const PODS: &str = "pods";

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
        for (needs, fill, namespace, objects) in [
            (Needs::FilledNamespace, "fill", FILLED, objects(size)),
            (Needs::Pods, "fill-pods", PODS, pods(size)),
        ] {
            if rows.iter().all(|row| row.needs != needs) {
                continue;
            }
            println!("bench: creating {objects} objects in the namespace {namespace}");
            process::run(
                Command::new(program)
                    .args(["server", fill, "--namespace", namespace])
                    .args(["--objects", &objects.to_string()])
                    .env("KUBECONFIG", &server.kubeconfig),
            )?;
        }
        Ok(server)
    }

    /// Starts a replay server with as many Pods as the row reads.
    pub(super) fn replay(program: &Path, size: Size, row: &Row) -> Result<Self> {
        let objects = row
            .option("--objects", size)
            .ok_or("the row has no number of Pods")?;
        let mut command = Command::new(program);
        let (mut server, mut output) = Self::run(command.args(["server", "replay", "--objects", objects]))?;
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
