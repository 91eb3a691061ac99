//! Reads the body of a watch: events are decoded as their frames arrive.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt as _;

use super::answer::{BodyReader, Chunk};
use super::event::{decode_frame, is_error_event};
use super::frames::FrameSplitter;
use super::kube_source::BodySettings;
use super::limits::{BATCH_BYTES, BATCH_OBJECTS, ERROR_BYTES, UNKNOWN_EVENTS};
use super::{SourceError, WatchEvent, WatchStream};
use crate::object::Object;

/// Streams a watch. Holds one unfinished event, one piece of the body and one batch of events.
pub(super) fn stream<K: Object>(reader: BodyReader, settings: Arc<BodySettings<K>>) -> WatchStream<K> {
    let state = Box::new(Watching {
        splitter: FrameSplitter::new(settings.max_object_bytes),
        settings,
        reader,
        batch: Batch::default(),
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
    settings: Arc<BodySettings<K>>,
    reader: BodyReader,
    splitter: FrameSplitter,
    batch: Batch,
    decoded: VecDeque<Result<WatchEvent<K>, SourceError>>,
    /// How many events of unknown types came since the last known one.
    unknown: usize,
    /// How the body ended. Reported after everything that came before it.
    end: Option<Result<(), SourceError>>,
}

/// Whole frames that are not decoded yet.
#[derive(Default)]
struct Batch {
    frames: Vec<Bytes>,
    bytes: usize,
}

/// What ended the gathering of a batch.
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
            if let Some(end) = self.end.take() {
                // However it ends, an unfinished event is dropped: the next watch brings it again.
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

    /// Waits for an event, and takes what else is available without waiting: an initial state in small TLS
    /// records is decoded in large batches, and a single event is not held back.
    async fn gather(&mut self) -> Result<Gathered, SourceError> {
        let most = self.settings.decode_on.threshold().map_or(1, |_| BATCH_BYTES);
        loop {
            while let Some(frame) = self.splitter.next()? {
                self.batch.bytes += frame.len();
                self.batch.frames.push(frame);
                if self.batch.frames.len() >= BATCH_OBJECTS || self.batch.bytes >= BATCH_BYTES {
                    return Ok(Gathered::Batch);
                }
            }
            self.check_unfinished()?;
            let chunk = if self.batch.frames.is_empty() {
                self.reader.next().await?
            } else if self.batch.bytes >= most {
                return Ok(Gathered::Batch);
            } else {
                match self.reader.available().await {
                    Some(chunk) => chunk?,
                    None => return Ok(Gathered::Batch),
                }
            };
            match chunk {
                Chunk::Data(bytes) => self.splitter.feed(bytes),
                Chunk::End(_) => return Ok(Gathered::End),
            }
        }
    }

    /// Bounds what is held of an ERROR event, as of an error response: it has a few hundred bytes.
    fn check_unfinished(&self) -> Result<(), SourceError> {
        let unfinished = self.splitter.unfinished();
        if unfinished.len() > ERROR_BYTES && is_error_event(unfinished) {
            return Err(SourceError::Protocol(format!(
                "an ERROR event is longer than {ERROR_BYTES} bytes"
            )));
        }
        Ok(())
    }

    async fn decode(&mut self) -> Result<(), SourceError> {
        let Batch { frames, bytes } = std::mem::take(&mut self.batch);
        let decoder = Arc::clone(&self.settings.decoder);
        let work = move || -> Vec<_> {
            frames
                .iter()
                .map(|frame| decode_frame(decoder.as_ref(), frame))
                .collect()
        };
        self.decoded
            .extend(self.settings.decode_on.run(bytes, work).await?);
        Ok(())
    }

    /// Ends a watch that sends nothing but events of unknown types.
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
