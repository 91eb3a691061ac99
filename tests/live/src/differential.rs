//! Judges what two informers told of the same history, and gives every difference between them a reason.

mod compare;
mod gaps;
mod judge;

pub use self::compare::{Differences, Reason, Side, compare};
pub use self::gaps::Gaps;
pub use self::judge::{Account, Deviation, Telling, judge};
