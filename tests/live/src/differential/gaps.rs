//! Where an informer may have missed something: between two watches, if it read the whole state in between.

use std::ops::RangeInclusive;

use super::judge::Account;
use crate::oracle::History;
use crate::proxy::Asked;

/// The versions that an informer may have missed, computed from its requests.
///
/// A watch that continues where the one before ended misses nothing; nor does the last one. Changes between
/// the last version before a read of the whole state and the first version after it may be missing, except
/// for what the state shows.
#[derive(Clone, Debug)]
pub struct Gaps(Vec<RangeInclusive<u64>>);

impl Gaps {
    /// Computes the gaps from the requests, oldest first.
    pub fn between(asked: &[Asked]) -> Self {
        let mut gaps = Vec::new();
        let (mut last, mut has_read) = (0, true);
        for asked in asked {
            match *asked {
                Asked::State => has_read = true,
                Asked::Since(since) => {
                    if has_read {
                        gaps.push(last + 1..=since);
                    }
                    (last, has_read) = (since, false);
                }
            }
        }
        if has_read {
            gaps.push(last + 1..=u64::MAX);
        }
        Self(gaps)
    }

    /// Whether a version lies in a gap.
    pub fn cover(&self, version: u64) -> bool {
        self.0.iter().any(|gap| gap.contains(&version))
    }

    /// Checks that every revision outside of the gaps was delivered.
    ///
    /// # Errors
    /// The text names the missing revision.
    pub fn explain(&self, history: &History, account: &Account) -> Result<(), String> {
        for key in history.keys() {
            let delivered = account.tellings.get(key);
            for (at, revision) in history.of(key).iter().enumerate() {
                let is_told = delivered.is_some_and(|delivered| delivered.contains_key(&at));
                if !is_told && !self.cover(revision.rv) {
                    return Err(format!(
                        "{key} {revision:?} was not delivered, and no read of the state covers it: {:?}",
                        self.0
                    ));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(asked: &[Asked], covered: &[u64], not_covered: &[u64]) {
        let gaps = Gaps::between(asked);
        for version in covered {
            assert!(gaps.cover(*version), "{version} in {gaps:?}");
        }
        for version in not_covered {
            assert!(!gaps.cover(*version), "{version} in {gaps:?}");
        }
    }

    #[test]
    fn the_first_state_covers_what_was_before() {
        check(&[Asked::State, Asked::Since(10)], &[1, 10], &[11, 99]);
    }

    #[test]
    fn a_watch_that_goes_on_covers_nothing() {
        let asked = [Asked::State, Asked::Since(10), Asked::Since(20)];
        check(&asked, &[10], &[11, 20, 21]);
    }

    #[test]
    fn a_read_of_the_state_covers_what_lies_between_two_watches() {
        let asked = [
            Asked::State,
            Asked::Since(10),
            Asked::Since(20),
            Asked::State,
            Asked::State,
            Asked::Since(30),
        ];
        check(&asked, &[10, 21, 30], &[11, 20, 31]);
    }

    #[test]
    fn a_stream_that_begins_with_the_state_is_its_own_watch() {
        check(&[Asked::State, Asked::Since(10), Asked::State], &[11, 99], &[]);
    }
}
