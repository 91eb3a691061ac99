//! Types with an encoding of their own: times, quantities, and values that hold JSON text.

use informer_core::source::protobuf::{Fault, ProtobufError};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, MicroTime, Time};
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use k8s_openapi::jiff::Timestamp;

use crate::read::*;

/// An empty JSON object: what a message without fields is in JSON.
pub(crate) fn empty_object() -> serde_json::Value {
    serde_json::Value::Object(serde_json::Map::new())
}

/// Reads seconds and nanoseconds. Go encodes its zero time, which is no time, as an empty message.
fn read_time(tag: Tag, reader: &mut Reader<'_>) -> Result<Option<(i64, i32)>, ProtobufError> {
    let mut time = None;
    read_fields(&mut reader.message(tag)?, |tag, reader| {
        let (seconds, nanoseconds) = time.get_or_insert((0, 0));
        match tag.number {
            1 => seconds.merge(tag, reader),
            2 => nanoseconds.merge(tag, reader),
            _ => reader.skip(tag),
        }
    })?;
    Ok(time)
}

fn timestamp(seconds: i64, nanoseconds: i32) -> Result<Timestamp, ProtobufError> {
    Timestamp::new(seconds, nanoseconds).map_err(|_| ProtobufError::new(Fault::Value))
}

impl Nullable for Time {
    /// A `Time` has whole seconds: JSON has no fraction, and Go ignores it as well.
    fn read(tag: Tag, reader: &mut Reader<'_>) -> Result<Option<Self>, ProtobufError> {
        let time = read_time(tag, reader)?;
        time.map(|(seconds, _)| timestamp(seconds, 0).map(Self))
            .transpose()
    }
}

impl Nullable for MicroTime {
    fn read(tag: Tag, reader: &mut Reader<'_>) -> Result<Option<Self>, ProtobufError> {
        let time = read_time(tag, reader)?;
        time.map(|(seconds, nanoseconds)| timestamp(seconds, nanoseconds / 1000 * 1000).map(Self))
            .transpose()
    }
}

/// Implements [`Value`] for a time that must be set. JSON requires it as well.
macro_rules! required_time {
    ($time:ident) => {
        impl Value for $time {
            fn empty() -> Self {
                Self(Timestamp::UNIX_EPOCH)
            }

            fn merge(&mut self, tag: Tag, reader: &mut Reader<'_>) -> Read {
                *self = Self::read(tag, reader)?.ok_or_else(|| ProtobufError::new(Fault::Value))?;
                Ok(())
            }
        }
    };
}

required_time!(Time);
required_time!(MicroTime);

impl Value for Quantity {
    fn empty() -> Self {
        Self::default()
    }

    fn merge(&mut self, tag: Tag, reader: &mut Reader<'_>) -> Read {
        read_fields(&mut reader.message(tag)?, |tag, reader| match tag.number {
            1 => self.0.merge(tag, reader),
            _ => reader.skip(tag),
        })
    }
}

impl Value for IntOrString {
    fn empty() -> Self {
        Self::Int(0)
    }

    fn merge(&mut self, tag: Tag, reader: &mut Reader<'_>) -> Read {
        let (mut is_string, mut number, mut text) = (false, 0, String::new());
        read_fields(&mut reader.message(tag)?, |tag, reader| match tag.number {
            1 => is_string.merge(tag, reader),
            2 => number.merge(tag, reader),
            3 => text.merge(tag, reader),
            _ => reader.skip(tag),
        })?;
        *self = match is_string {
            true => Self::String(text),
            false => Self::Int(number),
        };
        Ok(())
    }
}

/// Reads a message whose field 1 has JSON text. No text and `null` are no value.
pub(crate) fn read_json(
    tag: Tag,
    reader: &mut Reader<'_>,
) -> Result<Option<serde_json::Value>, ProtobufError> {
    let mut value = serde_json::Value::Null;
    read_fields(&mut reader.message(tag)?, |tag, reader| match tag.number {
        1 => {
            let bytes = reader.bytes(tag)?;
            if !bytes.is_empty() {
                value = serde_json::from_slice(bytes).map_err(|_| ProtobufError::new(Fault::Value))?;
            }
            Ok(())
        }
        _ => reader.skip(tag),
    })?;
    Ok((!value.is_null()).then_some(value))
}

/// Implements [`Nullable`] and [`Value`] for a type that holds JSON.
macro_rules! json {
    ($json:ty) => {
        impl Nullable for $json {
            fn read(tag: Tag, reader: &mut Reader<'_>) -> Result<Option<Self>, ProtobufError> {
                Ok(read_json(tag, reader)?.map(Self))
            }
        }

        impl Value for $json {
            fn empty() -> Self {
                Self(serde_json::Value::Null)
            }

            fn merge(&mut self, tag: Tag, reader: &mut Reader<'_>) -> Read {
                self.0 = read_json(tag, reader)?.unwrap_or_default();
                Ok(())
            }
        }
    };
}
#[cfg(feature = "apiextensions")]
pub(crate) use json;

json!(FieldsV1);
json!(RawExtension);
