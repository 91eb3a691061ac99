//! The results of the runs, and their medians.

use std::collections::BTreeMap;

use super::rows::{Figure, Goal, Library, Row};

/// The figures of one run, by name.
pub(super) type Figures = BTreeMap<String, f64>;

/// All results so far.
#[derive(Default)]
pub(super) struct Samples {
    runs: BTreeMap<(&'static str, Library), Vec<Figures>>,
    /// Why a library has no result for a row.
    missing: BTreeMap<(&'static str, Library), &'static str>,
}

/// The results of one figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Summary {
    pub(super) median: f64,
    pub(super) smallest: f64,
    pub(super) largest: f64,
    pub(super) samples: Vec<f64>,
}

/// How this library compares with the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The bar is reached, and no other library is ahead.
    Pass,
    /// The bar is not reached, or another library is ahead.
    Short,
    /// The figure has no goal, or nothing to compare with.
    Shown,
}

impl Samples {
    pub(super) fn add(&mut self, row: &Row, library: Library, figures: Figures) {
        self.runs.entry((row.name, library)).or_default().push(figures);
    }

    pub(super) fn miss(&mut self, row: &Row, library: Library, why: &'static str) {
        self.missing.insert((row.name, library), why);
    }

    /// Records that no library has a result.
    pub(super) fn skip(&mut self, row: &Row, why: &'static str) {
        for library in row.libraries {
            self.miss(row, *library, why);
        }
    }

    pub(super) fn why_missing(&self, row: &Row, library: Library) -> Option<&'static str> {
        self.missing.get(&(row.name, library)).copied()
    }

    pub(super) fn summary(&self, row: &Row, library: Library, figure: &Figure) -> Option<Summary> {
        let runs = self.runs.get(&(row.name, library))?;
        let samples: Vec<f64> = runs
            .iter()
            .filter_map(|run| run.get(figure.name).copied())
            .collect();
        Summary::new(samples)
    }

    pub(super) fn verdict(&self, row: &Row, figure: &Figure) -> Verdict {
        let (ours, others) = match row.libraries {
            [ours, others @ ..] => (self.summary(row, *ours, figure), others),
            [] => (None, &[][..]),
        };
        let others = others.iter().filter_map(|other| {
            let bar = match other {
                Library::ClientGo => figure.bar,
                _ => 1.0,
            };
            Some(bar * self.summary(row, *other, figure)?.median)
        });
        let Some(ours) = ours else { return Verdict::Shown };
        verdict(figure.goal, ours.median, others)
    }
}

/// Compares with what has to be reached.
fn verdict(goal: Goal, ours: f64, wanted: impl Iterator<Item = f64>) -> Verdict {
    let mut wanted = wanted.peekable();
    if goal == Goal::Shown || wanted.peek().is_none() {
        return Verdict::Shown;
    }
    let is_ahead = wanted.all(|wanted| match goal {
        Goal::Larger => ours >= wanted,
        Goal::Smaller | Goal::Shown => ours <= wanted,
    });
    if is_ahead { Verdict::Pass } else { Verdict::Short }
}

impl Summary {
    fn new(samples: Vec<f64>) -> Option<Self> {
        let mut sorted = samples.clone();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            median: *sorted.get(sorted.len() / 2)?,
            smallest: *sorted.first()?,
            largest: *sorted.last()?,
            samples,
        })
    }
}

/// How many times better ours is: above 1 is ahead. None without a goal, and for negative times.
pub(super) fn advantage(goal: Goal, ours: f64, other: f64) -> Option<f64> {
    match goal {
        _ if ours <= 0.0 || other <= 0.0 => None,
        Goal::Larger => Some(ours / other),
        Goal::Smaller => Some(other / ours),
        Goal::Shown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_a_sample_and_the_spread_its_bounds() {
        let summary = Summary::new(vec![5.0, 1.0, 4.0, 9.0, 2.0]).expect("not empty");
        assert_eq!(
            (summary.median, summary.smallest, summary.largest),
            (4.0, 1.0, 9.0)
        );
        assert_eq!(Summary::new(Vec::new()), None);
    }

    #[test]
    fn a_row_passes_only_if_no_library_is_ahead() {
        let of = |goal, others: &[f64]| verdict(goal, 10.0, others.iter().copied());
        assert_eq!(of(Goal::Larger, &[9.0, 10.0]), Verdict::Pass);
        assert_eq!(of(Goal::Larger, &[9.0, 10.5]), Verdict::Short);
        assert_eq!(of(Goal::Smaller, &[9.0, 10.5]), Verdict::Short);
        assert_eq!(of(Goal::Smaller, &[11.0]), Verdict::Pass);
        assert_eq!(of(Goal::Smaller, &[]), Verdict::Shown);
        assert_eq!(of(Goal::Shown, &[1.0]), Verdict::Shown);
    }

    #[test]
    fn an_advantage_above_one_is_ahead_for_either_goal() {
        assert_eq!(advantage(Goal::Larger, 3.0, 2.0), Some(1.5));
        assert_eq!(advantage(Goal::Smaller, 2.0, 3.0), Some(1.5));
        assert_eq!(advantage(Goal::Smaller, -2.0, 3.0), None);
    }
}
