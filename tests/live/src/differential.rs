//! Checks the events that two informers delivered for the same history, and classifies every difference.

mod compare;
mod gaps;
mod judge;

pub use self::compare::{Differences, Reason, Side, compare};
pub use self::gaps::Gaps;
pub use self::judge::{Account, Delivery, Deviation, judge};
