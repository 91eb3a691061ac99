//! Types with an encoding of their own: times, quantities, and values that hold JSON text.

use jiff::Timestamp;
use serde_json::Value;

use super::DecodeError;
use super::decode::value;
use super::encode::put;
use super::schema::Kind;
use super::wire::{Fields, put_bytes, put_integer};

/// A JSON schema within a CustomResourceDefinition.
fn schema() -> Kind {
    Kind::Message("apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps".to_owned())
}

/// Encodes a value. Returns `None` if it has a wrong type.
pub(super) fn encode(kind: &Kind, value: &Value) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    match kind {
        Kind::Time | Kind::MicroTime => {
            let time: Timestamp = value.as_str()?.parse().ok()?;
            let nanoseconds = match kind {
                Kind::Time => 0,
                _ => time.subsec_nanosecond(),
            };
            put_integer(&mut bytes, 1, time.as_second());
            put_integer(&mut bytes, 2, nanoseconds.into());
        }
        Kind::Quantity => match value {
            Value::String(text) => put_bytes(&mut bytes, 1, text.as_bytes()),
            Value::Number(number) => put_bytes(&mut bytes, 1, number.to_string().as_bytes()),
            _ => return None,
        },
        Kind::IntOrString => {
            let (is_text, number, text) = match value {
                Value::String(text) => (1, 0, text.as_str()),
                value => (0, value.as_i64()?, ""),
            };
            put_integer(&mut bytes, 1, is_text);
            put_integer(&mut bytes, 2, number);
            put_bytes(&mut bytes, 3, text.as_bytes());
        }
        Kind::Json => put_bytes(&mut bytes, 1, value.to_string().as_bytes()),
        Kind::SchemaOrBool => match value {
            Value::Bool(is_allowed) => put_integer(&mut bytes, 1, i64::from(*is_allowed)),
            value => {
                put_integer(&mut bytes, 1, 1);
                put(&mut bytes, 2, &schema(), value);
            }
        },
        Kind::SchemaOrArray | Kind::SchemaOrTexts => match value {
            Value::Array(elements) => {
                let kind = match kind {
                    Kind::SchemaOrArray => schema(),
                    _ => Kind::Text,
                };
                for element in elements {
                    put(&mut bytes, 2, &kind, element);
                }
            }
            value => put(&mut bytes, 1, &schema(), value),
        },
        _ => return None,
    }
    Some(bytes)
}

/// Decodes a value. `null` stands for none.
pub(super) fn decode(kind: &Kind, bytes: &[u8], depth: usize) -> Result<Value, DecodeError> {
    match kind {
        Kind::Time | Kind::MicroTime => time(kind, bytes),
        Kind::Quantity => match first(bytes, 1)? {
            Some(text) => Ok(text.into()),
            None => Ok("".into()),
        },
        Kind::IntOrString => int_or_string(bytes),
        Kind::Json => match first(bytes, 1)? {
            None | Some("") => Ok(Value::Null),
            Some(text) => serde_json::from_str(text).map_err(|_| DecodeError::Malformed),
        },
        _ => schema_or_other(kind, bytes, depth),
    }
}

/// The text of a field.
fn first(bytes: &[u8], wanted: u32) -> Result<Option<&str>, DecodeError> {
    let mut fields = Fields(bytes);
    while let Some((number, raw)) = fields.next()? {
        if number == wanted {
            return raw.text().map(Some);
        }
    }
    Ok(None)
}

/// Go encodes its zero time, which is no time, as an empty message.
fn time(kind: &Kind, bytes: &[u8]) -> Result<Value, DecodeError> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanoseconds) = (0, 0);
    let mut fields = Fields(bytes);
    while let Some((number, raw)) = fields.next()? {
        match number {
            1 => seconds = raw.integer()?,
            2 => nanoseconds = raw.integer()?,
            _ => {}
        }
    }
    let nanoseconds = i32::try_from(nanoseconds).map_err(|_| DecodeError::Malformed)?;
    let time = Timestamp::new(seconds, nanoseconds).map_err(|_| DecodeError::Malformed)?;
    Ok(match kind {
        Kind::Time => time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        _ => time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string(),
    }
    .into())
}

fn int_or_string(bytes: &[u8]) -> Result<Value, DecodeError> {
    let (mut is_text, mut number, mut text) = (false, 0, "");
    let mut fields = Fields(bytes);
    while let Some((field, raw)) = fields.next()? {
        match field {
            1 => is_text = raw.integer()? != 0,
            2 => number = raw.integer()?,
            3 => text = raw.text()?,
            _ => {}
        }
    }
    Ok(match is_text {
        true => text.into(),
        false => number.into(),
    })
}

/// A schema, or something simpler: a bool, a list of schemas or a list of texts.
fn schema_or_other(kind: &Kind, bytes: &[u8], depth: usize) -> Result<Value, DecodeError> {
    let (mut is_allowed, mut props, mut elements) = (false, Value::Null, Vec::new());
    let mut fields = Fields(bytes);
    while let Some((number, raw)) = fields.next()? {
        match (kind, number) {
            (Kind::SchemaOrBool, 1) => is_allowed = raw.integer()? != 0,
            (Kind::SchemaOrBool, 2) | (_, 1) => props = value(&schema(), raw, None, depth)?,
            (Kind::SchemaOrTexts, 2) => elements.push(Value::from(raw.text()?)),
            (_, 2) => elements.push(value(&schema(), raw, None, depth)?),
            _ => {}
        }
    }
    Ok(match kind {
        Kind::SchemaOrBool if props.is_null() => is_allowed.into(),
        _ if !elements.is_empty() => elements.into(),
        _ => props,
    })
}
