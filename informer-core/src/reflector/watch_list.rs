//! Reading the whole state through a watch that sends it first, and going on with that watch.

use futures::StreamExt;
use tokio::time::timeout;

use super::state::{Coverage, ListFailure, Phase};
use super::{Reflector, Step};
use crate::delta::{ReplaceBuilder, Rewind};
use crate::key::ObjectKey;
use crate::mutant;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::source::{
    BookmarkMark, ObjectChange, SourceError, WatchEvent, WatchFrom, WatchListFrom, WatchRequest, WatchStream,
};

/// How many objects arrive between two reports of progress.
const REPORT_EVERY: usize = 100;

impl<K: Object> Reflector<K> {
    pub(super) async fn watch_list(&mut self, from: WatchListFrom) -> Step {
        self.reporter.listing(0, None);
        self.relist.forget();
        let phase = Phase::WatchList { from: from.clone() };
        let newest = from == WatchListFrom::MostRecent;
        let request = WatchRequest {
            from: WatchFrom::InitialEvents(from),
            timeout: self.watch_timeout(),
        };
        let deadline = self.watch_deadline(request.timeout);

        let mut builder = self.queue.begin_replace();
        let mut stream = match self.source.watch(request).await {
            Ok(stream) => stream,
            Err(error) => return Ok(self.list_failed(&phase, ListFailure::Failed(error))),
        };
        let version = match self.read_initial(&mut stream, &mut builder).await {
            Ok(version) => version,
            Err(failure) => {
                if mutant::is("I4") {
                    self.queue
                        .replace_all(builder.finish(ResourceVersion::new("1"), Rewind::No))
                        .await?;
                }
                return Ok(self.list_failed(&phase, failure));
            }
        };
        let rewind = match self.judge(&version, newest) {
            Ok(rewind) => rewind,
            Err(error) => return Ok(self.list_failed(&phase, ListFailure::Older(error))),
        };
        let state = builder.finish(version.clone(), rewind);
        let unreadable = state.unreadable;
        self.queue.replace_all(state).await?;
        self.memory.watch_list_works();
        self.memory.listed(version.clone(), Coverage::of(unreadable));
        self.reporter.watch_list(self.memory.verdict().clone());
        self.reporter.listed(&version, unreadable);
        self.follow(stream, version, deadline).await
    }

    fn list_failed(&mut self, phase: &Phase, failure: ListFailure) -> super::state::Next {
        let next = self.memory.after_list_failure(phase, failure);
        self.reporter.watch_list(self.memory.verdict().clone());
        next
    }

    /// Collects the state up to its end bookmark. Changes that arrive before it are part of the state.
    async fn read_initial(
        &self,
        stream: &mut WatchStream<K>,
        builder: &mut ReplaceBuilder<K>,
    ) -> Result<ResourceVersion, ListFailure> {
        let silence = self.config.bookmark_deadline;
        loop {
            let event = match timeout(silence, stream.next()).await {
                Ok(Some(event)) => event.map_err(ListFailure::Failed)?,
                Ok(None) => return Err(ListFailure::Unfinished),
                Err(_) => {
                    let what = "the end of the initial events";
                    return Err(ListFailure::Silent(SourceError::Deadline {
                        what,
                        after: silence,
                    }));
                }
            };
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => builder.upsert(object),
                WatchEvent::Deleted(object) => {
                    if let Some(key) = ObjectKey::of(object.meta()) {
                        builder.remove(&key);
                    }
                }
                WatchEvent::Bookmark {
                    version: Some(version),
                    mark: BookmarkMark::InitialEventsEnd,
                } => {
                    self.reporter.listing(builder.len() as u64, None);
                    return Ok(version);
                }
                WatchEvent::Bookmark {
                    version: None,
                    mark: BookmarkMark::InitialEventsEnd,
                } => {
                    let reason = "the bookmark at the end of the initial events has no resourceVersion";
                    return Err(ListFailure::Failed(SourceError::Protocol(reason.to_owned())));
                }
                WatchEvent::Bookmark {
                    mark: BookmarkMark::Progress,
                    ..
                }
                | WatchEvent::Unknown => {}
                WatchEvent::Undecodable { change, object } => {
                    self.reporter.undecodable(&object);
                    match (change, &object.key) {
                        (ObjectChange::Upserted, _) => builder.undecodable(&object),
                        (ObjectChange::Deleted, Some(key)) => builder.remove(key),
                        (ObjectChange::Deleted, None) => {
                            let reason = "an object was deleted and its name cannot be read";
                            return Err(ListFailure::Failed(SourceError::Protocol(reason.to_owned())));
                        }
                    }
                }
            }
            let so_far = builder.len();
            if so_far.is_multiple_of(REPORT_EVERY) {
                self.reporter.listing(so_far as u64, None);
            }
        }
    }
}
