//! The fields of one protobuf message in memory: tags, and values by wire type.

use super::error::{Fault, ProtobufError};

/// The tag of a field: its number, and the wire type of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The field number.
    pub number: u32,
    wire: Wire,
}

/// The wire types of proto3. Groups, which older versions have, are rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    Varint,
    Fixed64,
    /// A length and that many bytes.
    Delimited,
    Fixed32,
}

impl Tag {
    pub(super) fn of(key: u64) -> Result<Self, ProtobufError> {
        let fault = || ProtobufError::new(Fault::Tag);
        let wire = match key & 7 {
            0 => Wire::Varint,
            1 => Wire::Fixed64,
            2 => Wire::Delimited,
            5 => Wire::Fixed32,
            _ => return Err(fault()),
        };
        let number = u32::try_from(key >> 3).map_err(|_| fault())?;
        if number == 0 {
            return Err(fault());
        }
        Ok(Self { number, wire })
    }

    pub(super) fn wire(self) -> Wire {
        self.wire
    }

    #[inline]
    fn expect(self, wire: Wire) -> Result<(), ProtobufError> {
        match self.wire == wire {
            true => Ok(()),
            false => Err(ProtobufError::new(Fault::Tag)),
        }
    }
}

/// The fields of a message that are not read yet.
#[derive(Clone, Copy)]
pub(super) struct Fields<'b>(pub(super) &'b [u8]);

impl<'b> Fields<'b> {
    /// Returns the tag of the next field, or `None` at the end.
    #[inline]
    pub(super) fn tag(&mut self) -> Result<Option<Tag>, ProtobufError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        Tag::of(key).map(Some)
    }

    #[inline]
    pub(super) fn integer(&mut self, tag: Tag) -> Result<i64, ProtobufError> {
        tag.expect(Wire::Varint)?;
        Ok(self.varint()?.cast_signed())
    }

    pub(super) fn double(&mut self, tag: Tag) -> Result<f64, ProtobufError> {
        tag.expect(Wire::Fixed64)?;
        let (bytes, rest) = self
            .0
            .split_first_chunk::<8>()
            .ok_or_else(|| ProtobufError::new(Fault::Truncated))?;
        self.0 = rest;
        Ok(f64::from_le_bytes(*bytes))
    }

    #[inline]
    pub(super) fn bytes(&mut self, tag: Tag) -> Result<&'b [u8], ProtobufError> {
        tag.expect(Wire::Delimited)?;
        self.delimited()
    }

    #[inline]
    pub(super) fn text(&mut self, tag: Tag) -> Result<&'b str, ProtobufError> {
        std::str::from_utf8(self.bytes(tag)?).map_err(|_| ProtobufError::new(Fault::Utf8))
    }

    /// Returns a delimited value, or the beginning of it if the bytes end before it.
    pub(super) fn beginning(&mut self, tag: Tag) -> Result<&'b [u8], ProtobufError> {
        tag.expect(Wire::Delimited)?;
        let length = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
        self.take(length.min(self.0.len()))
    }

    pub(super) fn skip(&mut self, tag: Tag) -> Result<(), ProtobufError> {
        match tag.wire {
            Wire::Varint => self.varint().map(drop),
            Wire::Fixed64 => self.take(8).map(drop),
            Wire::Delimited => self.delimited().map(drop),
            Wire::Fixed32 => self.take(4).map(drop),
        }
    }

    #[inline]
    fn delimited(&mut self) -> Result<&'b [u8], ProtobufError> {
        let length = self.varint()?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    #[inline]
    fn take(&mut self, length: usize) -> Result<&'b [u8], ProtobufError> {
        let (bytes, rest) = self
            .0
            .split_at_checked(length)
            .ok_or_else(|| ProtobufError::new(Fault::Truncated))?;
        self.0 = rest;
        Ok(bytes)
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, ProtobufError> {
        match self.0.split_first() {
            Some((&byte, rest)) if byte < 0x80 => {
                self.0 = rest;
                Ok(u64::from(byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, ProtobufError> {
        let mut varint = Varint::default();
        for (index, &byte) in self.0.iter().enumerate() {
            if let Some(value) = varint.push(byte)? {
                self.0 = &self.0[index + 1..];
                return Ok(value);
            }
        }
        Err(ProtobufError::new(Fault::Truncated))
    }
}

/// A varint that arrives byte by byte.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Varint {
    value: u64,
    shift: u32,
}

impl Varint {
    /// Returns the number of bytes so far.
    pub(super) fn bytes(self) -> u32 {
        self.shift / 7
    }

    /// Adds a byte. Returns the value after the last one.
    pub(super) fn push(&mut self, byte: u8) -> Result<Option<u64>, ProtobufError> {
        let bits = u64::from(byte & 0x7f);
        // The tenth byte has one bit left.
        if self.shift > 63 || (self.shift == 63 && bits > 1) {
            return Err(ProtobufError::new(Fault::Varint));
        }
        self.value |= bits << self.shift;
        self.shift += 7;
        Ok((byte < 0x80).then_some(self.value))
    }
}
