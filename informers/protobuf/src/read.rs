//! What the generated decoders are made of: messages, values, and one helper per kind of field.

pub(crate) use std::any::TypeId;

use std::any::Any;
use std::collections::BTreeMap;

pub(crate) use informer_core::source::ManagedFields;
pub(crate) use informer_core::source::protobuf::{DecodeProtobuf, Reader, Tag};

pub(crate) use crate::special::empty_object;
use informer_core::source::DecodeError;
use informer_core::source::protobuf::{ProtobufError, read_object};
use k8s_openapi::ByteString;

/// The outcome of decoding an object.
pub(crate) type Decoded<K> = Result<K, DecodeError>;

/// The outcome of reading a value in place.
pub(crate) type Read = Result<(), ProtobufError>;

/// The number of entries in a node of a map, which is allocated as a whole.
const MAP_NODE: usize = 11;

/// A struct that is encoded as a message.
pub(crate) trait Message: Sized {
    /// Creates a message without fields.
    fn empty() -> Self;

    /// Reads one field. Skips one that is unknown.
    fn field(&mut self, tag: Tag, reader: &mut Reader<'_>) -> Read;

    /// Called before the fields of a message that is on the wire. A struct without fields, whose default is
    /// `null`, becomes an empty object here.
    #[inline]
    fn found(&mut self) {}
}

/// A value of a field, of an element of a list, or of an entry of a map.
pub(crate) trait Value: Sized {
    /// Creates the value that an absent field has.
    fn empty() -> Self;

    /// Reads the value in place.
    fn merge(&mut self, tag: Tag, reader: &mut Reader<'_>) -> Read;
}

/// A value for which Go does not distinguish zero from absent.
pub(crate) trait Scalar: Value {
    /// Whether the value is zero or empty.
    fn is_zero(&self) -> bool;
}

/// A value that is absent if its message is empty.
pub(crate) trait Nullable: Sized {
    /// Reads the value.
    fn read(tag: Tag, reader: &mut Reader<'_>) -> Result<Option<Self>, ProtobufError>;
}

/// Decodes an object of a kind.
pub(crate) fn decode<M: Message>(bytes: &[u8], managed_fields: ManagedFields) -> Decoded<M> {
    read_object(bytes, managed_fields, |reader| {
        let mut object = M::empty();
        read_fields(reader, |tag, reader| object.field(tag, reader))?;
        Ok(object)
    })
}

/// Returns the decoder as that of `K`, which is the same type.
pub(crate) fn cast<K: 'static>(decoder: &dyn Any) -> Option<DecodeProtobuf<K>> {
    decoder.downcast_ref::<DecodeProtobuf<K>>().copied()
}

/// Reads the fields of a message until its end.
#[inline]
pub(crate) fn read_fields<'b>(
    reader: &mut Reader<'b>,
    mut field: impl FnMut(Tag, &mut Reader<'b>) -> Read,
) -> Read {
    while let Some(tag) = reader.tag()? {
        field(tag, reader).map_err(|error| error.within(tag))?;
    }
    Ok(())
}

impl<M: Message> Value for M {
    fn empty() -> Self {
        M::empty()
    }

    fn merge(&mut self, tag: Tag, reader: &mut Reader<'_>) -> Read {
        self.found();
        read_fields(&mut reader.message(tag)?, |tag, reader| self.field(tag, reader))
    }
}

/// Reads a message that Go inlines into the struct around it.
pub(crate) fn inline<M>(
    into: &mut M,
    tag: Tag,
    reader: &mut Reader<'_>,
    field: fn(&mut M, Tag, &mut Reader<'_>) -> Read,
) -> Read {
    read_fields(&mut reader.message(tag)?, |tag, reader| field(into, tag, reader))
}

/// Reads a field that is always present.
#[inline]
pub(crate) fn value<V: Value>(into: &mut V, tag: Tag, reader: &mut Reader<'_>) -> Read {
    into.merge(tag, reader)
}

/// Reads a field that is present if it is on the wire, even if it is zero or empty.
#[inline]
pub(crate) fn some<V: Value>(into: &mut Option<V>, tag: Tag, reader: &mut Reader<'_>) -> Read {
    into.get_or_insert_with(V::empty).merge(tag, reader)
}

/// Reads a field that Go always writes, and that is absent if it is zero.
#[inline]
pub(crate) fn nonzero<S: Scalar>(into: &mut Option<S>, tag: Tag, reader: &mut Reader<'_>) -> Read {
    let mut value = S::empty();
    value.merge(tag, reader)?;
    *into = (!value.is_zero()).then_some(value);
    Ok(())
}

/// Reads a field that is absent if its message is empty.
#[inline]
pub(crate) fn nullable<N: Nullable>(into: &mut Option<N>, tag: Tag, reader: &mut Reader<'_>) -> Read {
    *into = N::read(tag, reader)?;
    Ok(())
}

/// Reads an element of a list, after space for all elements that follow each other was reserved.
pub(crate) fn list<V: Value>(into: &mut Vec<V>, tag: Tag, reader: &mut Reader<'_>) -> Read {
    if into.len() == into.capacity() {
        let count = reader.reserve(tag, size_of::<V>())?;
        // Exact for the first run. A list in many runs grows as a Vec does.
        match into.is_empty() {
            true => into.reserve_exact(count),
            false => into.reserve(count),
        }
    }
    into.push(V::empty());
    match into.last_mut() {
        Some(value) => value.merge(tag, reader),
        None => Ok(()),
    }
}

/// Reads an element of a list that is absent if it has no elements.
#[inline]
pub(crate) fn some_list<V: Value>(into: &mut Option<Vec<V>>, tag: Tag, reader: &mut Reader<'_>) -> Read {
    list(into.get_or_insert_with(Vec::new), tag, reader)
}

/// Reads an entry of a map: field 1 is the key, field 2 the value.
pub(crate) fn map<V: Value>(into: &mut BTreeMap<String, V>, tag: Tag, reader: &mut Reader<'_>) -> Read {
    let entries = if into.is_empty() { MAP_NODE } else { 2 };
    reader.charge(entries, size_of::<(String, V)>())?;
    let (mut key, mut value) = (String::new(), V::empty());
    read_fields(&mut reader.message(tag)?, |tag, reader| match tag.number {
        1 => key.merge(tag, reader),
        2 => value.merge(tag, reader),
        _ => reader.skip(tag),
    })?;
    into.insert(key, value);
    Ok(())
}

/// Reads an entry of a map that is absent if it has no entries.
#[inline]
pub(crate) fn some_map<V: Value>(
    into: &mut Option<BTreeMap<String, V>>,
    tag: Tag,
    reader: &mut Reader<'_>,
) -> Read {
    map(into.get_or_insert_with(BTreeMap::new), tag, reader)
}

/// Implements [`Value`] and [`Scalar`] for a type whose zero is its default.
macro_rules! scalar {
    ($scalar:ty, |$tag:ident, $reader:ident| $read:expr, |$value:ident| $is_zero:expr) => {
        impl Value for $scalar {
            #[inline]
            fn empty() -> Self {
                Self::default()
            }

            #[inline]
            fn merge(&mut self, $tag: Tag, $reader: &mut Reader<'_>) -> Read {
                *self = $read;
                Ok(())
            }
        }

        impl Scalar for $scalar {
            #[inline]
            fn is_zero(&self) -> bool {
                let $value = self;
                $is_zero
            }
        }
    };
}

scalar!(String, |tag, reader| reader.text(tag)?.to_owned(), |value| value
    .is_empty());
scalar!(bool, |tag, reader| reader.integer(tag)? != 0, |value| !value);
scalar!(i64, |tag, reader| reader.integer(tag)?, |value| *value == 0);
// As in Go, the upper half of a number that does not fit is lost.
scalar!(i32, |tag, reader| reader.integer(tag)? as i32, |value| *value
    == 0);
scalar!(f64, |tag, reader| reader.double(tag)?, |value| *value == 0.0);
scalar!(
    ByteString,
    |tag, reader| ByteString(reader.bytes(tag)?.to_vec()),
    |value| value.0.is_empty()
);

impl<M: Message> Message for Box<M> {
    fn empty() -> Self {
        Box::new(M::empty())
    }

    fn field(&mut self, tag: Tag, reader: &mut Reader<'_>) -> Read {
        M::field(self, tag, reader)
    }
}

/// A list as the value of a map, such as Go's `ExtraValue`: a message whose field 1 has the elements.
impl Value for Vec<String> {
    fn empty() -> Self {
        Vec::new()
    }

    fn merge(&mut self, tag: Tag, reader: &mut Reader<'_>) -> Read {
        read_fields(&mut reader.message(tag)?, |tag, reader| match tag.number {
            1 => list(self, tag, reader),
            _ => reader.skip(tag),
        })
    }
}
