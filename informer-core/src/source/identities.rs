//! Lists of keys and versions only, which an audit compares with the cache.

use futures::StreamExt as _;
use futures::stream::BoxStream;

use super::{Identity, ListEvent, ListMetadata, ListStream, SourceError};
use crate::key::ObjectKey;
use crate::object::Object;
use crate::resource_version::ResourceVersion;

/// An element of the stream of one page of keys and versions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdentityEvent {
    /// The metadata of the page. Yielded once, before or after the objects.
    Metadata(ListMetadata),
    /// The next object. Its key is `None` if its name cannot be read.
    Object(Identity),
}

/// The keys and versions of the objects of one page.
pub type IdentityStream = BoxStream<'static, Result<IdentityEvent, SourceError>>;

/// Extracts keys and versions from a list of whole objects.
pub(super) fn of_list<K: Object>(list: ListStream<K>) -> IdentityStream {
    list.map(|event| event.map(of_event)).boxed()
}

fn of_event<K: Object>(event: ListEvent<K>) -> IdentityEvent {
    match event {
        ListEvent::Metadata(metadata) => IdentityEvent::Metadata(metadata),
        ListEvent::Item(object) => IdentityEvent::Object(Identity {
            key: ObjectKey::of(object.meta()),
            version: ResourceVersion::of(object.meta()),
            uid: object.meta().uid.clone(),
        }),
        ListEvent::Unchanged(key) => IdentityEvent::Object(Identity {
            key: Some(key),
            ..Identity::default()
        }),
        ListEvent::Undecodable(object) => IdentityEvent::Object(Identity {
            key: object.key,
            version: object.version,
            uid: object.uid,
        }),
    }
}
