//! A bounded reader of protobuf messages, for decoders of whole objects.

use std::cell::Cell;

use super::error::{Fault, ProtobufError};
use super::fields::{Fields, Tag};
use crate::source::{DecodeError, ManagedFields};

/// The maximum depth of nested messages. An entry of a map counts as one.
///
/// The JSON reader accepts 128 levels of brackets; a JSON schema in a CustomResourceDefinition needs up to
/// two messages for one of them.
pub const MAX_DEPTH: u16 = 256;

/// The memory that elements of lists and maps of one object may take besides [`MEMORY_RATIO`]: 64 MiB.
pub const MEMORY_BASE: usize = 64 * 1024 * 1024;

/// The memory that elements of lists and maps of one object may take, as a multiple of its size on the wire.
///
/// An empty element takes two bytes on the wire and up to some kilobytes in memory, so the size of an object
/// does not bound its memory.
pub const MEMORY_RATIO: usize = 64;

/// Reads an object with `read`, which receives the reader of its fields.
pub fn read_object<K>(
    object: &[u8],
    managed_fields: ManagedFields,
    read: impl FnOnce(&mut Reader<'_>) -> Result<K, ProtobufError>,
) -> Result<K, DecodeError> {
    let context = Context {
        memory: Cell::new(MEMORY_BASE.saturating_add(object.len().saturating_mul(MEMORY_RATIO))),
        managed_fields,
    };
    let mut reader = Reader {
        fields: Fields(object),
        depth: 0,
        context: &context,
    };
    read(&mut reader).map_err(|error| DecodeError::new(error.to_string()))
}

/// What is the same for an object and all messages in it.
struct Context {
    /// The memory that elements of lists and maps may still take.
    memory: Cell<usize>,
    managed_fields: ManagedFields,
}

/// Reads the fields of one message. Created by [`read_object`].
///
/// Depth is limited by [`MAX_DEPTH`]; the memory of repeated elements, which callers
/// [reserve](Self::reserve), by [`MEMORY_BASE`] and [`MEMORY_RATIO`]. Strings and bytes are never longer than
/// the input.
pub struct Reader<'b> {
    fields: Fields<'b>,
    depth: u16,
    context: &'b Context,
}

impl<'b> Reader<'b> {
    /// Returns the tag of the next field, or `None` at the end of the message. The caller reads the value, or
    /// [skips](Self::skip) it.
    #[inline]
    pub fn tag(&mut self) -> Result<Option<Tag>, ProtobufError> {
        self.fields.tag()
    }

    /// Reads an integer of any width, or a bool.
    #[inline]
    pub fn integer(&mut self, tag: Tag) -> Result<i64, ProtobufError> {
        self.fields.integer(tag)
    }

    /// Reads a `double`.
    pub fn double(&mut self, tag: Tag) -> Result<f64, ProtobufError> {
        self.fields.double(tag)
    }

    /// Reads bytes.
    #[inline]
    pub fn bytes(&mut self, tag: Tag) -> Result<&'b [u8], ProtobufError> {
        self.fields.bytes(tag)
    }

    /// Reads a text.
    #[inline]
    pub fn text(&mut self, tag: Tag) -> Result<&'b str, ProtobufError> {
        self.fields.text(tag)
    }

    /// Reads a message: returns the reader of its fields.
    #[inline]
    pub fn message(&mut self, tag: Tag) -> Result<Self, ProtobufError> {
        let fields = Fields(self.bytes(tag)?);
        if self.depth >= MAX_DEPTH {
            return Err(ProtobufError::new(Fault::Depth));
        }
        Ok(Self {
            fields,
            depth: self.depth + 1,
            context: self.context,
        })
    }

    /// Skips the value of a field.
    pub fn skip(&mut self, tag: Tag) -> Result<(), ProtobufError> {
        self.fields.skip(tag)
    }

    /// Returns how many fields with this tag follow each other, including the one whose tag was read last,
    /// and counts `size` bytes of memory for each. Callers reserve exactly this many elements.
    pub fn reserve(&self, tag: Tag, size: usize) -> Result<usize, ProtobufError> {
        let mut ahead = self.fields;
        let mut count = 0;
        loop {
            ahead.skip(tag)?;
            count += 1;
            if ahead.tag()? != Some(tag) {
                break;
            }
        }
        self.charge(count, size)?;
        Ok(count)
    }

    /// Counts memory for `count` elements of `size` bytes.
    ///
    /// # Errors
    /// [`Fault::Memory`] if the object takes more memory than its size justifies.
    pub fn charge(&self, count: usize, size: usize) -> Result<(), ProtobufError> {
        let memory = &self.context.memory;
        let left = count
            .checked_mul(size)
            .and_then(|bytes| memory.get().checked_sub(bytes))
            .ok_or_else(|| ProtobufError::new(Fault::Memory))?;
        memory.set(left);
        Ok(())
    }

    /// Whether the `managedFields` of the current message, an `ObjectMeta`, are left out: if it is the
    /// metadata of the object itself, and not of a template in it.
    pub fn drops_managed_fields(&self) -> bool {
        self.depth == 1 && self.context.managed_fields == ManagedFields::Drop
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
