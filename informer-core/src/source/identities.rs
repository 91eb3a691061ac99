//! Lists of which only keys and versions are wanted: what an audit compares with the cache.

use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{DynamicObject, PartialObjectMeta};

use super::answer::BodyReader;
use super::decode::{Decode, DecodeError, Identity};
use super::kube_source::BodySettings;
use super::sketch::Sketch;
use super::{ListEvent, ListMetadata, ListStream, SourceError, list_body};
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

/// Reads the body of a list. Nothing but names and versions is decoded, so that this is compiled once, not for each kind.
pub(super) fn read(reader: BodyReader, settings: BodySettings<Bare>) -> IdentityStream {
    of_list(list_body::stream(reader, Arc::new(settings)))
}

/// The limits of a source's other lists.
pub(super) fn settings<K>(of: &BodySettings<K>) -> BodySettings<Bare> {
    BodySettings {
        decoder: Arc::new(NamesOnly),
        decode_on: of.decode_on,
        max_object_bytes: of.max_object_bytes,
        max_list_bytes: of.max_list_bytes,
        list_idle_limit: of.list_idle_limit,
    }
}

/// An object of any kind, without contents.
pub(super) type Bare = PartialObjectMeta<DynamicObject>;

/// Decodes what says which object it is; labels, annotations and all else are passed over.
struct NamesOnly;

impl Decode<Bare> for NamesOnly {
    fn decode(&self, bytes: &[u8]) -> Result<Bare, DecodeError> {
        let Identity { key, version, uid } = Sketch::read(bytes).identity();
        let key = key.ok_or_else(|| DecodeError::new("its name cannot be read"))?;
        Ok(PartialObjectMeta {
            metadata: ObjectMeta {
                name: Some(key.name().to_owned()),
                namespace: key.namespace().map(str::to_owned),
                resource_version: version.map(|version| version.to_string()),
                uid,
                ..ObjectMeta::default()
            },
            types: None,
            _phantom: std::marker::PhantomData,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: Option<(&str, &str)>) {
        let decoded = NamesOnly.decode(json.as_bytes()).ok();
        let found = decoded.as_ref().map(|object| {
            (
                ObjectKey::of(&object.metadata).unwrap().to_string(),
                object.metadata.resource_version.clone().unwrap_or_default(),
            )
        });
        let expected = expected.map(|(key, version)| (key.to_owned(), version.to_owned()));
        assert_eq!(found, expected, "{json}");
    }

    #[test]
    fn names_and_versions_are_read_of_any_kind() {
        check(
            r#"{"kind":"PartialObjectMetadata","metadata":{"name":"a","namespace":"web","resourceVersion":"7","labels":{"x":"y"}}}"#,
            Some(("web/a", "7")),
        );
        check(
            r#"{"kind":"Node","metadata":{"name":"n","resourceVersion":"8"},"spec":{"podCIDR":1}}"#,
            Some(("n", "8")),
        );
        check(r#"{"metadata":{"namespace":"web"}}"#, None);
        check(r#"{"metadata":"garbled"}"#, None);
    }
}
