//! The results of the runs, their medians, and which bars they reach.

use std::collections::BTreeMap;

use super::rows::{Against, Bar, Figure, Goal, Library, Row};

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

/// How ours compares with one bar.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judged {
    /// What it is compared with: a library, a row, or nothing.
    pub(super) against: Option<&'static str>,
    /// Ours divided by that; ours itself if it is compared with nothing.
    pub(super) ratio: f64,
    pub(super) bar: Bar,
    pub(super) verdict: Verdict,
}

/// What is reached, from worst to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// Less than the bar.
    Short,
    /// The bar.
    Pass,
    /// The aim, which is beyond the bar.
    Aim,
}

impl Verdict {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Pass => "pass",
            Self::Aim => "aim",
        }
    }
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
        self.summary_of(row.name, library, figure)
    }

    fn summary_of(&self, row: &'static str, library: Library, figure: &Figure) -> Option<Summary> {
        let runs = self.runs.get(&(row, library))?;
        let samples: Vec<f64> = runs
            .iter()
            .filter_map(|run| run.get(figure.name).copied())
            .collect();
        Summary::new(samples)
    }

    /// Compares ours with every bar for which there is a result.
    pub(super) fn judge(&self, row: &Row, figure: &Figure) -> Vec<Judged> {
        let Some(ours) = self.summary(row, Library::Informers, figure) else {
            return Vec::new();
        };
        let names_client_go = figure.bars.iter().any(|bar| bar.against == Against::ClientGo);
        let mut judged = Vec::new();
        for bar in figure.bars {
            let others: Vec<(Option<&'static str>, f64)> = match bar.against {
                Against::Value => vec![(None, 1.0)],
                Against::Row(other) if other == row.name => Vec::new(),
                Against::Row(other) => {
                    let result = self.summary_of(other, Library::Informers, figure);
                    result
                        .map(|result| (Some(other), result.median))
                        .into_iter()
                        .collect()
                }
                Against::ClientGo => self.others(row, figure, |library| library == Library::ClientGo),
                Against::OtherLibraries => self.others(row, figure, |library| {
                    library != Library::ClientGo || !names_client_go
                }),
            };
            judged.extend(others.into_iter().filter_map(|(against, other)| {
                Some(Judged {
                    against,
                    ratio: ours.median / other,
                    bar: *bar,
                    verdict: verdict(figure.goal, bar, ours.median, other)?,
                })
            }));
        }
        judged
    }

    fn others(
        &self,
        row: &Row,
        figure: &Figure,
        is_meant: impl Fn(Library) -> bool,
    ) -> Vec<(Option<&'static str>, f64)> {
        let libraries = row.libraries.iter().skip(1).filter(|library| is_meant(**library));
        libraries
            .filter_map(|library| {
                let result = self.summary(row, *library, figure)?;
                Some((Some(library.name()), result.median))
            })
            .collect()
    }
}

/// What is reached by ours beside the other result; `None` without a goal.
fn verdict(goal: Goal, bar: &Bar, ours: f64, other: f64) -> Option<Verdict> {
    let reaches = |times: f64| match goal {
        Goal::Larger => Some(ours >= times * other),
        Goal::Smaller => Some(ours <= times * other),
        Goal::Shown => None,
    };
    let aims = match bar.aim {
        Some(aim) => reaches(aim)?,
        None => false,
    };
    Some(match (aims, reaches(bar.bar)?) {
        (true, _) => Verdict::Aim,
        (false, true) => Verdict::Pass,
        (false, false) => Verdict::Short,
    })
}

/// The worst of several; an aim counts if every bar that has one reaches it.
pub(super) fn overall(judged: &[Judged]) -> Option<Verdict> {
    if judged.iter().any(|judged| judged.verdict == Verdict::Short) {
        return Some(Verdict::Short);
    }
    let with_aim = judged.iter().filter(|judged| judged.bar.aim.is_some());
    let worst = with_aim.map(|judged| judged.verdict).min();
    worst.or(judged.first().map(|_| Verdict::Pass))
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

#[cfg(test)]
#[path = "samples_tests.rs"]
mod tests;
