//! From protobuf to JSON, as Go writes it: a zero is left out where Go's type leaves it out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::schema::{Count, Entry, Field, Kind, Message, SCHEMA, Zero};
use super::special;
use super::wire::{Fields, Raw};
use crate::object::Object;

/// Why a body could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DecodeError {
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NoEnvelope,
    #[error("no kind is registered for the type of the message")]
    UnknownType,
    #[error("the message is malformed")]
    Malformed,
    #[error("the message is nested too deeply")]
    TooDeep,
}

/// The deepest nesting of messages that is read.
const MAX_DEPTH: usize = 100;

/// Decodes an object.
pub(super) fn object(message: &Message, bytes: &[u8]) -> Result<Object, DecodeError> {
    let mut object = Map::new();
    read(message, bytes, &mut object, MAX_DEPTH)?;
    Ok(object)
}

/// Reads the fields of a message into an object. Unknown fields are skipped.
fn read(message: &Message, bytes: &[u8], into: &mut Object, depth: usize) -> Result<(), DecodeError> {
    let depth = depth.checked_sub(1).ok_or(DecodeError::TooDeep)?;
    let mut fields = Fields(bytes);
    while let Some((number, raw)) = fields.next()? {
        match message.fields.get(&number) {
            None => {}
            Some(Entry::Inlined(inner)) => read(inner, raw.bytes()?, into, depth)?,
            Some(Entry::Field(field)) => read_field(field, raw, into, depth)?,
        }
    }
    Ok(())
}

fn read_field(field: &Field, raw: Raw<'_>, into: &mut Object, depth: usize) -> Result<(), DecodeError> {
    let name = &field.json;
    match field.count {
        Count::One => {
            let known = into.remove(name);
            let value = value(&field.kind, raw, known, depth)?;
            if !(value.is_null() || field.zero == Zero::Omitted && is_zero(&value)) {
                into.insert(name.clone(), value);
            }
        }
        Count::List => {
            let element = value(&field.kind, raw, None, depth)?;
            let list = into.entry(name).or_insert_with(|| Value::Array(Vec::new()));
            list.as_array_mut().ok_or(DecodeError::Malformed)?.push(element);
        }
        Count::Map => {
            let (mut key, mut element) = ("", Value::Null);
            let mut entry = Fields(raw.bytes()?);
            while let Some((number, raw)) = entry.next()? {
                match number {
                    1 => key = raw.text()?,
                    2 => element = value(&field.kind, raw, None, depth)?,
                    _ => {}
                }
            }
            let map = into.entry(name).or_insert_with(|| Value::Object(Map::new()));
            let map = map.as_object_mut().ok_or(DecodeError::Malformed)?;
            map.insert(key.to_owned(), element);
        }
    }
    Ok(())
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(value) => !value,
        Value::Number(value) => value.as_f64() == Some(0.0),
        Value::String(value) => value.is_empty(),
        // Go leaves structs out only if they are pointers.
        _ => false,
    }
}

/// Decodes a value. `known` is the value of the same field earlier in the message, which messages extend.
pub(super) fn value(
    kind: &Kind,
    raw: Raw<'_>,
    known: Option<Value>,
    depth: usize,
) -> Result<Value, DecodeError> {
    Ok(match kind {
        Kind::Text => raw.text()?.into(),
        Kind::Bool => (raw.integer()? != 0).into(),
        Kind::Integer => raw.integer()?.into(),
        Kind::Double => raw.double()?.into(),
        Kind::Bytes => STANDARD.encode(raw.bytes()?).into(),
        Kind::Texts => {
            let (mut texts, mut fields) = (Vec::new(), Fields(raw.bytes()?));
            while let Some((_, raw)) = fields.next()? {
                texts.push(Value::from(raw.text()?));
            }
            texts.into()
        }
        Kind::Message(path) => {
            let mut object = match known {
                Some(Value::Object(object)) => object,
                _ => Map::new(),
            };
            read(SCHEMA.by_path(path), raw.bytes()?, &mut object, depth)?;
            object.into()
        }
        special => special::decode(special, raw.bytes()?, depth)?,
    })
}
