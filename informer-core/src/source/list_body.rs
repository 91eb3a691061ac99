//! Reads the body of a list: items are decoded in small batches while the body streams.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use kube::core::TypeMeta;
use tokio::time::Instant;

use super::answer::{BodyReader, Chunk};
use super::decode::{Decode, decode_object};
use super::gzip::Ending;
use super::kube_source::BodySettings;
use super::limits::{BATCH_BYTES, BATCH_OBJECTS};
use super::list_pace::ListPace;
use super::splitter::{ListSplitter, Piece};
use super::{ListEvent, ListMetadata, ListStream, SourceError};
use crate::object::Object;
use crate::resource_version::ResourceVersion;

/// The longest continue token that is accepted. It becomes part of a URL; real ones have a few hundred bytes.
const TOKEN_LIMIT: usize = 16 * 1024;

/// How long whole items are held back for more of them: the progress of a slow list shows in its status.
const HOLD: Duration = Duration::from_secs(1);

/// Streams a page. Holds one unfinished item, one piece of the body and one batch of items.
pub(super) fn stream<K: Object>(reader: BodyReader, settings: Arc<BodySettings<K>>) -> ListStream<K> {
    let pace = ListPace::new(settings.max_list_bytes, settings.list_idle_limit);
    let state = Box::new(Reading {
        splitter: ListSplitter::new(settings.max_object_bytes),
        settings,
        reader,
        types: ListTypes::default(),
        batch: Batch::default(),
        pace,
        decoded: VecDeque::new(),
        end: None,
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
    types: ListTypes,
    batch: Batch,
    pace: ListPace,
    decoded: VecDeque<ListEvent<K>>,
    /// How the body ended. Reported after everything that came before it.
    end: Option<Result<(), SourceError>>,
}

/// Parts of the page that are not decoded yet, in the order of the body.
#[derive(Default)]
struct Batch {
    parts: Vec<Part>,
    bytes: usize,
}

enum Part {
    Metadata(ListMetadata),
    Item(Bytes),
}

impl<K: Object> Reading<K> {
    async fn next(&mut self) -> Result<Option<ListEvent<K>>, SourceError> {
        loop {
            if let Some(event) = self.decoded.pop_front() {
                return Ok(Some(event));
            }
            if let Some(end) = self.end.take() {
                return end.map(|()| None);
            }
            self.end = match self.gather().await {
                Ok(Gathered::Batch) => None,
                Ok(Gathered::End) => Some(Ok(())),
                Err(error) => Some(Err(error)),
            };
            self.decode().await?;
        }
    }

    /// Reads until enough whole items are at hand, or the body ends.
    ///
    /// TLS records are small, so one piece of the body seldom has enough items to be worth another thread. A
    /// list is of use only when it is whole, so waiting for more of it for a moment delays nobody.
    async fn gather(&mut self) -> Result<Gathered, SourceError> {
        loop {
            while let Some(piece) = self.splitter.next()? {
                self.keep(piece)?;
                if self.batch.parts.len() >= BATCH_OBJECTS || self.batch.bytes >= BATCH_BYTES {
                    return Ok(Gathered::Batch);
                }
            }
            // Where everything is decoded on the worker, nothing is gained by waiting.
            if self.batch.bytes > self.settings.decode_on.threshold().unwrap_or(0) {
                return Ok(Gathered::Batch);
            }
            match self.read().await? {
                None => return Ok(Gathered::Batch),
                Some(Chunk::Data(bytes)) => self.splitter.feed(bytes),
                Some(Chunk::End(Ending::Complete)) => {
                    self.splitter.finish()?;
                    return Ok(Gathered::End);
                }
                Some(Chunk::End(Ending::Truncated)) => {
                    return Err(SourceError::Transport(
                        "the compressed list ended in the middle".to_owned(),
                    ));
                }
            }
        }
    }

    /// The next part of the body; `None` if it does not come soon and whole items are at hand.
    async fn read(&mut self) -> Result<Option<Chunk>, SourceError> {
        let idle_limit = self.settings.list_idle_limit;
        let is_holding = !self.batch.parts.is_empty();
        let limit = if is_holding {
            HOLD.min(idle_limit)
        } else {
            idle_limit
        };
        let begun = Instant::now();
        match tokio::time::timeout(limit, self.reader.next()).await {
            Ok(Ok(Chunk::Data(bytes))) => {
                self.pace.took(bytes.len(), begun.elapsed())?;
                Ok(Some(Chunk::Data(bytes)))
            }
            Ok(chunk) => chunk.map(Some),
            Err(_) if is_holding => Ok(None),
            Err(_) => Err(SourceError::Deadline {
                what: "the next part of a list",
                after: idle_limit,
            }),
        }
    }

    fn keep(&mut self, piece: Piece) -> Result<(), SourceError> {
        let (length, part) = match piece {
            Piece::Item(item) => {
                self.pace.progressed();
                (item.len(), Part::Item(item))
            }
            Piece::Metadata(text) => (text.len(), Part::Metadata(read_metadata(&text)?)),
            Piece::Kind(text) => return self.types.set_kind(&text),
            Piece::ApiVersion(text) => {
                self.types.set_api_version(&text);
                return Ok(());
            }
        };
        self.batch.bytes += length;
        self.batch.parts.push(part);
        Ok(())
    }

    async fn decode(&mut self) -> Result<(), SourceError> {
        let Batch { parts, bytes } = std::mem::take(&mut self.batch);
        let decoder = Arc::clone(&self.settings.decoder);
        let types = self.types.of_items();
        let work = move || -> Vec<_> {
            parts
                .into_iter()
                .map(|part| part.decode(decoder.as_ref(), types.as_ref()))
                .collect()
        };
        self.decoded
            .extend(self.settings.decode_on.run(bytes, work).await?);
        Ok(())
    }
}

/// What ended the gathering of a batch.
enum Gathered {
    Batch,
    End,
}

impl Part {
    fn decode<K: Object>(self, decoder: &dyn Decode<K>, types: Option<&TypeMeta>) -> ListEvent<K> {
        match self {
            Self::Metadata(metadata) => ListEvent::Metadata(metadata),
            Self::Item(item) => match decode_object(decoder, &item, types) {
                Ok(object) => ListEvent::Item(object),
                Err(undecodable) => ListEvent::Undecodable(undecodable),
            },
        }
    }
}

/// The `kind` and `apiVersion` of the list, as far as they came before the items.
#[derive(Default)]
struct ListTypes {
    kind: Option<String>,
    api_version: Option<String>,
}

impl ListTypes {
    /// Refuses what is known not to be a list. The names of lists are free: a definition of a custom resource
    /// may choose any.
    fn set_kind(&mut self, text: &[u8]) -> Result<(), SourceError> {
        self.kind = serde_json::from_slice(text).ok();
        match self.kind.as_deref() {
            Some(kind @ ("Status" | "Table")) => Err(SourceError::Protocol(format!(
                "a {kind} came where a list was asked for"
            ))),
            _ => Ok(()),
        }
    }

    fn set_api_version(&mut self, text: &[u8]) {
        self.api_version = serde_json::from_slice(text).ok();
    }

    /// The type of the items: of a `PodList`, `Pod`.
    fn of_items(&self) -> Option<TypeMeta> {
        let kind = self.kind.as_deref()?.strip_suffix("List")?;
        let api_version = self.api_version.as_deref()?;
        (!kind.is_empty() && !api_version.is_empty()).then(|| TypeMeta {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        })
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
    match version.as_deref() {
        None => return Err(SourceError::Protocol("a list has no resourceVersion".to_owned())),
        // In a request it means any state. A watch from it begins with additions and never reports deletions of
        // what was listed.
        Some("0") => {
            return Err(SourceError::Protocol(
                "a list has the resourceVersion 0, which is no version of a state".to_owned(),
            ));
        }
        Some(_) => {}
    }
    let token = wire.continue_token.filter(|token| !token.is_empty());
    if token.as_deref().is_some_and(|token| token.len() > TOKEN_LIMIT) {
        return Err(SourceError::Protocol(format!(
            "the list's continue token is longer than {TOKEN_LIMIT} bytes"
        )));
    }
    Ok(ListMetadata {
        resource_version: version.as_deref().map(ResourceVersion::new),
        continue_token: token,
        remaining: wire
            .remaining_item_count
            .and_then(|count| u64::try_from(count).ok()),
    })
}
