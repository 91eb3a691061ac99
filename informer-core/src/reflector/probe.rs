//! Reads the server's version when watches deliver nothing.

use futures::StreamExt;

use super::Reflector;
use super::state::Next;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::source::{ListEvent, ListFrom, ListRequest, SourceError};

impl<K: Object> Reflector<K> {
    pub(super) async fn probe(&mut self, from: ResourceVersion) -> Next {
        let found = self.newest_version().await;
        self.memory.after_probe(from, found)
    }

    /// The version of the newest state: a list of one object, of which only the metadata is used.
    async fn newest_version(&self) -> Result<Option<ResourceVersion>, SourceError> {
        let request = ListRequest {
            from: ListFrom::MostRecent,
            limit: Some(1),
            continue_token: None,
            answer_within: self.memory.answer_within(),
        };
        let mut page = self.source.list(request).await?;
        while let Some(event) = page.next().await {
            if let ListEvent::Metadata(metadata) = event? {
                return Ok(metadata.resource_version);
            }
        }
        Ok(None)
    }
}
