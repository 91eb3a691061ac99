//! The outcome of a run of the test binary, parsed from its output.

use std::fmt;
use std::time::Duration;

use crate::libtest;

/// How one run of the test binary ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed {
        tests: usize,
    },
    /// Tests failed, by name.
    Failed {
        tests: Vec<String>,
    },
    /// The process failed without naming a test: it aborted or was killed.
    Crashed {
        status: String,
    },
    /// The time limit passed; `hanging` are the tests that were reported as slow.
    TimedOut {
        limit: Duration,
        hanging: Vec<String>,
    },
}

impl Outcome {
    pub(crate) fn of_exit(success: bool, status: &str, output: &str) -> Self {
        let tests = libtest::with_ending(output, " ... FAILED");
        if success {
            Self::Passed {
                tests: libtest::passed(output),
            }
        } else if tests.is_empty() {
            Self::Crashed {
                status: status.to_owned(),
            }
        } else {
            Self::Failed { tests }
        }
    }

    pub(crate) fn of_timeout(limit: Duration, output: &str) -> Self {
        let mut hanging = libtest::with_ending(output, " has been running for over 60 seconds");
        hanging.retain(|name| !output.contains(&format!("test {name} ... ")));
        Self::TimedOut { limit, hanging }
    }
}

/// The verdict on one mutant.
pub(crate) enum Verdict {
    /// The guarantee's own tests failed.
    Caught(Outcome),
    /// They passed; `elsewhere` is the outcome of the whole suite.
    Survived { tests: usize, elsewhere: Outcome },
    /// The guarantee has no test.
    NoTest { filter: String },
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed { tests } => write!(f, "{tests} tests passed"),
            Self::Failed { tests } => f.write_str(&tests.join(", ")),
            Self::Crashed { status } => write!(f, "the process ended with {status}"),
            Self::TimedOut { limit, hanging } if hanging.is_empty() => {
                write!(f, "timeout after {} s", limit.as_secs())
            }
            Self::TimedOut { limit, hanging } => {
                write!(f, "timeout after {} s in {}", limit.as_secs(), hanging.join(", "))
            }
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caught(outcome) => outcome.fmt(f),
            Self::Survived {
                tests,
                elsewhere: Outcome::Passed { .. },
            } => {
                write!(f, "NOTHING: its own {tests} tests and the whole suite pass")
            }
            Self::Survived { tests, elsewhere } => {
                write!(f, "NOT its own {tests} tests, only by {elsewhere}")
            }
            Self::NoTest { filter } => write!(f, "NOTHING: no test is called `{filter}..`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: &str = "running 2 tests\ntest guarantees::i01_order::a ... ok\n\
        test guarantees::i01_order::b ... FAILED\n\nfailures:\n    guarantees::i01_order::b\n";

    #[test]
    fn failed_tests_are_named() {
        let outcome = Outcome::of_exit(false, "exit status: 101", FAILED);
        assert_eq!(
            outcome,
            Outcome::Failed {
                tests: vec!["guarantees::i01_order::b".to_owned()]
            }
        );
    }

    #[test]
    fn a_failed_run_without_a_failed_test_is_a_crash() {
        let outcome = Outcome::of_exit(false, "signal: 6", "running 2 tests\n");
        assert_eq!(
            outcome,
            Outcome::Crashed {
                status: "signal: 6".to_owned()
            }
        );
    }

    #[test]
    fn passed_tests_are_counted() {
        let output = "running 2 tests\n\ntest result: ok. 2 passed; 0 failed; 0 ignored\n";
        assert_eq!(Outcome::of_exit(true, "", output), Outcome::Passed { tests: 2 });
        assert_eq!(
            Outcome::of_exit(true, "", "running 0 tests\n"),
            Outcome::Passed { tests: 0 }
        );
    }

    #[test]
    fn after_a_timeout_the_tests_still_running_are_named() {
        let output = "test a has been running for over 60 seconds\n\
            test b has been running for over 60 seconds\ntest b ... ok\n";
        let outcome = Outcome::of_timeout(Duration::from_secs(120), output);
        assert_eq!(outcome.to_string(), "timeout after 120 s in a");
    }

    #[test]
    fn a_mutant_caught_only_by_other_tests_is_reported_as_survived() {
        let elsewhere = Outcome::of_exit(false, "", "test other::c ... FAILED\n");
        let verdict = Verdict::Survived { tests: 1, elsewhere };
        assert_eq!(verdict.to_string(), "NOT its own 1 tests, only by other::c");
    }
}
