//! `cargo xtask mutants`: breaks each guarantee on purpose and checks that its own tests fail.
//!
//! informer-core has one deliberate fault per guarantee, compiled in under the hidden feature `__mutants` and
//! selected by a variable at run time. So the integration tests are built once and run once per fault. The
//! tests of guarantee I3 are those whose names begin with `i03_`, and those of C3 begin with `c03_`.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::mutant_outcome::{Outcome, Verdict};
use crate::process::{self, Ended};
use crate::{Result, artifact, workspace};

/// The guarantees of informers are numbered from I1 to this one.
const LAST: u8 = 16;
/// The guarantees of controllers are numbered from C1 to this one.
const LAST_OF_CONTROLLERS: u8 = 7;
/// Longer than the whole suite takes. A mutant that makes a test hang is caught by this limit.
const LIMIT: Duration = Duration::from_secs(120);
/// The limit for the suite without a fault, on a slow machine.
const BASELINE_LIMIT: Duration = Duration::from_secs(600);
/// The variable that informer-core reads.
const CHOICE: &str = "INFORMER_MUTANT";

/// Checks the named mutants, or all of them if `names` is empty.
pub(crate) fn run(names: &[&str]) -> Result<()> {
    let chosen = choose(names)?;
    let suite = Suite::build()?;

    let start = Instant::now();
    let baseline = suite.run("", None)?;
    let Outcome::Passed { tests } = baseline else {
        return Err(format!(
            "the suite fails without any fault: {baseline}; see {}",
            suite.log("").display()
        )
        .into());
    };
    println!(
        "no fault: {tests} tests passed in {:.1} s",
        start.elapsed().as_secs_f64()
    );

    println!("{:<10} {:>7}  caught by", "guarantee", "time");
    let mut survivors = Vec::new();
    for mutant in chosen {
        let start = Instant::now();
        let verdict = suite.judge(mutant)?;
        println!(
            "{:<10} {:>5.1} s  {verdict}",
            mutant.name(),
            start.elapsed().as_secs_f64()
        );
        if !matches!(verdict, Verdict::Caught(_)) {
            survivors.push(mutant.name());
        }
    }
    if survivors.is_empty() {
        return Ok(());
    }
    Err(format!(
        "not caught by the tests of the guarantee: {}",
        survivors.join(", ")
    )
    .into())
}

/// The deliberate fault against one guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    Informer(u8),
    Controller(u8),
}

impl Mutant {
    fn all() -> Vec<Self> {
        let informer = (1..=LAST).map(Self::Informer);
        let controller = (1..=LAST_OF_CONTROLLERS).map(Self::Controller);
        informer.chain(controller).collect()
    }

    /// Its name in informer-core: `I3`.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Informer(guarantee) => format!("I{guarantee}"),
            Self::Controller(guarantee) => format!("C{guarantee}"),
        }
    }

    /// A part of the names of the guarantee's own tests.
    fn filter(self) -> String {
        match self {
            Self::Informer(guarantee) => format!("::i{guarantee:02}_"),
            Self::Controller(guarantee) => format!("::c{guarantee:02}_"),
        }
    }
}

/// The named mutants, or all of them if `names` is empty.
pub(crate) fn choose(names: &[&str]) -> Result<Vec<Mutant>> {
    let all = Mutant::all();
    if names.is_empty() {
        return Ok(all);
    }
    let find = |name: &&str| {
        let found = all.iter().find(|mutant| mutant.name() == *name);
        let known = || {
            all.iter()
                .map(|mutant| mutant.name())
                .collect::<Vec<_>>()
                .join(", ")
        };
        found
            .copied()
            .ok_or_else(|| format!("no mutant `{name}`; the mutants are {}", known()).into())
    };
    names.iter().map(find).collect()
}

/// The integration tests, built with all faults.
struct Suite {
    binary: PathBuf,
    /// The folder with the output of each run.
    logs: PathBuf,
}

impl Suite {
    fn build() -> Result<Self> {
        let faulty = ["--features", "informer-core/__mutants", "--no-run"];
        let binary = artifact::build(
            "tests/it",
            "it",
            &[&["test", "--workspace", "--test", "it"][..], &faulty].concat(),
        )?;
        let logs = workspace::target()?.join("mutants");
        std::fs::create_dir_all(&logs)?;
        Ok(Self { binary, logs })
    }

    /// Runs the tests whose names contain `filter`.
    fn run(&self, filter: &str, mutant: Option<Mutant>) -> Result<Outcome> {
        let folder = workspace::root().join("tests/it");
        let mut command = Command::new(&self.binary);
        command
            .current_dir(&folder)
            .env("CARGO_MANIFEST_DIR", &folder)
            .env_remove(CHOICE);
        if !filter.is_empty() {
            command.arg(filter);
        }
        let name = mutant.map(Mutant::name);
        if let Some(name) = &name {
            command.env(CHOICE, name);
        }
        let log = self.log(name.as_deref().unwrap_or_default());
        let limit = if mutant.is_some() { LIMIT } else { BASELINE_LIMIT };
        let ended = process::run_limited(&mut command, &log, limit)?;
        let text = std::fs::read(&log)?;
        let text = String::from_utf8_lossy(&text);
        Ok(match ended {
            Ended::Exited(status) => Outcome::of_exit(status.success(), &status.to_string(), &text),
            Ended::TimedOut => Outcome::of_timeout(limit, &text),
        })
    }

    /// Runs the guarantee's own tests against its mutant. If they pass, runs all tests, to name one that
    /// fails.
    fn judge(&self, mutant: Mutant) -> Result<Verdict> {
        let own = self.run(&mutant.filter(), Some(mutant))?;
        Ok(match own {
            Outcome::Passed { tests: 0 } => Verdict::NoTest {
                filter: mutant.filter(),
            },
            Outcome::Passed { tests } => Verdict::Survived {
                tests,
                elsewhere: self.run("", Some(mutant))?,
            },
            caught => Verdict::Caught(caught),
        })
    }

    fn log(&self, name: &str) -> PathBuf {
        self.logs
            .join(if name.is_empty() { "none" } else { name })
            .with_extension("txt")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_names_all_mutants_are_chosen() {
        let all = choose(&[]).unwrap();
        let names: Vec<String> = all.iter().map(|mutant| mutant.name()).collect();
        assert_eq!(
            (names[0].as_str(), names[15].as_str(), names[16].as_str()),
            ("I1", "I16", "C1")
        );
        assert_eq!(
            (all[0].filter(), all[16].filter()),
            ("::i01_".to_owned(), "::c01_".to_owned())
        );
    }

    #[test]
    fn an_unknown_name_is_an_error() {
        assert_eq!(
            choose(&["I3", "C3"]).unwrap(),
            [Mutant::Informer(3), Mutant::Controller(3)]
        );
        let error = choose(&["I17"]).unwrap_err().to_string();
        assert!(
            error.starts_with("no mutant `I17`; the mutants are I1, I2,") && error.contains(", C1, "),
            "{error}"
        );
    }
}
