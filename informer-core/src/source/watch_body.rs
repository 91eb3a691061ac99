//! Reads the body of a watch: events are decoded as their frames arrive.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::StreamExt as _;

use super::answer::{BodyEvent, BodyReader};
use super::decoding::Decoding;
use super::format::{Format, Splitter, WatchFrame, oversized_reason};
use super::kube_source::BodySettings;
use super::limits::{BATCH_BYTES, BATCH_OBJECTS, UNKNOWN_EVENTS};
use super::{DecodeOn, Known, SourceError, WatchEvent, WatchStream};
use crate::object::Object;

/// So many events at once, or so many bytes of them, are probably part of an initial state, which continues.
/// Fewer are probably changes, even if a server often sends some changes together.
const MANY: usize = 8;
const MANY_BYTES: usize = 32 * 1024;

/// Streams the events of a watch. Holds one incomplete event, one chunk of the body, and the batches that are
/// being decoded.
pub(super) fn stream<K: Object>(
    reader: BodyReader,
    format: Arc<dyn Format<K>>,
    known: Known,
    settings: BodySettings,
) -> WatchStream<K> {
    let state = Box::new(Watching {
        frames: Frames {
            splitter: format.split_watch(settings.max_object_bytes),
            decode_on: settings.decode_on,
            reader,
            batch: Batch::default(),
        },
        format,
        known,
        max_object_bytes: settings.max_object_bytes,
        decoding: Decoding::new(settings.decode_on),
        decoded: VecDeque::new(),
        unknown: 0,
        end: None,
    });
    futures::stream::try_unfold(state, |mut state| async move {
        let event = state.next().await?;
        Ok(event.map(|event| (event, state)))
    })
    .boxed()
}

struct Watching<K> {
    frames: Frames,
    format: Arc<dyn Format<K>>,
    known: Known,
    max_object_bytes: usize,
    decoding: Decoding<Decoded<K>>,
    decoded: VecDeque<Decoded<K>>,
    /// The number of consecutive events of unknown types.
    unknown: usize,
    /// How the body ended. Reported after everything before it.
    end: Option<Result<(), SourceError>>,
}

type Decoded<K> = Result<WatchEvent<K>, SourceError>;

/// Reads the body and gathers its frames.
struct Frames {
    decode_on: DecodeOn,
    reader: BodyReader,
    splitter: Box<dyn Splitter<Output = WatchFrame>>,
    batch: Batch,
}

/// Complete frames that are not decoded yet.
#[derive(Default)]
struct Batch {
    frames: Vec<WatchFrame>,
    bytes: usize,
}

impl Batch {
    fn is_large(&self) -> bool {
        self.frames.len() >= MANY || self.bytes >= MANY_BYTES
    }
}

/// Why the gathering of a batch ended.
enum Gathered {
    Batch,
    End,
}

impl<K: Object> Watching<K> {
    async fn next(&mut self) -> Result<Option<WatchEvent<K>>, SourceError> {
        loop {
            if let Some(event) = self.decoded.pop_front() {
                return self.check(event?).map(Some);
            }
            if self.end.is_some() || self.decoding.is_full() {
                match self.decoding.next().await {
                    Some(events) => self.decoded.extend(events),
                    // An incomplete event is dropped: the next watch delivers it again.
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
                gathered = self.frames.gather() => gathered,
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
        let Batch { frames, bytes } = std::mem::take(&mut self.frames.batch);
        let (format, known) = (Arc::clone(&self.format), self.known.clone());
        let limit = self.max_object_bytes;
        self.decoding.push(frames, bytes, move |frame: WatchFrame| {
            let frame = match frame {
                WatchFrame::Whole(frame) => frame,
                WatchFrame::Oversized(part) => {
                    return format.oversized_event(&part, oversized_reason(limit));
                }
            };
            match known.key_of(|| format.identify_addition(&frame)) {
                Some(key) => Ok(WatchEvent::Unchanged(key)),
                None => format.decode_event(&frame),
            }
        });
    }

    /// Ends a watch that sends only events of unknown types.
    fn check(&mut self, event: WatchEvent<K>) -> Result<WatchEvent<K>, SourceError> {
        self.unknown = match event {
            WatchEvent::Unknown => self.unknown + 1,
            _ => 0,
        };
        if self.unknown > UNKNOWN_EVENTS {
            return Err(SourceError::Protocol(format!(
                "more than {UNKNOWN_EVENTS} events in a row are of unknown types"
            )));
        }
        Ok(event)
    }
}

impl Frames {
    /// Waits for an event, then takes further events that are available without waiting. So an initial state
    /// in small TLS records is decoded in large batches, and a single event is not delayed. Cancel safe.
    async fn gather(&mut self) -> Result<Gathered, SourceError> {
        let most = self.decode_on.threshold().map_or(1, |_| BATCH_BYTES);
        loop {
            while let Some(frame) = self.splitter.next()? {
                let (WatchFrame::Whole(bytes) | WatchFrame::Oversized(bytes)) = &frame;
                self.batch.bytes += bytes.len();
                self.batch.frames.push(frame);
                if self.batch.frames.len() >= BATCH_OBJECTS || self.batch.bytes >= BATCH_BYTES {
                    return Ok(Gathered::Batch);
                }
            }
            let event = if self.batch.frames.is_empty() {
                self.reader.next().await?
            } else if self.batch.bytes >= most {
                return Ok(Gathered::Batch);
            } else {
                let next = match self.batch.is_large() {
                    true => self.reader.available_soon().await,
                    false => self.reader.available(),
                };
                match next {
                    Some(event) => event?,
                    None => return Ok(Gathered::Batch),
                }
            };
            match event {
                BodyEvent::Chunk(chunk) => self.splitter.feed(chunk),
                BodyEvent::End(_) => return Ok(Gathered::End),
            }
        }
    }
}
