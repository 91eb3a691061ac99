//! Reads the body of a list: items are decoded in small batches while the body streams.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use kube::core::TypeMeta;
use tokio::time::Instant;

use super::answer::{BodyEvent, BodyReader};
use super::decoding::Decoding;
use super::format::{Format, ListEntry, Splitter, oversized_reason, undecodable};
use super::gzip::Ending;
use super::kube_source::BodySettings;
use super::limits::{BATCH_BYTES, BATCH_OBJECTS};
use super::list_pace::ListPace;
use super::{IdentityEvent, IdentityStream, Known, ListEvent, ListMetadata, ListStream, SourceError};
use crate::object::Object;
use crate::resource_version::ResourceVersion;

/// The longest continue token that is accepted. It becomes part of a URL; real ones have a few hundred bytes.
const TOKEN_LIMIT: usize = 16 * 1024;

/// How long complete items wait for more items before they are decoded. The status of a slow list shows its
/// progress, so they must not wait for long.
const HOLD: Duration = Duration::from_secs(1);

/// Streams the objects of a page.
pub(super) fn objects<K: Object>(
    reader: BodyReader,
    format: Arc<dyn Format<K>>,
    known: Known,
    settings: BodySettings,
) -> ListStream<K> {
    let splitter = format.split_list(settings.max_object_bytes);
    let decode = move |entry, types: Option<&TypeMeta>| match entry {
        Pending::Metadata(metadata) => ListEvent::Metadata(metadata),
        Pending::Item(item) => match known.key_of(|| Some(format.identify(&item))) {
            Some(key) => ListEvent::Unchanged(key),
            None => match format.decode_item(&item, types) {
                Ok(object) => ListEvent::Item(object),
                Err(undecodable) => ListEvent::Undecodable(undecodable),
            },
        },
        Pending::Oversized(part) => {
            let reason = oversized_reason(settings.max_object_bytes);
            ListEvent::Undecodable(undecodable(format.identify(&part), reason))
        }
    };
    stream(reader, splitter, Arc::new(decode), settings)
}

/// Streams the keys and versions of the objects of a page. The objects themselves are not decoded.
pub(super) fn identities<K: Object>(
    reader: BodyReader,
    format: Arc<dyn Format<K>>,
    settings: BodySettings,
) -> IdentityStream {
    let splitter = format.split_list(settings.max_object_bytes);
    let decode = move |entry, _: Option<&TypeMeta>| match entry {
        Pending::Metadata(metadata) => IdentityEvent::Metadata(metadata),
        Pending::Item(item) | Pending::Oversized(item) => IdentityEvent::Object(format.identify(&item)),
    };
    stream(reader, splitter, Arc::new(decode), settings)
}

/// Holds one incomplete item, one chunk of the body, and the batches that are being decoded.
fn stream<E: Send + 'static>(
    reader: BodyReader,
    splitter: Box<dyn Splitter<Output = ListEntry>>,
    decode: Arc<DecodeEntry<E>>,
    settings: BodySettings,
) -> BoxStream<'static, Result<E, SourceError>> {
    let state = Box::new(Reading {
        entries: Entries {
            splitter,
            settings,
            reader,
            types: None,
            batch: Batch::default(),
            pace: ListPace::new(settings.max_list_bytes, settings.list_idle_limit),
        },
        decode,
        decoding: Decoding::new(settings.decode_on),
        decoded: VecDeque::new(),
        end: None,
    });
    futures::stream::try_unfold(state, |mut state| async move {
        let event = state.next().await?;
        Ok(event.map(|event| (event, state)))
    })
    .boxed()
}

type DecodeEntry<E> = dyn Fn(Pending, Option<&TypeMeta>) -> E + Send + Sync;

struct Reading<E> {
    entries: Entries,
    decode: Arc<DecodeEntry<E>>,
    decoding: Decoding<E>,
    decoded: VecDeque<E>,
    /// How the body ended. Reported after everything before it.
    end: Option<Result<(), SourceError>>,
}

/// Reads the body and gathers its entries.
struct Entries {
    settings: BodySettings,
    reader: BodyReader,
    splitter: Box<dyn Splitter<Output = ListEntry>>,
    /// The type of the items according to the list. `None` until it is read.
    types: Option<TypeMeta>,
    batch: Batch,
    pace: ListPace,
}

/// Entries that are not decoded yet, in the order of the body.
#[derive(Default)]
struct Batch {
    entries: Vec<Pending>,
    bytes: usize,
}

enum Pending {
    Metadata(ListMetadata),
    Item(Bytes),
    Oversized(Bytes),
}

/// Why the gathering of a batch ended.
enum Gathered {
    Batch,
    End,
}

impl<E: Send + 'static> Reading<E> {
    async fn next(&mut self) -> Result<Option<E>, SourceError> {
        loop {
            if let Some(event) = self.decoded.pop_front() {
                return Ok(Some(event));
            }
            if self.end.is_some() || self.decoding.is_full() {
                match self.decoding.next().await {
                    Some(events) => self.decoded.extend(events),
                    None => return self.end.take().unwrap_or(Ok(())).map(|()| None),
                }
                continue;
            }
            let gathered = tokio::select! {
                biased;
                Some(events) = self.decoding.next() => {
                    self.decoded.extend(events);
                    continue;
                }
                gathered = self.entries.gather() => gathered,
            };
            self.end = match gathered {
                Ok(Gathered::Batch) => None,
                Ok(Gathered::End) => Some(Ok(())),
                Err(error) => Some(Err(error)),
            };
            self.decode();
        }
    }

    fn decode(&mut self) {
        let Batch { entries, bytes } = std::mem::take(&mut self.entries.batch);
        let decode = Arc::clone(&self.decode);
        let types = self.entries.types.clone();
        self.decoding
            .push(entries, bytes, move |entry| decode(entry, types.as_ref()));
    }
}

impl Entries {
    /// Reads until there are enough complete items for a batch, or the body ends.
    ///
    /// TLS records are small, so one chunk of the body seldom has enough items to be worth another thread. A
    /// list is of use only as a whole, so a short wait for more of it delays nothing. Cancel safe.
    async fn gather(&mut self) -> Result<Gathered, SourceError> {
        loop {
            while let Some(entry) = self.splitter.next()? {
                self.keep(entry)?;
                if self.batch.entries.len() >= BATCH_OBJECTS || self.batch.bytes >= BATCH_BYTES {
                    return Ok(Gathered::Batch);
                }
            }
            let is_enough = match self.settings.decode_on.threshold() {
                Some(threshold) => self.batch.bytes > threshold,
                // Everything is decoded in this task, so a larger batch gains nothing.
                None => !self.batch.entries.is_empty(),
            };
            if is_enough {
                return Ok(Gathered::Batch);
            }
            match self.read().await? {
                None => return Ok(Gathered::Batch),
                Some(BodyEvent::Chunk(chunk)) => self.splitter.feed(chunk),
                Some(BodyEvent::End(Ending::Complete)) => {
                    self.splitter.finish()?;
                    return Ok(Gathered::End);
                }
                Some(BodyEvent::End(Ending::Truncated)) => {
                    return Err(SourceError::Transport(
                        "the compressed list ended early".to_owned(),
                    ));
                }
            }
        }
    }

    /// Reads the next chunk. Returns `None` if it does not arrive soon and there are complete items.
    async fn read(&mut self) -> Result<Option<BodyEvent>, SourceError> {
        let idle_limit = self.settings.list_idle_limit;
        let is_holding = !self.batch.entries.is_empty();
        let limit = if is_holding {
            HOLD.min(idle_limit)
        } else {
            idle_limit
        };
        let begun = Instant::now();
        match tokio::time::timeout(limit, self.reader.next()).await {
            Ok(Ok(BodyEvent::Chunk(chunk))) => {
                self.pace.took(chunk.len(), begun.elapsed())?;
                Ok(Some(BodyEvent::Chunk(chunk)))
            }
            Ok(event) => event.map(Some),
            Err(_) if is_holding => Ok(None),
            Err(_) => Err(SourceError::Deadline {
                what: "the next chunk of a list",
                after: idle_limit,
            }),
        }
    }

    fn keep(&mut self, entry: ListEntry) -> Result<(), SourceError> {
        match entry {
            ListEntry::Item(item) => {
                self.pace.progressed();
                self.batch.bytes += item.len();
                self.batch.entries.push(Pending::Item(item));
            }
            ListEntry::Oversized(part) => {
                self.pace.progressed();
                self.batch.bytes += part.len();
                self.batch.entries.push(Pending::Oversized(part));
            }
            ListEntry::Metadata(metadata) => {
                check_metadata(&metadata)?;
                self.batch.entries.push(Pending::Metadata(metadata));
            }
            ListEntry::ItemTypes(types) => self.types = Some(types),
        }
        Ok(())
    }
}

/// Refuses metadata from which neither the next page nor a watch can be requested.
fn check_metadata(metadata: &ListMetadata) -> Result<(), SourceError> {
    let Some(version) = &metadata.resource_version else {
        return Err(SourceError::Protocol("a list has no resourceVersion".to_owned()));
    };
    // In a request `0` means any state. A watch from it begins with additions, and never reports the deletion
    // of an object that was listed.
    if *version == ResourceVersion::new("0") {
        return Err(SourceError::Protocol(
            "a list has the resourceVersion 0, which is not a valid version".to_owned(),
        ));
    }
    let token = metadata.continue_token.as_deref().unwrap_or_default();
    if token.len() > TOKEN_LIMIT {
        return Err(SourceError::Protocol(format!(
            "the list's continue token is longer than {TOKEN_LIMIT} bytes"
        )));
    }
    Ok(())
}
