//! Manually confirmed numbers: the releases of k8s-openapi, and their kinds.
//!
//! A new release of k8s-openapi changes them. The scanner then stops and reports the numbers it found. They
//! are corrected here by hand, after a check of the added and removed kinds, so that a change in the format
//! of k8s-openapi's files cannot silently drop any. Everything else follows: the table, the generated code,
//! its conditions and its tests.

use super::Release;

/// How many kinds each release has, oldest first, without gaps.
pub(super) const KINDS: [(Release, usize); 5] = [
    (Release { minor: 33 }, 81),
    (Release { minor: 34 }, 83),
    (Release { minor: 35 }, 83),
    (Release { minor: 36 }, 88),
    (Release { minor: 37 }, 93),
];
/// How many kinds at least one release has.
#[cfg(any(test, feature = "scan"))]
pub(super) const KINDS_IN_ANY: usize = 109;
/// How many kinds all releases have.
#[cfg(any(test, feature = "scan"))]
pub(super) const KINDS_IN_EVERY: usize = 69;
/// How many rows the table of unusual field names has.
#[cfg(feature = "scan")]
pub(super) const UNUSUAL_FIELDS: usize = 54;
