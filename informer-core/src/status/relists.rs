//! Why the whole state was read again, and how often.

use std::fmt;

/// Why the whole state of a scope was read again after a complete list.
///
/// Failed attempts of one relist count once: a reason is counted when the decision to list again is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RelistReason {
    /// The server no longer has the version of the watch (410).
    Expired,
    /// The server has not reached the version of the watch: a replica lags, or a backup was restored.
    VersionAhead,
    /// The server refused requests with the version several times in a row (400, 422, 414, 431).
    VersionRefused,
    /// Nothing arrived through several watches in a row, and the server did not close them.
    Silent,
    /// Several watches in a row could not be opened, or ended at once.
    WatchFailed,
    /// A watch was refused (403, 404).
    Refused,
    /// The cache reached its limit of objects or bytes.
    Limit,
    /// An object or a deletion could not be read, so the cache may lack a change.
    Unreadable,
    /// The server's history went back (an etcd restore).
    Rewound,
    /// An audit found a difference between the cache and the server.
    Audit,
    /// The server did not confirm the state of a saved cache.
    Unconfirmed,
    /// The source panicked.
    Panicked,
    /// The informer was resumed after a pause.
    Resumed,
    /// The selectors were changed.
    Reselected,
}

impl RelistReason {
    /// Every reason, in the order of the declaration.
    pub const ALL: [Self; 14] = [
        Self::Expired,
        Self::VersionAhead,
        Self::VersionRefused,
        Self::Silent,
        Self::WatchFailed,
        Self::Refused,
        Self::Limit,
        Self::Unreadable,
        Self::Rewound,
        Self::Audit,
        Self::Unconfirmed,
        Self::Panicked,
        Self::Resumed,
        Self::Reselected,
    ];

    /// Returns the name in metrics and logs: lower case, words joined by `_`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::VersionAhead => "version_ahead",
            Self::VersionRefused => "version_refused",
            Self::Silent => "silent",
            Self::WatchFailed => "watch_failed",
            Self::Refused => "refused",
            Self::Limit => "limit",
            Self::Unreadable => "unreadable",
            Self::Rewound => "rewound",
            Self::Audit => "audit",
            Self::Unconfirmed => "unconfirmed",
            Self::Panicked => "panicked",
            Self::Resumed => "resumed",
            Self::Reselected => "reselected",
        }
    }
}

impl fmt::Display for RelistReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The number of relists by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relists([u64; RelistReason::ALL.len()]);

impl Relists {
    /// Returns how often the state was read again for this reason.
    pub fn get(&self, reason: RelistReason) -> u64 {
        self.0[reason as usize]
    }

    /// Returns how often the state was read again, for any reason.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns every reason with its number, also those that did not occur.
    pub fn iter(&self) -> impl Iterator<Item = (RelistReason, u64)> + '_ {
        RelistReason::ALL
            .into_iter()
            .map(|reason| (reason, self.get(reason)))
    }

    pub(super) fn count(&mut self, reason: RelistReason) {
        self.0[reason as usize] += 1;
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            *own += other;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_place_and_name() {
        for (place, reason) in RelistReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, place, "{reason}");
            let mut relists = Relists::default();
            relists.count(reason);
            let found: Vec<_> = relists.iter().filter(|(_, count)| *count > 0).collect();
            assert_eq!((found, relists.total()), (vec![(reason, 1)], 1));
        }
        let names: std::collections::BTreeSet<_> = RelistReason::ALL.map(RelistReason::as_str).into();
        assert_eq!(names.len(), RelistReason::ALL.len());
    }
}
