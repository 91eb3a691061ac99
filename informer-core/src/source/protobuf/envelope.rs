//! The envelope of every object and list: four magic bytes, and a `runtime.Unknown` with the type and the
//! bytes.

use super::error::ProtobufError;
use super::fields::Fields;

/// The first bytes of every body, and of every object of a watch.
pub(super) const MAGIC: &[u8] = b"k8s\0";

/// Numbers of the fields of `runtime.Unknown`.
pub(super) const TYPE_META: u32 = 1;
pub(super) const RAW: u32 = 2;

/// The `apiVersion` and `kind` of an envelope. Absent ones are empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TypeNames<'b> {
    pub(super) api_version: &'b str,
    pub(super) kind: &'b str,
}

/// An object in its envelope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Envelope<'b> {
    pub(super) types: TypeNames<'b>,
    pub(super) object: &'b [u8],
}

impl<'b> TypeNames<'b> {
    pub(super) fn read(bytes: &'b [u8]) -> Result<Self, ProtobufError> {
        let mut types = Self::default();
        let mut fields = Fields(bytes);
        while let Some(tag) = fields.tag()? {
            match tag.number {
                1 => types.api_version = fields.text(tag)?,
                2 => types.kind = fields.text(tag)?,
                _ => fields.skip(tag)?,
            }
        }
        Ok(types)
    }
}

impl<'b> Envelope<'b> {
    /// Returns `None` if the bytes do not begin like an envelope.
    pub(super) fn open(bytes: &'b [u8]) -> Option<Result<Self, ProtobufError>> {
        Some(Self::read(bytes.strip_prefix(MAGIC)?))
    }

    fn read(bytes: &'b [u8]) -> Result<Self, ProtobufError> {
        let mut envelope = Self::default();
        let mut fields = Fields(bytes);
        while let Some(tag) = fields.tag()? {
            match tag.number {
                TYPE_META => envelope.types = TypeNames::read(fields.bytes(tag)?)?,
                RAW => envelope.object = fields.bytes(tag)?,
                _ => fields.skip(tag)?,
            }
        }
        Ok(envelope)
    }
}
