//! Fields of protobuf messages: tags, and values by wire type.

use super::DecodeError;

/// Appends a field with a number.
pub(super) fn put_integer(buffer: &mut Vec<u8>, number: u32, value: i64) {
    put_varint(buffer, u64::from(number) << 3);
    put_varint(buffer, value.cast_unsigned());
}

/// Appends a field with a floating-point number.
pub(super) fn put_double(buffer: &mut Vec<u8>, number: u32, value: f64) {
    put_varint(buffer, (u64::from(number) << 3) | 1);
    buffer.extend_from_slice(&value.to_le_bytes());
}

/// Appends a field with bytes: a text or a message.
pub(super) fn put_bytes(buffer: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_varint(buffer, (u64::from(number) << 3) | 2);
    put_varint(buffer, bytes.len() as u64);
    buffer.extend_from_slice(bytes);
}

fn put_varint(buffer: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        buffer.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    buffer.push(value as u8);
}

/// The value of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Raw<'b> {
    Varint(u64),
    Fixed64([u8; 8]),
    Bytes(&'b [u8]),
    Fixed32,
}

impl<'b> Raw<'b> {
    pub(super) fn bytes(self) -> Result<&'b [u8], DecodeError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(DecodeError::Malformed),
        }
    }

    pub(super) fn text(self) -> Result<&'b str, DecodeError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| DecodeError::Malformed)
    }

    pub(super) fn integer(self) -> Result<i64, DecodeError> {
        match self {
            Self::Varint(value) => Ok(value.cast_signed()),
            _ => Err(DecodeError::Malformed),
        }
    }

    pub(super) fn double(self) -> Result<f64, DecodeError> {
        match self {
            Self::Fixed64(bytes) => Ok(f64::from_le_bytes(bytes)),
            _ => Err(DecodeError::Malformed),
        }
    }
}

/// The fields of a message that are not read yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'b>(pub(super) &'b [u8]);

impl<'b> Fields<'b> {
    /// Returns the next field, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Raw<'b>)>, DecodeError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).map_err(|_| DecodeError::Malformed)?;
        let value = match key & 7 {
            0 => Raw::Varint(self.varint()?),
            1 => Raw::Fixed64(self.take(8)?.try_into().map_err(|_| DecodeError::Malformed)?),
            2 => {
                let length = self.varint()?;
                Raw::Bytes(self.take(usize::try_from(length).unwrap_or(usize::MAX))?)
            }
            5 => {
                self.take(4)?;
                Raw::Fixed32
            }
            _ => return Err(DecodeError::Malformed),
        };
        Ok(Some((number, value)))
    }

    fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DecodeError::Malformed)
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], DecodeError> {
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(DecodeError::Malformed)?;
        self.0 = rest;
        Ok(bytes)
    }
}
