//! Reads the metadata of an object leniently: for bookmarks, identities, and objects that cannot be decoded.

use super::error::ProtobufError;
use super::fields::Fields;
use crate::key::ObjectKey;
use crate::resource_version::ResourceVersion;
use crate::source::Identity;

/// The longest UID that is kept. Those of Kubernetes have 36 characters.
const UID_LIMIT: usize = 253;

/// The annotation of the bookmark that ends the initial events.
const INITIAL_EVENTS_END: &[u8] = b"k8s.io/initial-events-end";

/// The metadata of an object, as far as the library needs it. Field 1 of every kind is its `ObjectMeta`.
#[derive(Debug, Default)]
pub(super) struct Metadata<'b> {
    name: Text<'b>,
    namespace: Text<'b>,
    uid: Text<'b>,
    version: Text<'b>,
    ends_initial_events: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum Text<'b> {
    #[default]
    Absent,
    Given(&'b str),
    /// Present, but not UTF-8.
    Unreadable,
}

impl<'b> Metadata<'b> {
    /// Reads an object as far as its bytes are valid. Metadata counts only if it was read to its end: half of
    /// it could name another object.
    pub(super) fn read(object: &'b [u8]) -> Self {
        Self::find(object).unwrap_or_default()
    }

    fn find(object: &'b [u8]) -> Result<Self, ProtobufError> {
        let mut fields = Fields(object);
        while let Some(tag) = fields.tag()? {
            if tag.number == 1 {
                return Self::parse(Fields(fields.bytes(tag)?));
            }
            fields.skip(tag)?;
        }
        Ok(Self::default())
    }

    fn parse(mut fields: Fields<'b>) -> Result<Self, ProtobufError> {
        let mut metadata = Self::default();
        while let Some(tag) = fields.tag()? {
            let text = match tag.number {
                1 => &mut metadata.name,
                3 => &mut metadata.namespace,
                5 => &mut metadata.uid,
                6 => &mut metadata.version,
                12 => {
                    metadata.ends_initial_events |= is_end_of_initial_events(fields.bytes(tag)?)?;
                    continue;
                }
                _ => {
                    fields.skip(tag)?;
                    continue;
                }
            };
            *text = match std::str::from_utf8(fields.bytes(tag)?) {
                Ok(value) => Text::Given(value),
                Err(_) => Text::Unreadable,
            };
        }
        Ok(metadata)
    }

    pub(super) fn identity(&self) -> Identity {
        let key = match (self.namespace, self.name.text()) {
            (Text::Unreadable, _) | (_, None) => None,
            (namespace, Some(name)) => {
                Some(ObjectKey::namespaced(namespace.text().unwrap_or_default(), name))
            }
        };
        Identity {
            key,
            version: self.version(),
            uid: self
                .uid
                .text()
                .filter(|uid| uid.len() <= UID_LIMIT)
                .map(str::to_owned),
        }
    }

    pub(super) fn version(&self) -> Option<ResourceVersion> {
        self.version.text().map(ResourceVersion::new)
    }

    pub(super) fn ends_initial_events(&self) -> bool {
        self.ends_initial_events
    }
}

impl<'b> Text<'b> {
    fn text(self) -> Option<&'b str> {
        match self {
            Self::Given(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }
}

/// Whether an annotation, as an entry of a map, is that of the bookmark that ends the initial events.
fn is_end_of_initial_events(entry: &[u8]) -> Result<bool, ProtobufError> {
    let (mut key, mut value) = (&[][..], &[][..]);
    let mut fields = Fields(entry);
    while let Some(tag) = fields.tag()? {
        match tag.number {
            1 => key = fields.bytes(tag)?,
            2 => value = fields.bytes(tag)?,
            _ => fields.skip(tag)?,
        }
    }
    Ok(key == INITIAL_EVENTS_END && value == b"true")
}
