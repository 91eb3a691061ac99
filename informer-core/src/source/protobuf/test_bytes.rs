//! Encodes small messages for the tests, and decodes ConfigMaps.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;

use super::{ProtobufError, Reader, read_object};
use crate::source::{DecodeError, ManagedFields};

/// A varint.
pub(in crate::source) fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A delimited field.
pub(in crate::source) fn field(number: u32, value: impl AsRef<[u8]>) -> Vec<u8> {
    let value = value.as_ref();
    [
        varint(u64::from(number) << 3 | 2),
        varint(value.len() as u64),
        value.to_vec(),
    ]
    .concat()
}

/// A field with an integer.
pub(in crate::source) fn integer(number: u32, value: u64) -> Vec<u8> {
    [varint(u64::from(number) << 3), varint(value)].concat()
}

/// An object or a list in its envelope.
pub(in crate::source) fn envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let types = [field(1, api_version), field(2, kind)].concat();
    [
        b"k8s\0".to_vec(),
        field(1, types),
        field(2, raw),
        field(3, ""),
        field(4, ""),
    ]
    .concat()
}

/// A ConfigMap with a version, and further fields of its metadata.
pub(in crate::source) fn config_map(name: &str, version: &str, more: &[u8]) -> Vec<u8> {
    let metadata = [
        field(1, name),
        field(3, "ns"),
        field(5, "uid-1"),
        field(6, version),
    ]
    .concat();
    let entry = [field(1, "key"), field(2, "value")].concat();
    [field(1, [&metadata, more].concat()), field(2, entry)].concat()
}

/// A frame of a watch, without its length.
pub(in crate::source) fn event(change: &str, object: &[u8]) -> Vec<u8> {
    [field(1, change), field(2, field(1, object))].concat()
}

/// A frame of a watch, with its length.
pub(in crate::source) fn framed(frame: &[u8]) -> Vec<u8> {
    [&u32::try_from(frame.len()).unwrap().to_be_bytes(), frame].concat()
}

/// The body of a list of ConfigMaps.
pub(in crate::source) fn list(items: &[Vec<u8>]) -> Vec<u8> {
    let metadata = [field(2, "17"), field(3, "next"), integer(4, 3)].concat();
    let items = items.iter().flat_map(|item| field(2, item));
    let raw: Vec<u8> = field(1, metadata).into_iter().chain(items).collect();
    envelope("v1", "ConfigMapList", &raw)
}

/// Decodes names, namespaces, versions, UIDs and data of ConfigMaps.
pub(in crate::source) fn decode(bytes: &[u8], managed: ManagedFields) -> Result<ConfigMap, DecodeError> {
    read_object(bytes, managed, |reader| {
        let mut object = ConfigMap::default();
        while let Some(tag) = reader.tag()? {
            match tag.number {
                1 => read_metadata(&mut object, &mut reader.message(tag)?)
                    .map_err(|error| error.within(tag))?,
                2 => {
                    let mut entry = reader.message(tag)?;
                    let mut texts = [String::new(), String::new()];
                    while let Some(tag) = entry.tag()? {
                        texts[tag.number as usize - 1] = entry.text(tag)?.to_owned();
                    }
                    let [key, value] = texts;
                    object.data.get_or_insert_with(BTreeMap::new).insert(key, value);
                }
                _ => reader.skip(tag)?,
            }
        }
        Ok(object)
    })
}

fn read_metadata(object: &mut ConfigMap, reader: &mut Reader<'_>) -> Result<(), ProtobufError> {
    while let Some(tag) = reader.tag()? {
        let mut text = || {
            reader
                .text(tag)
                .map(str::to_owned)
                .map_err(|error| error.within(tag))
        };
        match tag.number {
            1 => object.metadata.name = Some(text()?),
            3 => object.metadata.namespace = Some(text()?),
            5 => object.metadata.uid = Some(text()?),
            6 => object.metadata.resource_version = Some(text()?),
            17 if reader.drops_managed_fields() => reader.skip(tag)?,
            17 => {
                object.metadata.generate_name = Some("kept".to_owned());
                reader.skip(tag)?;
            }
            _ => reader.skip(tag)?,
        }
    }
    Ok(())
}
