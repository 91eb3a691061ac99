//! Starts from a saved cache: queues it, and watches from its version until the server confirms it.

use tokio::time::Instant;

use super::Reflector;
use super::state::Phase;
use crate::delta::Closed;
use crate::object::Object;
use crate::warm::Saved;

impl<K: Object> Reflector<K> {
    /// The first request: a watch from the saved version, or a read of the whole state.
    pub(super) async fn first_phase(&mut self) -> Result<Phase, Closed> {
        // Taken, so that it is read once: after a panic the whole state is read.
        let saved = match self.saved.take() {
            Some(file) => file.load().await,
            None => None,
        };
        self.memory.advance(Instant::now());
        let Some(Saved {
            version,
            continuation,
            objects,
        }) = saved
        else {
            return Ok(self.memory.start());
        };
        let mut builder = self.queue.begin_seed();
        let others = self.begin_read();
        for object in objects {
            builder.upsert(object).await;
            if let Err(error) = self.check_state(&mut builder, others).await {
                // The limit was lowered, or another scope has grown.
                self.reporter.seed_refused(&error);
                self.release();
                return Ok(self.memory.start());
            }
        }
        let state = builder.finish_seed(version.clone()).await;
        self.queues(&version);
        self.queue.replace_all(state).await?;
        let phase = self.memory.seeded(version, continuation);
        self.reporter.seeded(self.memory.position());
        Ok(phase)
    }

    /// The watch from the saved version delivered something, so the server has that version: everything that
    /// changed since arrives in this watch, and the state counts as the initial one.
    pub(super) async fn confirm(&mut self) -> Result<(), Closed> {
        self.queue.confirm().await?;
        self.memory.confirmed();
        self.reporter.confirmed(self.memory.position());
        Ok(())
    }
}
