//! One object as an informer holds it, and a reference to one in a snapshot.

use std::fmt;
use std::num::NonZeroU64;
use std::ops::Deref;
use std::sync::Arc;

#[cfg(feature = "packed")]
use super::slot::{Purpose, Slot};
use super::uid_tag::UidTag;
use crate::key::ObjectKey;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::selector::Selector;
use crate::source::SourceObject;
#[cfg(feature = "packed")]
use crate::source::saturated;

/// One object as an informer holds it: decoded, or packed. Cheap to clone.
///
/// Key, UID, version and labels can be read in either form. Only [`get`](Self::get) decodes.
pub struct Stored<K>(Form<K>);

/// A version and a tag of the UID are kept beside a decoded object: to read them from one that was stored
/// long ago, and is not in the processor's cache, takes longer than all else on a change.
enum Form<K> {
    Decoded {
        object: Arc<K>,
        /// The size of its encoding as it was received.
        bytes: u32,
        /// Its version, if that is a number.
        version: Option<NonZeroU64>,
        uid: Option<UidTag>,
    },
    #[cfg(feature = "packed")]
    Packed(Arc<Slot<K>>),
}

impl<K> Stored<K> {
    /// The approximate size: of a packed object what it takes in memory, of a decoded one what was received.
    pub fn bytes(&self) -> u32 {
        match &self.0 {
            Form::Decoded { bytes, .. } => *bytes,
            #[cfg(feature = "packed")]
            Form::Packed(slot) => saturated(slot.bytes.len()),
        }
    }

    #[cfg(feature = "packed")]
    pub(super) fn packed(slot: Slot<K>) -> Self {
        Self(Form::Packed(Arc::new(slot)))
    }

    /// The object. A packed one is decoded, unless it is decoded already: then all callers share it.
    ///
    /// `None` if the bytes of a packed object cannot be decoded, which is a bug and is logged.
    pub fn get(&self) -> Option<Arc<K>> {
        match &self.0 {
            Form::Decoded { object, .. } => Some(object.clone()),
            #[cfg(feature = "packed")]
            Form::Packed(slot) => slot.read(Purpose::Look),
        }
    }

    /// Like [`get`](Self::get), for a pass over many objects: does not displace others that are kept decoded.
    #[cfg(feature = "packed")]
    fn scan(&self) -> Option<Arc<K>> {
        match &self.0 {
            Form::Decoded { object, .. } => Some(object.clone()),
            Form::Packed(slot) => slot.read(Purpose::Scan),
        }
    }

    /// Appends the objects, as one pass over many: does not displace others that are kept decoded.
    pub(crate) fn scan_all(objects: &[Self], list: &mut Vec<Arc<K>>) {
        // Without packed objects the length is known, and this is one tight loop.
        #[cfg(not(feature = "packed"))]
        list.extend(
            objects
                .iter()
                .map(|Self(Form::Decoded { object, .. })| object.clone()),
        );
        #[cfg(feature = "packed")]
        list.extend(objects.iter().filter_map(Self::scan));
    }

    /// The object, in a pass over many. Borrows a decoded one, which does not touch its reference count.
    pub(crate) fn peek(&self) -> Option<ObjectRef<'_, K>> {
        match &self.0 {
            Form::Decoded { object, .. } => Some(ObjectRef(Reference::Borrowed(object))),
            #[cfg(feature = "packed")]
            Form::Packed(slot) => slot
                .read(Purpose::Scan)
                .map(|object| ObjectRef(Reference::Owned(object))),
        }
    }

    /// Like [`get`](Self::get), and borrows like [`peek`](Self::peek).
    pub(crate) fn look(&self) -> Option<ObjectRef<'_, K>> {
        match &self.0 {
            Form::Decoded { object, .. } => Some(ObjectRef(Reference::Borrowed(object))),
            #[cfg(feature = "packed")]
            Form::Packed(slot) => slot
                .read(Purpose::Look)
                .map(|object| ObjectRef(Reference::Owned(object))),
        }
    }

    /// The object, in a pass over many, for the last owner.
    pub(crate) fn into_object(self) -> Option<Arc<K>> {
        match self.0 {
            Form::Decoded { object, .. } => Some(object),
            #[cfg(feature = "packed")]
            Form::Packed(slot) => slot.read(Purpose::Scan),
        }
    }

    /// The object and the size of its encoding if it is not packed, else this.
    pub(crate) fn into_decoded(self) -> Result<(Arc<K>, u32), Self> {
        match self.0 {
            Form::Decoded { object, bytes, .. } => Ok((object, bytes)),
            #[cfg(feature = "packed")]
            Form::Packed(_) => Err(self),
        }
    }

    /// The address of the object. Another one has the same address only after this one was freed.
    pub(crate) fn address(&self) -> usize {
        match &self.0 {
            Form::Decoded { object, .. } => Arc::as_ptr(object).addr(),
            #[cfg(feature = "packed")]
            Form::Packed(slot) => Arc::as_ptr(slot).addr(),
        }
    }

    /// Whether both are the identical object, not merely an equal one.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.address() == other.address()
    }
}

#[cfg(all(test, feature = "packed", not(feature = "__model")))]
impl<K> Stored<K> {
    pub(super) fn is_packed(&self) -> bool {
        matches!(self.0, Form::Packed(_))
    }

    /// The size of the compressed object.
    pub(super) fn packed_size(&self) -> Option<usize> {
        match &self.0 {
            Form::Decoded { .. } => None,
            Form::Packed(slot) => Some(slot.contents().len()),
        }
    }

    /// The same object with its last byte missing.
    pub(super) fn damaged(&self) -> Self {
        match &self.0 {
            Form::Decoded { .. } => self.clone(),
            Form::Packed(slot) => Self::packed(Slot {
                id: u64::MAX,
                codec: slot.codec.clone(),
                generation: slot.generation.clone(),
                labels: slot.labels.clone(),
                bytes: slot.bytes[..slot.bytes.len() - 1].into(),
            }),
        }
    }
}

impl<K: Object> Stored<K> {
    /// An object that stays decoded. `bytes` of its encoding were received.
    pub(crate) fn decoded(object: Arc<K>, bytes: u32) -> Self {
        let meta = object.meta();
        let version = ResourceVersion::of(meta).and_then(|version| version.number());
        let uid = meta.uid.as_deref().map(UidTag::of);
        Self(Form::Decoded {
            object,
            bytes,
            version,
            uid,
        })
    }

    /// The key; `None` if a transform removed the name.
    pub fn key(&self) -> Option<ObjectKey> {
        match &self.0 {
            Form::Decoded { object, .. } => ObjectKey::of(object.meta()),
            #[cfg(feature = "packed")]
            Form::Packed(slot) => slot.key(),
        }
    }

    /// The version; `None` if it is absent or not [acceptable](ResourceVersion::is_acceptable).
    pub fn version(&self) -> Option<ResourceVersion> {
        if let Form::Decoded {
            version: Some(number),
            ..
        } = &self.0
        {
            return Some((*number).into());
        }
        let text = self.version_text()?;
        crate::resource_version::is_acceptable(text).then(|| ResourceVersion::new(text))
    }

    /// The version as the server sent it.
    pub(crate) fn version_text(&self) -> Option<&str> {
        match &self.0 {
            Form::Decoded { object, .. } => object.meta().resource_version.as_deref(),
            #[cfg(feature = "packed")]
            Form::Packed(slot) => slot.version(),
        }
    }

    /// The UID.
    pub fn uid(&self) -> Option<&str> {
        match &self.0 {
            Form::Decoded { object, .. } => object.meta().uid.as_deref(),
            #[cfg(feature = "packed")]
            Form::Packed(slot) => slot.uid(),
        }
    }

    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        match &self.0 {
            Form::Decoded { object, .. } => object.meta().labels.as_ref()?.get(name).map(String::as_str),
            #[cfg(feature = "packed")]
            Form::Packed(slot) => slot.label(name),
        }
    }

    /// Whether a selector selects the object.
    pub(crate) fn matches(&self, selector: &Selector) -> bool {
        match &self.0 {
            Form::Decoded { object, .. } => selector.matches_object(&**object),
            #[cfg(feature = "packed")]
            Form::Packed(_) => selector.matches_by(|name| self.label(name)),
        }
    }

    /// Whether two states under one key are of the same object, and not of one that was deleted and
    /// recreated. A state without a UID counts as the same object.
    pub(crate) fn is_same_object(&self, other: &Self) -> bool {
        #[cfg_attr(
            not(feature = "packed"),
            allow(irrefutable_let_patterns, reason = "the only form")
        )]
        if let (Form::Decoded { uid: this, .. }, Form::Decoded { uid: that, .. }) = (&self.0, &other.0) {
            return this.zip(*that).is_none_or(|(this, that)| this == that);
        }
        match (self.uid(), other.uid()) {
            (Some(this), Some(that)) => this == that,
            _ => true,
        }
    }
}

impl<K: Object> From<Arc<K>> for Stored<K> {
    fn from(object: Arc<K>) -> Self {
        SourceObject::from(object).into()
    }
}

impl<K: Object> From<SourceObject<K>> for Stored<K> {
    fn from(object: SourceObject<K>) -> Self {
        let (object, bytes) = object.into_parts();
        Self::decoded(object, bytes)
    }
}

impl<K> Clone for Stored<K> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Form::Decoded {
                object,
                bytes,
                version,
                uid,
            } => Form::Decoded {
                object: object.clone(),
                bytes: *bytes,
                version: *version,
                uid: *uid,
            },
            #[cfg(feature = "packed")]
            Form::Packed(slot) => Form::Packed(slot.clone()),
        })
    }
}

/// Prints the key and version, never the contents.
impl<K: Object> fmt::Debug for Stored<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key() {
            Some(key) => write!(f, "{key}")?,
            None => f.write_str("(no name)")?,
        }
        match self.version() {
            Some(version) => write!(f, "@{version}"),
            None => Ok(()),
        }
    }
}

/// An object in a snapshot. It dereferences to `&Arc<K>`; `object.clone()` returns an `Arc<K>`.
///
/// A decoded object is borrowed from the snapshot. A packed one was decoded for this reference.
pub struct ObjectRef<'a, K>(Reference<'a, K>);

enum Reference<'a, K> {
    Borrowed(&'a Arc<K>),
    #[cfg(feature = "packed")]
    Owned(Arc<K>),
}

impl<K> Deref for ObjectRef<'_, K> {
    type Target = Arc<K>;

    fn deref(&self) -> &Arc<K> {
        match &self.0 {
            Reference::Borrowed(object) => object,
            #[cfg(feature = "packed")]
            Reference::Owned(object) => object,
        }
    }
}

impl<K> fmt::Debug for ObjectRef<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ObjectRef")
    }
}
