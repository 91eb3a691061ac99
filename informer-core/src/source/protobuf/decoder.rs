//! The decoder of one kind: a generated function, and the checks that every format makes.

use super::envelope::TypeNames;
use super::metadata::Metadata;
use crate::object::Object;
use crate::source::decode::decode_object;
use crate::source::{Decode, DecodeError, Identity, ManagedFields, SourceObject, Undecodable};

/// Decodes the bytes of one object, without its envelope: what the crate `informer-protobuf` has for every
/// built-in kind.
pub type DecodeProtobuf<K> = fn(&[u8], ManagedFields) -> Result<K, DecodeError>;

/// The decoder of one kind.
pub(in crate::source) struct ProtobufDecoder<K> {
    decode: DecodeProtobuf<K>,
    managed_fields: ManagedFields,
    api_version: String,
    kind: String,
}

impl<K: Object> ProtobufDecoder<K> {
    pub(in crate::source) fn of(
        dynamic_type: &K::DynamicType,
        decode: DecodeProtobuf<K>,
        managed_fields: ManagedFields,
    ) -> Self {
        Self {
            decode,
            managed_fields,
            api_version: K::api_version(dynamic_type).into_owned(),
            kind: K::kind(dynamic_type).into_owned(),
        }
    }

    /// Decodes one object. `types` are those of its envelope, or what the envelope of its list implies.
    ///
    /// Protobuf has no names of fields, so an object of another kind could be decoded without an error. Its
    /// type is checked instead.
    pub(super) fn decode(&self, object: &[u8], types: TypeNames<'_>) -> Result<SourceObject<K>, Undecodable> {
        let is_other = |found: &str, expected: &str| !found.is_empty() && found != expected;
        if is_other(types.kind, &self.kind) || is_other(types.api_version, &self.api_version) {
            let Identity { key, version, uid } = Metadata::read(object).identity();
            return Err(Undecodable {
                key,
                version,
                uid,
                reason: "its kind or apiVersion is not the expected one".to_owned(),
            });
        }
        decode_object(self, object, None)
    }
}

impl<K: Object> Decode<K> for ProtobufDecoder<K> {
    fn decode(&self, bytes: &[u8]) -> Result<K, DecodeError> {
        (self.decode)(bytes, self.managed_fields)
    }

    fn identify(&self, bytes: &[u8]) -> Identity {
        Metadata::read(bytes).identity()
    }
}
