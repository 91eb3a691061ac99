//! Lists of which only keys and versions are wanted: what an audit compares with the cache.

use futures::StreamExt as _;
use futures::stream::BoxStream;

use super::{Identity, ListEvent, ListMetadata, ListStream, SourceError};
use crate::key::ObjectKey;
use crate::object::Object;
use crate::resource_version::ResourceVersion;

/// What a page of such a list consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdentityEvent {
    /// The page's metadata. Comes once, before or after the objects.
    Metadata(ListMetadata),
    /// The next object; without a key, one that not even a name can be read of.
    Object(Identity),
}

/// The objects of one page, by key and version only.
pub type IdentityStream = BoxStream<'static, Result<IdentityEvent, SourceError>>;

/// Takes keys and versions out of a list of whole objects.
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
        ListEvent::Undecodable(object) => IdentityEvent::Object(Identity {
            key: object.key,
            version: object.version,
            uid: object.uid,
        }),
    }
}
