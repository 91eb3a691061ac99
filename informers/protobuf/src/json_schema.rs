//! Types of JSON schemas in CustomResourceDefinitions that have an encoding of their own.

use informer_core::source::protobuf::{Fault, ProtobufError};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSON, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool, JSONSchemaPropsOrStringArray,
};

use crate::read::*;
use crate::special::{json, read_json};

json!(JSON);

impl Nullable for JSONSchemaPropsOrBool {
    fn read(tag: Tag, reader: &mut Reader<'_>) -> Result<Option<Self>, ProtobufError> {
        let mut is_allowed = false;
        let mut schema: Option<Box<JSONSchemaProps>> = None;
        read_fields(&mut reader.message(tag)?, |tag, reader| match tag.number {
            1 => is_allowed.merge(tag, reader),
            2 => some(&mut schema, tag, reader),
            _ => reader.skip(tag),
        })?;
        Ok(Some(match schema {
            Some(schema) => Self::Schema(schema),
            None => Self::Bool(is_allowed),
        }))
    }
}

impl Nullable for JSONSchemaPropsOrArray {
    fn read(tag: Tag, reader: &mut Reader<'_>) -> Result<Option<Self>, ProtobufError> {
        let (schema, schemas) = read_schemas(tag, reader)?;
        Ok(match (schema, schemas) {
            (schema, schemas) if schemas.is_empty() => schema.map(Self::Schema),
            (_, schemas) => Some(Self::Schemas(schemas)),
        })
    }
}

impl Nullable for JSONSchemaPropsOrStringArray {
    fn read(tag: Tag, reader: &mut Reader<'_>) -> Result<Option<Self>, ProtobufError> {
        let (schema, strings) = read_schemas(tag, reader)?;
        Ok(match (schema, strings) {
            (schema, strings) if strings.is_empty() => schema.map(Self::Schema),
            (_, strings) => Some(Self::Strings(strings)),
        })
    }
}

/// Dependencies are values of a map. JSON requires each of them to be a schema or a list.
impl Value for JSONSchemaPropsOrStringArray {
    fn empty() -> Self {
        Self::Strings(Vec::new())
    }

    fn merge(&mut self, tag: Tag, reader: &mut Reader<'_>) -> Read {
        *self = Self::read(tag, reader)?.ok_or_else(|| ProtobufError::new(Fault::Value))?;
        Ok(())
    }
}

/// Reads a message with a schema in field 1 and a list in field 2.
fn read_schemas<V: Value>(
    tag: Tag,
    reader: &mut Reader<'_>,
) -> Result<(Option<Box<JSONSchemaProps>>, Vec<V>), ProtobufError> {
    let (mut schema, mut elements) = (None, Vec::new());
    read_fields(&mut reader.message(tag)?, |tag, reader| match tag.number {
        1 => some(&mut schema, tag, reader),
        2 => list(&mut elements, tag, reader),
        _ => reader.skip(tag),
    })?;
    Ok((schema, elements))
}
