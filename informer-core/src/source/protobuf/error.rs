//! Errors of the protobuf reader: what is wrong, and the numbers of the fields on the way to it.

use std::fmt;

use super::fields::Tag;

/// Why bytes could not be read as protobuf. Contains field numbers, never values.
#[derive(Clone, PartialEq, Eq)]
pub struct ProtobufError(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    fault: Fault,
    /// The field numbers, innermost first.
    path: Vec<u32>,
}

/// What is wrong with the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A value is longer than the bytes that contain it.
    Truncated,
    /// A varint has more than 64 bits.
    Varint,
    /// A tag has the field number 0, a wire type that proto3 does not have, or one that does not fit the
    /// field.
    Tag,
    /// A text is not UTF-8.
    Utf8,
    /// Messages are nested deeper than [`MAX_DEPTH`](super::MAX_DEPTH).
    Depth,
    /// The decoded object would take more memory than its size justifies.
    Memory,
    /// A value that must be set is absent, or is not a valid value of its type.
    Value,
}

crate::__debug_is_the_message!(ProtobufError);

impl ProtobufError {
    /// Creates an error without a path.
    #[cold]
    pub fn new(fault: Fault) -> Self {
        Self(Box::new(Inner {
            fault,
            path: Vec::new(),
        }))
    }

    /// Adds the number of the field that contains the error.
    #[cold]
    #[must_use]
    pub fn within(mut self, tag: Tag) -> Self {
        self.0.path.push(tag.number);
        self
    }

    /// Returns what is wrong.
    pub fn fault(&self) -> Fault {
        self.0.fault
    }
}

impl fmt::Display for ProtobufError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0.fault {
            Fault::Truncated => "it ends too early",
            Fault::Varint => "a number is too long",
            Fault::Tag => "a field has an unexpected type",
            Fault::Utf8 => "a text is not UTF-8",
            Fault::Depth => "it is nested too deeply",
            Fault::Memory => "it would take too much memory",
            Fault::Value => "invalid value",
        })?;
        /// The number of path segments that are printed.
        const SEGMENTS: usize = 16;
        for (index, number) in self.0.path.iter().rev().take(SEGMENTS).enumerate() {
            let separator = if index == 0 { " at field " } else { "." };
            write!(f, "{separator}{number}")?;
        }
        if self.0.path.len() > SEGMENTS {
            f.write_str("..")?;
        }
        Ok(())
    }
}

impl std::error::Error for ProtobufError {}
