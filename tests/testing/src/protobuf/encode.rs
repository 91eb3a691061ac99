//! From JSON to protobuf.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::schema::{Count, Entry, Field, Kind, Message, SCHEMA};
use super::special;
use super::wire::{put_bytes, put_double, put_integer};
use crate::object::Object;

/// Appends the fields of an object. Those that the message does not have are left out.
pub(super) fn object(buffer: &mut Vec<u8>, message: &Message, object: &Object) {
    for (number, entry) in &message.fields {
        match entry {
            Entry::Inlined(inner) => {
                let mut bytes = Vec::new();
                self::object(&mut bytes, inner, object);
                if !bytes.is_empty() {
                    put_bytes(buffer, *number, &bytes);
                }
            }
            Entry::Field(field) => match object.get(&field.json) {
                None | Some(Value::Null) => {}
                Some(value) => put_field(buffer, *number, field, value),
            },
        }
    }
}

fn put_field(buffer: &mut Vec<u8>, number: u32, field: &Field, value: &Value) {
    match (field.count, value) {
        (Count::One, value) => put(buffer, number, &field.kind, value),
        (Count::List, Value::Array(elements)) => {
            for element in elements {
                put(buffer, number, &field.kind, element);
            }
        }
        (Count::Map, Value::Object(entries)) => {
            for (key, value) in entries {
                let mut entry = Vec::new();
                put_bytes(&mut entry, 1, key.as_bytes());
                put(&mut entry, 2, &field.kind, value);
                put_bytes(buffer, number, &entry);
            }
        }
        (Count::List, _) => put_wrong(buffer, number, &field.kind),
        (Count::Map, _) => put_integer(buffer, number, 0),
    }
}

/// Appends one value. One of a wrong type gets a wrong wire type.
pub(super) fn put(buffer: &mut Vec<u8>, number: u32, kind: &Kind, value: &Value) {
    if try_put(buffer, number, kind, value).is_none() {
        put_wrong(buffer, number, kind);
    }
}

fn put_wrong(buffer: &mut Vec<u8>, number: u32, kind: &Kind) {
    match kind {
        Kind::Bool | Kind::Integer | Kind::Double => put_bytes(buffer, number, b""),
        _ => put_integer(buffer, number, 0),
    }
}

fn try_put(buffer: &mut Vec<u8>, number: u32, kind: &Kind, value: &Value) -> Option<()> {
    let bytes = match kind {
        Kind::Bool => {
            put_integer(buffer, number, i64::from(value.as_bool()?));
            return Some(());
        }
        Kind::Integer => {
            put_integer(buffer, number, value.as_i64()?);
            return Some(());
        }
        Kind::Double => {
            put_double(buffer, number, value.as_f64()?);
            return Some(());
        }
        Kind::Text => value.as_str()?.as_bytes().to_vec(),
        Kind::Bytes => STANDARD.decode(value.as_str()?).ok()?,
        Kind::Texts => {
            let mut bytes = Vec::new();
            for element in value.as_array()? {
                put_bytes(&mut bytes, 1, element.as_str()?.as_bytes());
            }
            bytes
        }
        Kind::Message(path) => {
            let mut bytes = Vec::new();
            object(&mut bytes, SCHEMA.by_path(path), value.as_object()?);
            bytes
        }
        special => special::encode(special, value)?,
    };
    put_bytes(buffer, number, &bytes);
    Some(())
}
