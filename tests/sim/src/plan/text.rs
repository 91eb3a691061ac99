//! Plans as text, and the steps of a reduced plan as an argument.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::{Action, Plan, Step};
use crate::playable::Playable;

/// The numbers of the steps that a reduced plan keeps, written as `0-3,7`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keep(BTreeSet<usize>);

/// A text that is not a list of step numbers.
#[derive(Debug)]
pub struct ParseKeepError(String);

impl fmt::Display for ParseKeepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a list of steps such as `0-3,7`", self.0)
    }
}

impl std::error::Error for ParseKeepError {}

impl Keep {
    /// Whether a step is kept.
    pub fn contains(&self, number: usize) -> bool {
        self.0.contains(&number)
    }

    /// Returns the steps of a plan.
    pub fn of(plan: &impl Playable) -> Self {
        plan.numbers().into_iter().collect()
    }
}

impl FromIterator<usize> for Keep {
    fn from_iter<I: IntoIterator<Item = usize>>(numbers: I) -> Self {
        Self(numbers.into_iter().collect())
    }
}

impl FromStr for Keep {
    type Err = ParseKeepError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |part: &str| part.parse::<usize>().map_err(|_| ParseKeepError(text.to_owned()));
        let mut kept = BTreeSet::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            match part.split_once('-') {
                Some((from, to)) => kept.extend(number(from)?..=number(to)?),
                None => {
                    kept.insert(number(part)?);
                }
            }
        }
        Ok(Self(kept))
    }
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut numbers = self.0.iter().copied().peekable();
        let mut first = true;
        while let Some(from) = numbers.next() {
            let mut to = from;
            while numbers.next_if_eq(&(to + 1)).is_some() {
                to += 1;
            }
            if !first {
                f.write_str(",")?;
            }
            first = false;
            match from == to {
                true => write!(f, "{from}")?,
                false => write!(f, "{from}-{to}")?,
            }
        }
        Ok(())
    }
}

impl Action {
    /// Returns the name of the action, without its details.
    pub(crate) fn name(&self) -> String {
        let text = match self {
            Self::Scenario(scenario) => format!("{scenario:?}"),
            other => format!("{other:?}"),
        };
        text.chars().take_while(char::is_ascii_alphanumeric).collect()
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>3}  {:?}, then {:?}", self.number, self.action, self.pause)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, yields {} %", self.seed, self.yields)?;
        writeln!(f, "server {:?}", self.server)?;
        for (number, informer) in self.informers.iter().enumerate() {
            writeln!(f, "informer {number} {informer:?}")?;
        }
        for step in &self.steps {
            writeln!(f, "{step}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_written_as_ranges_and_read_back() {
        let keep: Keep = [0, 1, 2, 3, 7, 9, 10].into_iter().collect();
        assert_eq!(keep.to_string(), "0-3,7,9-10");
        assert_eq!("0-3,7,9-10".parse::<Keep>().unwrap(), keep);
        assert!("1-x".parse::<Keep>().is_err());
    }

    #[test]
    fn a_reduced_plan_keeps_the_numbers_of_its_steps() {
        let plan = Plan::of(7).kept(&"2,5".parse().unwrap());
        assert_eq!(
            plan.steps.iter().map(|step| step.number).collect::<Vec<_>>(),
            [2, 5]
        );
    }
}
