//! Whether things keep coming soon after one another.

use super::simulation;

/// How many must come soon in a row. Some always do: a server sends the changes of a moment together.
const LONG: u8 = 16;

/// How many things in a row came soon after the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Streak(u8);

impl Streak {
    /// Records whether the next one came soon.
    pub(crate) fn record(&mut self, soon: bool) {
        self.0 = if soon { (self.0 + 1).min(LONG) } else { 0 };
    }

    /// Whether so many came soon that the next one probably will.
    pub(crate) fn is_long(self) -> bool {
        match simulation::is_running() {
            // Its clock stands still most of the time, and its streams are short.
            true => self.0 > 0,
            false => self.0 == LONG,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_streak_is_long_until_one_comes_late() {
        let mut streak = Streak::default();
        for _ in 0..LONG {
            assert!(!streak.is_long());
            streak.record(true);
        }
        assert!(streak.is_long());
        streak.record(true);
        assert!(streak.is_long());
        streak.record(false);
        assert_eq!(streak, Streak::default());
    }
}
