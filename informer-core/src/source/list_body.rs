//! Reads the body of a list: items are decoded one by one while the body streams.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt as _;
use tokio::time::Instant;

use super::answer::{BodyReader, Chunk};
use super::decode::{Decode, decode_object};
use super::gzip::Ending;
use super::kube_source::BodySettings;
use super::list_pace::ListPace;
use super::splitter::{ListSplitter, Piece};
use super::{ListEvent, ListMetadata, ListStream, SourceError};
use crate::object::Object;
use crate::resource_version::ResourceVersion;

/// Streams a page. Holds one unfinished item, one piece of the body and that piece's decoded items.
pub(super) fn stream<K: Object>(reader: BodyReader, settings: Arc<BodySettings<K>>) -> ListStream<K> {
    let splitter = ListSplitter::new(settings.max_object_bytes);
    let pace = ListPace::new(settings.max_list_bytes, settings.list_idle_limit);
    let state = Box::new(Reading {
        settings,
        reader,
        splitter,
        pace,
        decoded: VecDeque::new(),
    });
    futures::stream::try_unfold(state, |mut state| async move {
        let event = state.next().await?;
        Ok(event.map(|event| (event, state)))
    })
    .boxed()
}

struct Reading<K> {
    settings: Arc<BodySettings<K>>,
    reader: BodyReader,
    splitter: ListSplitter,
    pace: ListPace,
    decoded: VecDeque<ListEvent<K>>,
}

impl<K: Object> Reading<K> {
    async fn next(&mut self) -> Result<Option<ListEvent<K>>, SourceError> {
        loop {
            if let Some(event) = self.decoded.pop_front() {
                return Ok(Some(event));
            }
            let idle_limit = self.settings.list_idle_limit;
            let timeout = SourceError::Deadline {
                what: "the next part of a list",
                after: idle_limit,
            };
            let begun = Instant::now();
            match tokio::time::timeout(idle_limit, self.reader.next())
                .await
                .unwrap_or(Err(timeout))?
            {
                Chunk::Data(bytes) => {
                    self.pace.took(bytes.len(), begun.elapsed())?;
                    self.take(bytes).await?;
                }
                Chunk::End(Ending::Complete) => {
                    self.splitter.finish()?;
                    return Ok(None);
                }
                Chunk::End(Ending::Truncated) => {
                    return Err(SourceError::Transport(
                        "the compressed list ended in the middle".to_owned(),
                    ));
                }
            }
        }
    }

    /// Cuts the parts out of one piece of the body and decodes them.
    async fn take(&mut self, bytes: Bytes) -> Result<(), SourceError> {
        self.splitter.feed(bytes);
        let mut parts = Vec::new();
        let mut total = 0;
        while let Some(piece) = self.splitter.next()? {
            match piece {
                Piece::Item(item) => {
                    self.pace.progressed();
                    total += item.len();
                    parts.push(Part::Item(item));
                }
                Piece::Metadata(text) => parts.push(Part::Metadata(read_metadata(&text)?)),
                Piece::Kind(text) => check_kind(&text)?,
            }
        }
        let decoder = Arc::clone(&self.settings.decoder);
        let work = move || -> Vec<_> {
            parts
                .into_iter()
                .map(|part| part.decode(decoder.as_ref()))
                .collect()
        };
        self.decoded
            .extend(self.settings.decode_on.run(total, work).await?);
        Ok(())
    }
}

/// A part of the page, in the order of the body.
enum Part {
    Metadata(ListMetadata),
    Item(Bytes),
}

impl Part {
    fn decode<K: Object>(self, decoder: &dyn Decode<K>) -> ListEvent<K> {
        match self {
            Self::Metadata(metadata) => ListEvent::Metadata(metadata),
            Self::Item(item) => match decode_object(decoder, &item) {
                Ok(object) => ListEvent::Item(object),
                Err(undecodable) => ListEvent::Undecodable(undecodable),
            },
        }
    }
}

fn read_metadata(text: &[u8]) -> Result<ListMetadata, SourceError> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Wire {
        resource_version: Option<String>,
        #[serde(rename = "continue")]
        continue_token: Option<String>,
        remaining_item_count: Option<i64>,
    }
    let wire: Wire = serde_json::from_slice(text).map_err(|error| {
        SourceError::Protocol(format!(
            "the list's metadata (column {}) is broken",
            error.column()
        ))
    })?;
    let version = wire.resource_version.filter(|version| !version.is_empty());
    if version.is_none() {
        return Err(SourceError::Protocol("a list has no resourceVersion".to_owned()));
    }
    Ok(ListMetadata {
        resource_version: version.as_deref().map(ResourceVersion::new),
        continue_token: wire.continue_token.filter(|token| !token.is_empty()),
        remaining: wire
            .remaining_item_count
            .and_then(|count| u64::try_from(count).ok()),
    })
}

/// Refuses what is known not to be a list. The names of lists are free: a definition of a custom resource may choose any.
fn check_kind(text: &[u8]) -> Result<(), SourceError> {
    match serde_json::from_slice::<String>(text).as_deref() {
        Ok(kind @ ("Status" | "Table")) => Err(SourceError::Protocol(format!(
            "a {kind} came where a list was asked for"
        ))),
        _ => Ok(()),
    }
}
