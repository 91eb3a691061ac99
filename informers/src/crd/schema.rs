//! JSON schemas of generated types, from the definition they were generated from.

use k8s_openapi::serde_json::{self, Value};
use serde::de::DeserializeOwned;

/// Implements `schemars::JsonSchema` for a generated type: a part of the schema of its kind, as it was read.
///
/// Code that `informer-gen crd --json-schema` generates calls it.
#[macro_export]
#[doc(hidden)]
macro_rules! __crd_json_schema {
    ($type:ident, $name:literal, $schema:expr, $pointer:literal) => {
        impl ::schemars::JsonSchema for $type {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                ::std::borrow::Cow::Borrowed($name)
            }

            fn schema_id() -> ::std::borrow::Cow<'static, str> {
                ::std::borrow::Cow::Borrowed(::std::concat!(::std::module_path!(), "::", $name))
            }

            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                $crate::crd::part_of_schema($schema, $pointer)
            }
        }
    };
}

/// Returns the part of a schema at a JSON pointer, or a schema that allows anything if there is none.
pub fn part_of_schema<S: DeserializeOwned + From<bool>>(schema: &str, pointer: &str) -> S {
    let part = serde_json::from_str::<Value>(schema).ok();
    let part = part.and_then(|mut schema| schema.pointer_mut(pointer).map(Value::take));
    let part = part.and_then(|part| serde_json::from_value(part).ok());
    part.unwrap_or_else(|| S::from(true))
}
