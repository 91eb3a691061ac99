//! What the bookmarks of earlier watches say about a watch that brought nothing.
//!
//! A server keeps a watch from a version that it has not reached open, and sends nothing, not even bookmarks.
//! That happens after an etcd restore, and after one wrong version from a proxy: the informer would be live
//! and blind until the server reaches that version. Upstream has no answer to this.

use std::time::Duration;

/// How many watches in a row may bring nothing, from a server that sends bookmarks.
const MUTE_WATCHES: u32 = 2;

/// Bookmarks come about once a minute. A watch shorter than this may have ended before its first one.
const FIRST_BOOKMARK: Duration = Duration::from_secs(180);

/// Whether the server sends bookmarks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Bookmarks {
    /// None has arrived. The server may not send any, and a quiet watch says nothing.
    #[default]
    Unseen,
    /// It does. So many watches in a row have brought nothing since.
    Sent { mute: u32 },
}

/// Whether the server can be assumed to have reached the version that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Reached,
    InDoubt,
}

impl Bookmarks {
    pub(super) fn arrived(&mut self) {
        *self = Self::Sent { mute: 0 };
    }

    /// A watch was closed in good order.
    pub(super) fn after_watch(&mut self, lived: Duration, events: u64) -> Version {
        let Self::Sent { mute } = self else {
            return Version::Reached;
        };
        match (events, lived >= FIRST_BOOKMARK) {
            (0, true) => *mute += 1,
            (0, false) => {}
            (_, _) => *mute = 0,
        }
        if *mute < MUTE_WATCHES {
            return Version::Reached;
        }
        *mute = 0;
        Version::InDoubt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Watches by their seconds and events; the last one's verdict.
    fn check(mut bookmarks: Bookmarks, watches: &[(u64, u64)], expected: Version) {
        let mut verdict = Version::Reached;
        for (seconds, events) in watches {
            verdict = bookmarks.after_watch(Duration::from_secs(*seconds), *events);
        }
        assert_eq!(verdict, expected, "{watches:?}");
    }

    #[test]
    fn two_watches_without_anything_put_the_version_in_doubt() {
        let sent = || Bookmarks::Sent { mute: 0 };
        check(sent(), &[(300, 0)], Version::Reached);
        check(sent(), &[(300, 0), (300, 0)], Version::InDoubt);
        check(sent(), &[(300, 0), (300, 1), (300, 0)], Version::Reached);
        check(sent(), &[(300, 0), (60, 0)], Version::Reached);
        check(sent(), &[(300, 0), (60, 0), (180, 0)], Version::InDoubt);
        check(sent(), &[(300, 0), (300, 0), (300, 0)], Version::Reached);
    }

    #[test]
    fn silence_says_nothing_of_a_server_without_bookmarks() {
        check(Bookmarks::Unseen, &[(300, 0); 10], Version::Reached);
    }
}
