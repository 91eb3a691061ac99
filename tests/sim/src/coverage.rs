//! How often each fault, transition and step occurred.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Every known fault, transition and step, one per line. A run reports those that it never hit.
const KNOWN: &str = include_str!("../known.txt");

/// The number of times that each fault, transition and step occurred.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    counts: BTreeMap<(String, String), u64>,
}

impl Coverage {
    /// Counts the steps, which have the kind `step` in the table, faults and transitions of a run.
    pub(crate) fn of(
        step: &str,
        names: impl Iterator<Item = String>,
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
        for name in names {
            let which = (step.to_owned(), name);
            *coverage.counts.entry(which).or_default() += 1;
        }
        coverage
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: Self) {
        for (what, count) in other.counts {
            *self.counts.entry(what).or_default() += count;
        }
    }

    /// Returns what occurred fewer times than this, or never.
    pub fn below(&self, least: u64) -> Vec<(String, u64)> {
        let mut counts: BTreeMap<_, _> = known().map(|which| (which, 0)).collect();
        counts.extend(self.counts.iter().map(|(which, count)| (which.clone(), *count)));
        let few = counts.into_iter().filter(|(_, count)| *count < least);
        few.map(|((what, which), count)| (format!("{what} {which}"), count))
            .collect()
    }

    /// Returns what occurred and is missing in `known.txt`, to which it has to be added.
    pub fn unknown(&self) -> Vec<String> {
        let known: BTreeSet<_> = known().collect();
        let unknown = self.counts.keys().filter(|which| !known.contains(*which));
        unknown.map(|(what, which)| format!("{what} | {which}")).collect()
    }

    /// Returns a table in Markdown.
    pub fn table(&self) -> String {
        let mut text = String::from("| what | which | hits |\n|---|---|---:|\n");
        for ((what, which), count) in &self.counts {
            let _ = writeln!(text, "| {what} | {which} | {count} |");
        }
        text
    }
}

fn known() -> impl Iterator<Item = (String, String)> {
    let pairs = KNOWN.lines().filter_map(|line| line.split_once(" | "));
    pairs.map(|(what, which)| (what.to_owned(), which.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_occurred_is_reported() {
        let below = Coverage::default().below(1);
        assert_eq!(below.len(), KNOWN.lines().count());
        assert!(below.contains(&("informer Live -> Stalled".to_owned(), 0)));
    }

    #[test]
    fn what_is_missing_in_the_list_is_reported() {
        let mut coverage = Coverage::default();
        coverage
            .counts
            .insert(("fault".to_owned(), "Earthquake".to_owned()), 1);
        assert_eq!(coverage.unknown(), ["fault | Earthquake"]);
    }
}
