//! Kubernetes protobuf: objects between JSON and the binary encoding, envelopes, lists and watch frames.
//!
//! One interpreter reads the table of all built-in types (`informer_gen::inventory::protobuf`), so the crate
//! has no code per kind. Only what an object has in JSON is encoded: both encodings of an answer have the
//! same content. A value of a wrong type is encoded as a field of a wrong wire type, so that an object that
//! cannot be decoded from JSON cannot be decoded from protobuf either.

mod decode;
mod encode;
mod schema;
mod special;
mod wire;

use serde_json::Value;

use crate::object::Object;
pub(crate) use decode::DecodeError;
use schema::{Message, SCHEMA};
use wire::{Fields, put_bytes};

/// The media type.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// The first bytes of every body.
const MAGIC: &[u8] = b"k8s\0";

/// The type of an object, as its envelope has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TypeNames {
    api_version: String,
    kind: String,
}

impl TypeNames {
    pub(crate) fn new(api_version: impl Into<String>, kind: impl Into<String>) -> Self {
        Self {
            api_version: api_version.into(),
            kind: kind.into(),
        }
    }

    /// The type of errors, and of the outcome of a deletion.
    pub(crate) fn status() -> Self {
        Self::new("v1", "Status")
    }

    fn message(&self) -> Option<&'static Message> {
        SCHEMA.by_type(&self.api_version, &self.kind)
    }

    /// Encodes an object, given as JSON text, without its envelope.
    ///
    /// Text that is not JSON is returned as it is: it is no message either.
    fn encode(&self, json: &[u8]) -> Vec<u8> {
        let Ok(value) = serde_json::from_slice::<Value>(json) else {
            return json.to_vec();
        };
        let mut buffer = Vec::new();
        if let (Some(message), Value::Object(object)) = (self.message(), value) {
            encode::object(&mut buffer, message, &object);
        }
        buffer
    }

    /// Encodes an object, given as JSON text, in its envelope.
    pub(crate) fn body(&self, json: &[u8]) -> Vec<u8> {
        self.envelope(&self.encode(json))
    }

    /// Encodes a list of objects of this type, given as JSON texts. `list` is the type of the list.
    pub(crate) fn list(&self, list: &TypeNames, metadata: &Value, items: &[Vec<u8>]) -> Vec<u8> {
        let mut encoded = Vec::new();
        if let Some(metadata) = metadata.as_object() {
            let mut bytes = Vec::new();
            encode::object(&mut bytes, SCHEMA.list_meta(), metadata);
            put_bytes(&mut encoded, 1, &bytes);
        }
        for item in items {
            put_bytes(&mut encoded, 2, &self.encode(item));
        }
        list.envelope(&encoded)
    }

    /// Appends a frame of a watch: its length, and an event with an object of this type.
    pub(crate) fn frame(&self, buffer: &mut Vec<u8>, event: &str, json: &[u8]) {
        let mut extension = Vec::new();
        put_bytes(&mut extension, 1, &self.body(json));
        let mut frame = Vec::new();
        put_bytes(&mut frame, 1, event.as_bytes());
        put_bytes(&mut frame, 2, &extension);
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        buffer.extend_from_slice(&length.to_be_bytes());
        buffer.extend_from_slice(&frame);
    }

    /// Encodes the envelope of an object: a `runtime.Unknown`, whose last two fields are always empty.
    fn envelope(&self, object: &[u8]) -> Vec<u8> {
        let mut names = Vec::new();
        put_bytes(&mut names, 1, self.api_version.as_bytes());
        put_bytes(&mut names, 2, self.kind.as_bytes());
        let mut envelope = MAGIC.to_vec();
        put_bytes(&mut envelope, 1, &names);
        put_bytes(&mut envelope, 2, object);
        put_bytes(&mut envelope, 3, b"");
        put_bytes(&mut envelope, 4, b"");
        envelope
    }
}

/// Decodes the body of a request: an object of a known type, with its type.
pub(crate) fn read_body(body: &[u8]) -> Result<Object, DecodeError> {
    let envelope = Envelope::open(body)?;
    let message = SCHEMA
        .by_type(envelope.api_version, envelope.kind)
        .ok_or(DecodeError::UnknownType)?;
    let mut object = Object::new();
    object.insert("kind".into(), envelope.kind.into());
    object.insert("apiVersion".into(), envelope.api_version.into());
    object.extend(decode::object(message, envelope.object)?);
    Ok(object)
}

/// Decodes the options of a delete request. Clients send them in the version of the deleted kind.
pub(crate) fn read_delete_options(body: &[u8]) -> Result<Value, DecodeError> {
    let envelope = Envelope::open(body)?;
    if envelope.kind != "DeleteOptions" {
        return Err(DecodeError::UnknownType);
    }
    decode::object(SCHEMA.delete_options(), envelope.object).map(Value::Object)
}

/// An object in its envelope.
#[derive(Debug, Default)]
struct Envelope<'b> {
    api_version: &'b str,
    kind: &'b str,
    object: &'b [u8],
}

impl<'b> Envelope<'b> {
    fn open(body: &'b [u8]) -> Result<Self, DecodeError> {
        let bytes = body.strip_prefix(MAGIC).ok_or(DecodeError::NoEnvelope)?;
        let mut envelope = Self::default();
        let mut fields = Fields(bytes);
        while let Some((number, value)) = fields.next()? {
            match number {
                1 => {
                    let mut names = Fields(value.bytes()?);
                    while let Some((number, value)) = names.next()? {
                        match number {
                            1 => envelope.api_version = value.text()?,
                            2 => envelope.kind = value.text()?,
                            _ => {}
                        }
                    }
                }
                2 => envelope.object = value.bytes()?,
                _ => {}
            }
        }
        Ok(envelope)
    }
}

#[cfg(test)]
#[path = "protobuf_tests.rs"]
mod tests;
