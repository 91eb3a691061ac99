//! What the numbers depend on: the machine, its load, and versions.

use std::process::Command;

use serde_json::{Value, json};

use crate::Result;

pub(super) struct Machine {
    pub(super) date: String,
    pub(super) system: String,
    pub(super) processor: String,
    pub(super) cores: usize,
    pub(super) rust: String,
    pub(super) go: String,
    pub(super) load_before: String,
    pub(super) load_after: String,
}

impl Machine {
    pub(super) fn look() -> Result<Self> {
        let cores = std::thread::available_parallelism()?.get();
        Ok(Self {
            date: output("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
            system: output("uname", &["-srm"]),
            processor: processor(),
            cores,
            rust: output("rustc", &["--version"]),
            go: output("go", &["version"]),
            load_before: load(),
            load_after: String::new(),
        })
    }

    /// Reads the load at the end of the measurement.
    pub(super) fn look_again(&mut self) {
        self.load_after = load();
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "date": self.date,
            "system": self.system,
            "processor": self.processor,
            "cores": self.cores,
            "rust": self.rust,
            "go": self.go,
            "load_before": self.load_before,
            "load_after": self.load_after,
        })
    }
}

/// The first line that a program prints, or "unknown".
fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    match text.lines().next() {
        Some(line) => line.trim().to_owned(),
        None => "unknown".to_owned(),
    }
}

/// The name of the processor, as Linux reports it.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    let name = line.and_then(|line| line.split_once(": "));
    name.map_or_else(|| "unknown processor".to_owned(), |(_, name)| name.to_owned())
}

/// The number of running tasks, averaged over 1, 5 and 15 minutes.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let averages: Vec<&str> = text.split(' ').take(3).collect();
    averages.join(" ")
}
