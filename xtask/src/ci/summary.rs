//! The summary: one line per step, and the verdict.

use std::time::Duration;

use super::Passed;
use super::child::Ended;
use crate::Result;

/// Prints a line per step and the time of them all.
pub(super) fn print(ended: &[Ended], time: Duration) {
    println!("\n=== summary ===");
    for end in ended {
        println!("{}", line(end));
    }
    let (minutes, seconds) = (time.as_secs() / 60, time.as_secs() % 60);
    println!("{} steps in {minutes} min {seconds} s", ended.len());
}

/// Fails if a step failed.
pub(super) fn verdict(ended: &[Ended]) -> Result<()> {
    let failed = ended.iter().filter(|end| end.result.is_err());
    let failed: Vec<&str> = failed.map(|end| end.step.name).collect();
    match failed.as_slice() {
        [] => Ok(()),
        names => Err(format!("failed: {}", names.join(", ")).into()),
    }
}

pub(super) fn line(end: &Ended) -> String {
    let (result, note) = match &end.result {
        Ok(Passed::Ran) => ("passed", ""),
        Ok(Passed::RanWith(note)) => ("passed", note.as_str()),
        Ok(Passed::Skipped(reason)) => ("skipped", reason.as_str()),
        Err(error) => ("FAILED", error.as_str()),
    };
    let (name, time) = (end.step.name, format!("{:.1} s", end.time.as_secs_f64()));
    format!("{name:<12} {result:<8} {time:>8}  {note}")
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::{Pace, Place, Step};
    use super::*;

    static STEP: Step = Step {
        name: "deny",
        pace: Pace::Always,
        place: Place::Elsewhere,
        run: || Ok(Passed::Ran),
    };

    fn ended(result: Result<Passed, String>) -> Ended {
        Ended {
            step: &STEP,
            result,
            time: Duration::from_millis(1200),
            output: String::new(),
        }
    }

    #[test]
    fn a_skipped_step_is_not_a_passed_one() {
        let skipped = ended(Ok(Passed::Skipped("cargo-deny is not installed".to_owned())));
        assert_eq!(
            line(&skipped),
            "deny         skipped     1.2 s  cargo-deny is not installed"
        );
        assert!(verdict(&[skipped]).is_ok());
    }

    #[test]
    fn one_failed_step_fails_the_run() {
        let all = [ended(Ok(Passed::Ran)), ended(Err("exit status: 1".to_owned()))];
        assert_eq!(line(&all[0]), "deny         passed      1.2 s");
        assert_eq!(verdict(&all).unwrap_err().to_string(), "failed: deny");
    }
}
