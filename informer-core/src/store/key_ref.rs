//! A key borrowed from a snapshot.

use std::fmt;

use crate::key::ObjectKey;

/// The key of an object, borrowed from the snapshot that holds it.
///
/// The store keeps keys packed, not as [`ObjectKey`]s. Reading the parts in place does not allocate;
/// [`to_key`](Self::to_key) creates an owned key. It is ordered as [`ObjectKey`] is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyRef<'a> {
    /// Empty for a cluster-scoped object. Bytes have the same order as the text.
    pub(super) namespace: &'a [u8],
    pub(super) name: &'a [u8],
}

impl<'a> KeyRef<'a> {
    /// The namespace, or `None` for a cluster-scoped object.
    pub fn namespace(&self) -> Option<&'a str> {
        (!self.namespace.is_empty()).then(|| text(self.namespace))
    }

    /// The name.
    pub fn name(&self) -> &'a str {
        text(self.name)
    }

    /// An owned key.
    pub fn to_key(&self) -> ObjectKey {
        match self.namespace() {
            Some(namespace) => ObjectKey::namespaced(namespace, self.name()),
            None => ObjectKey::cluster(self.name()),
        }
    }

    /// An owned key that shares the namespace string of `neighbour` if it is equal.
    pub fn to_key_sharing(&self, neighbour: Option<&ObjectKey>) -> ObjectKey {
        match neighbour.and_then(ObjectKey::namespace_arc) {
            Some(namespace) if namespace.as_bytes() == self.namespace => {
                ObjectKey::namespaced(namespace.clone(), self.name())
            }
            _ => self.to_key(),
        }
    }

    /// A bound before every key of a namespace: names are not empty.
    pub(super) fn start_of(namespace: &'a str) -> Self {
        Self {
            namespace: namespace.as_bytes(),
            name: &[],
        }
    }

    /// A bound after every key of a namespace: no UTF-8 text contains this byte.
    pub(super) fn end_of(namespace: &'a [u8]) -> Self {
        Self {
            namespace,
            name: &[0xff],
        }
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("keys are packed from text")
}

impl<'a> From<&'a ObjectKey> for KeyRef<'a> {
    fn from(key: &'a ObjectKey) -> Self {
        Self {
            namespace: key.namespace().unwrap_or_default().as_bytes(),
            name: key.name().as_bytes(),
        }
    }
}

impl PartialEq<ObjectKey> for KeyRef<'_> {
    fn eq(&self, other: &ObjectKey) -> bool {
        *self == KeyRef::from(other)
    }
}

impl fmt::Display for KeyRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace() {
            Some(namespace) => write!(f, "{namespace}/{}", self.name()),
            None => f.write_str(self.name()),
        }
    }
}

impl fmt::Debug for KeyRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyRef({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_borrowed_key_equals_the_same_owned_key_only() {
        let key = ObjectKey::namespaced("ns", "a");
        assert!(KeyRef::from(&key) == key);
        for other in [ObjectKey::namespaced("ns", "b"), ObjectKey::cluster("a")] {
            assert!(KeyRef::from(&key) != other);
        }
    }
}
