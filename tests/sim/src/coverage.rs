//! What was hit, and how often: faults, and changes of state.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::plan::Plan;

/// How often each fault struck and each change of state happened.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    counts: BTreeMap<(String, String), u64>,
}

impl Coverage {
    pub(crate) fn of(
        plan: &Plan,
        struck: BTreeMap<String, u64>,
        transitions: BTreeMap<(&'static str, &'static str, &'static str), u64>,
    ) -> Self {
        let faults = struck
            .into_iter()
            .map(|(name, count)| (("fault".to_owned(), name), count));
        let transitions = transitions
            .into_iter()
            .map(|((what, from, to), count)| ((what.to_owned(), format!("{from} -> {to}")), count));
        let mut coverage = Self {
            counts: faults.chain(transitions).collect(),
        };
        for step in &plan.steps {
            let which = ("step".to_owned(), step.action.name());
            *coverage.counts.entry(which).or_default() += 1;
        }
        coverage
    }

    /// Adds what another run hit.
    pub fn add(&mut self, other: Self) {
        for (what, count) in other.counts {
            *self.counts.entry(what).or_default() += count;
        }
    }

    /// What was hit fewer times than this.
    pub fn below(&self, least: u64) -> Vec<(String, u64)> {
        self.counts
            .iter()
            .filter(|(_, count)| **count < least)
            .map(|((what, which), count)| (format!("{what} {which}"), *count))
            .collect()
    }

    /// A table in Markdown.
    pub fn table(&self) -> String {
        let mut text = String::from("| what | which | hits |\n|---|---|---:|\n");
        for ((what, which), count) in &self.counts {
            let _ = writeln!(text, "| {what} | {which} | {count} |");
        }
        text
    }
}
