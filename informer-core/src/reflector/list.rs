//! Reads the whole state by LIST, page by page.

use futures::StreamExt;
use tokio::time::Instant;

use super::capacity::Others;
use super::state::{ListFailure, Next, Pause, Phase};
use super::{InitialState, Reflector, Step};
use crate::delta::{Closed, ReplaceBuilder, Rewind};
use crate::mutant;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::source::{ListEvent, ListFrom, ListMetadata, ListRequest, SourceError};
use crate::status::Coverage;

/// How many objects arrive between two progress reports.
const REPORT_EVERY: usize = 100;

/// How many pages in a row may contain no new object. Servers that filter after paging send empty pages, but
/// an endless series of them must end. Such pages are requested with the minimum pause in between.
const PAGES_WITHOUT_PROGRESS: u32 = 100;

impl<K: Object> Reflector<K> {
    pub(super) async fn list(&mut self, from: ListFrom) -> Step {
        self.reporter.list_begins();
        self.relist.clear();
        let phase = Phase::List { from: from.clone() };
        let (builder, version) = match self.read_pages(&from).await {
            Ok(read) => read,
            Err(error) => return Ok(self.list_failed(&phase, ListFailure::Failed(error))),
        };
        let rewind = match self.judge(&version, matches!(from, ListFrom::MostRecent)) {
            Ok(rewind) => rewind,
            Err(error) => return Ok(self.list_failed(&phase, ListFailure::Older(error))),
        };
        self.replace(builder, version.clone(), rewind, InitialState::List)
            .await?;
        Ok(Next {
            phase: Phase::Watch { from: version },
            pause: Pause::None,
            report: None,
        })
    }

    pub(super) fn list_failed(&mut self, phase: &Phase, failure: ListFailure) -> Next {
        self.memory.advance(Instant::now());
        let next = self.memory.after_list_failure(phase, failure);
        self.reporter.watch_list(self.memory.verdict());
        next
    }

    /// Queues the whole state, remembers and reports it.
    pub(super) async fn replace(
        &mut self,
        builder: ReplaceBuilder<K>,
        version: ResourceVersion,
        rewind: Rewind,
        read_by: InitialState,
    ) -> Result<(), Closed> {
        let state = builder.finish_with(version.clone(), rewind).await;
        let coverage = Coverage::of(state.unreadable);
        let unusable = state.unreadable + state.unusable.len();
        self.queues(&version);
        self.queue.replace_all(state).await?;
        self.turn = None;
        self.memory.advance(Instant::now());
        match read_by {
            InitialState::List => self.memory.listed(version, coverage),
            InitialState::WatchList => self.memory.streamed(version, coverage),
        }
        self.reporter.listed(self.memory.position(), unusable);
        self.reporter.watch_list(self.memory.verdict());
        Ok(())
    }

    /// Reads all pages. Nothing is visible until the last one is complete.
    async fn read_pages(
        &mut self,
        from: &ListFrom,
    ) -> Result<(ReplaceBuilder<K>, ResourceVersion), SourceError> {
        let mut limit = self.memory.limit(from, self.config.page_size);
        let mut builder = self.queue.begin_replace();
        let others = self.begin_read();
        let mut version: Option<ResourceVersion> = None;
        let mut continue_token: Option<String> = None;
        let mut last_token: Option<String> = None;
        let mut without_progress = 0;
        loop {
            let request = ListRequest {
                from: from.clone(),
                limit,
                continue_token: continue_token.take(),
                answer_within: self.memory.answer_within(),
            };
            let later_page = request.continue_token.is_some();
            let before = builder.named();
            let page = match self.read_page(request, &mut builder, others).await {
                // The continue token has expired. A list without pages cannot expire, so it is read again as
                // one.
                Err(error) if error.is_expired() && later_page && limit.is_some() => {
                    builder = self.queue.begin_replace();
                    version = None;
                    limit = None;
                    continue;
                }
                page => page?,
            };
            builder.apply_pending().await;
            // An object without a name may be one that was seen, so it is no progress.
            without_progress = match builder.named() > before {
                true => 0,
                false => without_progress + 1,
            };
            let page_version = page
                .resource_version
                .ok_or_else(|| SourceError::Protocol("a list has no resourceVersion".to_owned()))?;
            check_version(&page_version)?;
            version.get_or_insert(page_version);
            match page.continue_token {
                Some(token) if last_token.as_ref() == Some(&token) => {
                    let reason = "a list repeated its continue token and would never end";
                    return Err(SourceError::Protocol(reason.to_owned()));
                }
                Some(_) if without_progress >= PAGES_WITHOUT_PROGRESS => {
                    return Err(SourceError::Protocol(format!(
                        "{without_progress} pages of a list in a row had no new object"
                    )));
                }
                Some(token) => {
                    if without_progress > 0 {
                        tokio::time::sleep(self.backoff.minimum()).await;
                    }
                    last_token = Some(token.clone());
                    if matches!(from, ListFrom::AnyCached) {
                        self.memory.saw_pages_of_any_cached();
                    }
                    continue_token = Some(token);
                }
                None => return Ok((builder, version.expect("set above, for every page"))),
            }
        }
    }

    async fn read_page(
        &self,
        request: ListRequest,
        builder: &mut ReplaceBuilder<K>,
        others: Others,
    ) -> Result<ListMetadata, SourceError> {
        let mut page = self.source.list_except(request, builder.known()).await?;
        let before = builder.seen();
        let mut metadata: Option<ListMetadata> = None;
        while let Some(event) = page.next().await {
            match event? {
                ListEvent::Metadata(read) => metadata = Some(read),
                ListEvent::Item(object) => builder.upsert(object).await,
                ListEvent::Unchanged(key) => builder.keep(key).await,
                ListEvent::Undecodable(object) => {
                    self.reporter.undecodable(&object);
                    builder.undecodable(&object).await;
                }
            }
            let so_far = builder.seen();
            self.check_state(builder, others).await?;
            if so_far.is_multiple_of(REPORT_EVERY) {
                self.progress(before, so_far, metadata.as_ref());
            }
        }
        self.progress(before, builder.seen(), metadata.as_ref());
        metadata.ok_or_else(|| SourceError::Protocol("a list has no metadata".to_owned()))
    }

    /// Reports how many objects have arrived, and how many are expected: the server reports the rest after a
    /// page.
    fn progress(&self, before: usize, so_far: usize, metadata: Option<&ListMetadata>) {
        let page = self
            .memory
            .limit(&ListFrom::MostRecent, self.config.page_size)
            .unwrap_or(0) as usize;
        let expected = metadata.and_then(|metadata| match (metadata.remaining, &metadata.continue_token) {
            (Some(remaining), Some(_)) => Some((so_far.max(before + page) as u64).saturating_add(remaining)),
            _ => None,
        });
        self.reporter.listing(so_far as u64, expected);
    }

    /// Decides whether a state of this version may replace the present one.
    ///
    /// An older state comes from a replica that lags, unless the newest state was requested: then the
    /// server's history was rewound.
    pub(super) fn judge(&self, version: &ResourceVersion, newest: bool) -> Result<Rewind, SourceError> {
        let Some(last) = self.memory.last().filter(|last| version.is_older_than(last)) else {
            return Ok(Rewind::No);
        };
        if mutant::is("I2") {
            return Ok(Rewind::Yes);
        }
        if newest {
            self.reporter.rewound(last, version);
            return Ok(Rewind::Yes);
        }
        Err(SourceError::Protocol(format!(
            "the server returned its state at version {version}, older than {last} which was already seen"
        )))
    }
}

/// Rejects a version that could not be part of a later request.
pub(super) fn check_version(version: &ResourceVersion) -> Result<(), SourceError> {
    match version.is_acceptable() {
        true => Ok(()),
        false => Err(SourceError::Protocol(
            "a resourceVersion is longer than 128 bytes or has invalid characters".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_an_invalid_version_is_refused() {
        for version in ["17", "a-b.c", &"1".repeat(128)] {
            assert!(
                check_version(&ResourceVersion::new(version)).is_ok(),
                "{version:?}"
            );
        }
        for version in ["a b", "1\n2", &"1".repeat(129)] {
            assert!(
                check_version(&ResourceVersion::new(version)).is_err(),
                "{version:?}"
            );
        }
    }
}
