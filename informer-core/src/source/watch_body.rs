//! Reads the body of a watch: events are decoded as their frames arrive.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt as _;

use super::answer::{BodyReader, Chunk};
use super::event::decode_frame;
use super::frames::FrameSplitter;
use super::kube_source::BodySettings;
use super::{SourceError, WatchEvent, WatchStream};
use crate::object::Object;

/// Streams a watch. Holds one unfinished event, one piece of the body and that piece's decoded events.
pub(super) fn stream<K: Object>(reader: BodyReader, settings: Arc<BodySettings<K>>) -> WatchStream<K> {
    let splitter = FrameSplitter::new(settings.max_object_bytes);
    let state = Box::new(Watching {
        settings,
        reader,
        splitter,
        decoded: VecDeque::new(),
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
    decoded: VecDeque<Result<WatchEvent<K>, SourceError>>,
}

impl<K: Object> Watching<K> {
    async fn next(&mut self) -> Result<Option<WatchEvent<K>>, SourceError> {
        loop {
            if let Some(event) = self.decoded.pop_front() {
                return event.map(Some);
            }
            match self.reader.next().await? {
                Chunk::Data(bytes) => self.take(bytes).await?,
                // However it ends, an unfinished event is dropped: the next watch brings it again.
                Chunk::End(_) => return Ok(None),
            }
        }
    }

    /// Cuts the frames out of one piece of the body and decodes them.
    async fn take(&mut self, bytes: Bytes) -> Result<(), SourceError> {
        self.splitter.feed(bytes);
        let mut frames = Vec::new();
        let failure = loop {
            match self.splitter.next() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break None,
                // The frames before it are good: they are told first.
                Err(error) => break Some(Err(error)),
            }
        };
        let total = frames.iter().map(Bytes::len).sum();
        let decoder = Arc::clone(&self.settings.decoder);
        let work = move || -> Vec<_> {
            frames
                .iter()
                .map(|frame| decode_frame(decoder.as_ref(), frame))
                .collect()
        };
        self.decoded
            .extend(self.settings.decode_on.run(total, work).await?);
        self.decoded.extend(failure);
        Ok(())
    }
}
