//! One packed object: compressed bytes, and the parts of its metadata that are read without decoding.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::codec::Codec;
use super::dictionary::Generation;
use super::label_sets;
use crate::key::ObjectKey;

/// A packed object. One allocation for this and one for its bytes.
pub(super) struct Slot<K> {
    /// Distinguishes it from all other slots of its codec, also from those that were dropped.
    pub(super) id: u64,
    pub(super) codec: Arc<Codec<K>>,
    pub(super) generation: Arc<Generation>,
    /// Shared by all objects with the same labels.
    pub(super) labels: Option<Arc<str>>,
    /// The [`Header`], then the compressed object.
    pub(super) bytes: Box<[u8]>,
}

/// Why an object is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It was looked up, and may be looked up again.
    Look,
    /// As one of many.
    Scan,
}

impl<K> Slot<K> {
    pub(super) fn read(&self, purpose: Purpose) -> Option<Arc<K>> {
        self.codec.read(self, purpose)
    }

    pub(super) fn key(&self) -> Option<ObjectKey> {
        let (header, _) = Header::split(&self.bytes);
        let name = header.name.filter(|name| !name.is_empty())?;
        Some(ObjectKey::namespaced(header.namespace.unwrap_or_default(), name))
    }

    pub(super) fn uid(&self) -> Option<&str> {
        Header::split(&self.bytes).0.uid
    }

    pub(super) fn version(&self) -> Option<&str> {
        Header::split(&self.bytes).0.version
    }

    pub(super) fn label(&self, name: &str) -> Option<&str> {
        label_sets::find(self.labels.as_deref()?, name)
    }

    /// The compressed object.
    pub(super) fn contents(&self) -> &[u8] {
        Header::split(&self.bytes).1
    }
}

/// The metadata before the compressed object. Each text has its length before it; the length is one more than
/// that of the text, and zero for an absent one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header<'b> {
    uid: Option<&'b str>,
    version: Option<&'b str>,
    namespace: Option<&'b str>,
    name: Option<&'b str>,
}

impl<'b> Header<'b> {
    pub(super) fn of(meta: &'b ObjectMeta) -> Self {
        Self {
            uid: meta.uid.as_deref(),
            version: meta.resource_version.as_deref(),
            namespace: meta.namespace.as_deref(),
            name: meta.name.as_deref(),
        }
    }

    /// The bytes of a slot: this header, then the compressed object.
    pub(super) fn before(&self, compressed: &[u8]) -> Box<[u8]> {
        let texts = [self.uid, self.version, self.namespace, self.name];
        // A length takes at most two bytes, except for texts that no server sends.
        let size = texts
            .iter()
            .map(|text| 2 + text.unwrap_or_default().len())
            .sum::<usize>();
        let mut bytes = Vec::with_capacity(size + compressed.len());
        for text in texts {
            write_length(&mut bytes, text.map_or(0, |text| text.len() + 1));
            bytes.extend_from_slice(text.unwrap_or_default().as_bytes());
        }
        bytes.extend_from_slice(compressed);
        bytes.into()
    }

    /// Splits the bytes of a slot into the header and the rest.
    fn split(mut bytes: &'b [u8]) -> (Self, &'b [u8]) {
        let mut next = || {
            let length = read_length(&mut bytes).checked_sub(1)?;
            let (text, rest) = bytes.split_at_checked(length)?;
            bytes = rest;
            std::str::from_utf8(text).ok()
        };
        let header = Self {
            uid: next(),
            version: next(),
            namespace: next(),
            name: next(),
        };
        (header, bytes)
    }
}

/// Writes seven bits per byte, the lowest first.
fn write_length(bytes: &mut Vec<u8>, mut length: usize) {
    while length >= 0x80 {
        bytes.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
}

fn read_length(bytes: &mut &[u8]) -> usize {
    let mut length = 0;
    let mut shift = 0;
    while let Some((&byte, rest)) = bytes.split_first() {
        *bytes = rest;
        length |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            break;
        }
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let long = "x".repeat(20_000);
        for texts in [
            [None; 4],
            [Some(""); 4],
            [Some("u"), Some("17"), None, Some("node")],
            [Some(&*long), Some("1"), Some("ns"), Some(&*long)],
        ] {
            let [uid, version, namespace, name] = texts;
            let header = Header {
                uid,
                version,
                namespace,
                name,
            };
            let bytes = header.before(b"rest");
            assert_eq!(Header::split(&bytes), (header, &b"rest"[..]));
        }
    }
}
