//! Reads the body of a list: its metadata, the type of its items, and the items.

use bytes::Bytes;
use kube::core::TypeMeta;

use super::splitter::{ListSplitter, ListValue};
use crate::resource_version::ResourceVersion;
use crate::source::format::{ListEntry, Splitter};
use crate::source::{ListMetadata, SourceError};

/// A [`ListSplitter`] whose values are parsed, except for the items.
pub(super) struct ListReader {
    splitter: ListSplitter,
    kind: Option<String>,
    api_version: Option<String>,
}

impl ListReader {
    pub(super) fn new(max_object_bytes: usize) -> Self {
        Self {
            splitter: ListSplitter::new(max_object_bytes),
            kind: None,
            api_version: None,
        }
    }

    /// Refuses responses that are known not to be lists. Any other kind is accepted: the definition of a
    /// custom resource chooses the kind of its list.
    fn set_kind(&mut self, text: &[u8]) -> Result<(), SourceError> {
        self.kind = serde_json::from_slice(text).ok();
        match self.kind.as_deref() {
            Some(kind @ ("Status" | "Table")) => Err(SourceError::Protocol(format!(
                "received a {kind} instead of a list"
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the type of the items: `Pod` for a `PodList`.
    fn item_types(&self) -> Option<TypeMeta> {
        let kind = self.kind.as_deref()?.strip_suffix("List")?;
        let api_version = self.api_version.as_deref()?;
        (!kind.is_empty() && !api_version.is_empty()).then(|| TypeMeta {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        })
    }
}

impl Splitter for ListReader {
    type Output = ListEntry;

    fn feed(&mut self, chunk: Bytes) {
        self.splitter.feed(chunk);
    }

    fn next(&mut self) -> Result<Option<ListEntry>, SourceError> {
        while let Some(value) = self.splitter.next()? {
            match value {
                ListValue::Item(item) => return Ok(Some(ListEntry::Item(item))),
                ListValue::Oversized(part) => return Ok(Some(ListEntry::Oversized(part))),
                ListValue::Metadata(text) => return Ok(Some(ListEntry::Metadata(parse_metadata(&text)?))),
                ListValue::Kind(text) => self.set_kind(&text)?,
                ListValue::ApiVersion(text) => self.api_version = serde_json::from_slice(&text).ok(),
            }
            if let Some(types) = self.item_types() {
                return Ok(Some(ListEntry::ItemTypes(types)));
            }
        }
        Ok(None)
    }

    fn finish(&self) -> Result<(), SourceError> {
        self.splitter.finish()
    }
}

fn parse_metadata(text: &[u8]) -> Result<ListMetadata, SourceError> {
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
            "invalid metadata of the list (column {})",
            error.column()
        ))
    })?;
    // Kubernetes does not distinguish an empty string from an absent one.
    let is_set = |text: &String| !text.is_empty();
    let version = wire.resource_version.filter(is_set);
    Ok(ListMetadata {
        resource_version: version.as_deref().map(ResourceVersion::new),
        continue_token: wire.continue_token.filter(is_set),
        remaining: wire
            .remaining_item_count
            .and_then(|count| u64::try_from(count).ok()),
    })
}
