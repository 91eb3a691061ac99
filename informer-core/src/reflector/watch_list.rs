//! Reads the whole state through a watch that sends it first, and then follows that watch.

use futures::StreamExt;
use tokio::time::{Instant, timeout_at};

use super::list::check_version;
use super::state::{ListFailure, Phase};
use super::{InitialState, Reflector, Step};
use crate::delta::ReplaceBuilder;
use crate::key::ObjectKey;
use crate::mutant;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::source::{
    BookmarkMark, ObjectChange, SourceError, WatchEvent, WatchFrom, WatchListFrom, WatchRequest, WatchStream,
};

/// How many objects arrive between two progress reports.
const REPORT_EVERY: usize = 100;

impl<K: Object> Reflector<K> {
    pub(super) async fn watch_list(&mut self, from: WatchListFrom) -> Step {
        self.reporter.list_begins();
        self.relist.clear();
        let phase = Phase::WatchList { from: from.clone() };
        let newest = from == WatchListFrom::MostRecent;
        let request = WatchRequest {
            from: WatchFrom::InitialEvents(from),
            timeout: self.watch_timeout(),
            answer_within: self.memory.answer_within(),
        };
        let deadline = self.watch_deadline(request.timeout);

        let mut builder = self.queue.begin_replace();
        let mut stream = match self.source.watch_except(request, builder.known()).await {
            Ok(stream) => stream,
            Err(error) => return Ok(self.list_failed(&phase, ListFailure::Failed(error))),
        };
        let version = match self.read_initial(&mut stream, &mut builder, deadline).await {
            Ok(version) => version,
            Err(failure) => {
                if mutant::is("I4") {
                    let unfinished = builder.finish(ResourceVersion::new("1")).await;
                    self.queue.replace_all(unfinished).await?;
                }
                return Ok(self.list_failed(&phase, failure));
            }
        };
        let rewind = match self.judge(&version, newest) {
            Ok(rewind) => rewind,
            Err(error) => return Ok(self.list_failed(&phase, ListFailure::Older(error))),
        };
        self.replace(builder, version.clone(), rewind, InitialState::WatchList)
            .await?;
        self.follow(stream, version, deadline).await
    }

    /// Collects the state up to its end bookmark, including the changes that arrive before it.
    ///
    /// The stream must make progress, and only new objects count as progress: on a busy cluster updates never
    /// stop, and without this a server that never sends the bookmark would block the informer. The deadline
    /// of the watch limits the whole.
    async fn read_initial(
        &mut self,
        stream: &mut WatchStream<K>,
        builder: &mut ReplaceBuilder<K>,
        deadline: Instant,
    ) -> Result<ResourceVersion, ListFailure> {
        let begun = Instant::now();
        let others = self.begin_read();
        let mut most = 0;
        let mut until = self.next_progress(deadline);
        let mut applied: Option<Instant> = None;
        loop {
            let event = match timeout_at(until, stream.next()).await {
                Ok(Some(event)) => event.map_err(ListFailure::Failed)?,
                Ok(None) => return Err(ListFailure::Unfinished),
                Err(_) => return Err(without_end(begun)),
            };
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => builder.upsert(object).await,
                WatchEvent::Unchanged(key) => builder.keep(key).await,
                WatchEvent::Deleted(object) => {
                    if let Some(key) = ObjectKey::of(object.meta()) {
                        builder.remove(&key).await;
                    }
                }
                WatchEvent::Bookmark {
                    version: Some(version),
                    mark: BookmarkMark::InitialEventsEnd,
                } => {
                    check_version(&version).map_err(ListFailure::Failed)?;
                    self.reporter.listing(builder.seen() as u64, None);
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
                        (ObjectChange::Upserted, _) => builder.undecodable(&object).await,
                        (ObjectChange::Deleted, Some(key)) => builder.remove(key).await,
                        (ObjectChange::Deleted, None) => {
                            let reason = "an object was deleted and its name cannot be read";
                            return Err(ListFailure::Failed(SourceError::Protocol(reason.to_owned())));
                        }
                    }
                }
            }
            // Objects that wait for their transform may be updates of earlier ones, which are no progress.
            // They are transformed and counted exactly a few times per deadline, not for each event.
            let interval = self.config.bookmark_deadline / 10;
            if builder.has_pending() && applied.is_none_or(|at| at.elapsed() >= interval) {
                builder.apply_pending().await;
                applied = Some(Instant::now());
            }
            self.check_state(builder, others)
                .await
                .map_err(ListFailure::Failed)?;
            let so_far = builder.seen();
            if so_far > most && so_far.is_multiple_of(REPORT_EVERY) {
                self.reporter.listing(so_far as u64, None);
            }
            if so_far > most && !builder.has_pending() {
                most = so_far;
                until = self.next_progress(deadline);
            } else if Instant::now() >= until {
                // The timer above never fires on a stream that always has something to read.
                return Err(without_end(begun));
            }
        }
    }

    /// The deadline for the next new object.
    fn next_progress(&self, deadline: Instant) -> Instant {
        Instant::now()
            .checked_add(self.config.bookmark_deadline)
            .map_or(deadline, |until| until.min(deadline))
    }
}

fn without_end(begun: Instant) -> ListFailure {
    ListFailure::Silent(SourceError::Deadline {
        what: "the end of the initial events",
        after: begun.elapsed(),
    })
}
