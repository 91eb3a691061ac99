//! What happened in a scope, counted.

use super::Relists;
use crate::source::WatchEvent;

/// What happened in a scope since the informer was built, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Complete lists, by LIST or by watch-list.
    pub lists: u64,
    /// Lists that were started again after a complete one, by reason.
    pub relists: Relists,
    /// Opened watches.
    pub watches: u64,
    /// Events received in watches, including bookmarks.
    pub events: u64,
    /// Those of them that were additions.
    pub added: u64,
    /// Those of them that were modifications.
    pub modified: u64,
    /// Those of them that were deletions.
    pub deleted: u64,
    /// Those of them that were bookmarks.
    pub bookmarks: u64,
    /// Failed requests and streams.
    pub errors: u64,
    /// Objects that could not be decoded.
    pub undecodable: u64,
    /// Those of them whose key could not be read either.
    pub unreadable: u64,
    /// Times the server's history went back (an etcd restore).
    pub rewinds: u64,
    /// Events dropped because the cache already had a newer version.
    pub outdated: u64,
    /// Objects and deletions of a namespace that was not requested. They were rejected and logged.
    pub out_of_scope: u64,
}

/// The type of an event of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    Added,
    Modified,
    Deleted,
    Bookmark,
    /// Undecodable, unchanged, or of an unknown type.
    Other,
}

impl EventKind {
    pub(crate) fn of<K>(event: &WatchEvent<K>) -> Self {
        match event {
            WatchEvent::Added(_) => Self::Added,
            WatchEvent::Modified(_) => Self::Modified,
            WatchEvent::Deleted(_) => Self::Deleted,
            WatchEvent::Bookmark { .. } => Self::Bookmark,
            WatchEvent::Undecodable { .. } | WatchEvent::Unchanged(_) | WatchEvent::Unknown => Self::Other,
        }
    }
}

impl Counts {
    pub(super) fn received(&mut self, kind: EventKind) {
        self.events += 1;
        match kind {
            EventKind::Added => self.added += 1,
            EventKind::Modified => self.modified += 1,
            EventKind::Deleted => self.deleted += 1,
            EventKind::Bookmark => self.bookmarks += 1,
            EventKind::Other => {}
        }
    }

    /// Returns the sum of the counts of several scopes.
    pub(crate) fn sum<'a>(counts: impl Iterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for counts in counts {
            let Self {
                lists,
                relists,
                watches,
                events,
                added,
                modified,
                deleted,
                bookmarks,
                errors,
                undecodable,
                unreadable,
                rewinds,
                outdated,
                out_of_scope,
            } = counts;
            sum.lists += lists;
            sum.relists.add(relists);
            sum.watches += watches;
            sum.events += events;
            sum.added += added;
            sum.modified += modified;
            sum.deleted += deleted;
            sum.bookmarks += bookmarks;
            sum.errors += errors;
            sum.undecodable += undecodable;
            sum.unreadable += unreadable;
            sum.rewinds += rewinds;
            sum.outdated += outdated;
            sum.out_of_scope += out_of_scope;
        }
        sum
    }
}
