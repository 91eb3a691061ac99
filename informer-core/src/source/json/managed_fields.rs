//! A serde adaptor that leaves out `metadata.managedFields` and compares `kind` and `apiVersion` while an object is
//! decoded, and adds them where an item of a list has none.
//!
//! It stands between the JSON reader and the object's own `Deserialize`, at the object's root and in its metadata only:
//! deeper values are read without it. It forwards every call, so it works for whatever a type asks of its
//! deserializer: borrowed texts, flattened fields, enums.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::de::{
    Deserialize as _, DeserializeSeed, Deserializer, EnumAccess, Error as _, IgnoredAny, MapAccess,
    SeqAccess, Visitor,
};

use kube::core::TypeMeta;

use super::text::{TextDeserializer, TextSeed};
use crate::source::ManagedFields;

/// The `kind` and `apiVersion` an object must have, if it has any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExpectedType {
    pub(super) kind: String,
    pub(super) api_version: String,
}

/// A `kind` and an `apiVersion`.
#[derive(Clone, Copy)]
pub(super) struct TypeNames<'p> {
    kind: &'p str,
    api_version: &'p str,
}

impl<'p> TypeNames<'p> {
    pub(super) fn of(expected: &'p ExpectedType) -> Self {
        Self {
            kind: &expected.kind,
            api_version: &expected.api_version,
        }
    }
}

impl<'p> From<&'p TypeMeta> for TypeNames<'p> {
    fn from(types: &'p TypeMeta) -> Self {
        Self {
            kind: &types.kind,
            api_version: &types.api_version,
        }
    }
}

/// What the adaptor does, and what it found.
pub(super) struct Policy<'p> {
    pub(super) managed_fields: ManagedFields,
    pub(super) expected: Option<&'p ExpectedType>,
    /// What an object without `kind` or `apiVersion` is given.
    pub(super) fallback: Option<TypeNames<'p>>,
    pub(super) mismatch: Cell<bool>,
}

/// Wraps a deserializer, a visitor or a seed of one level.
pub(super) struct Filtered<'p, T> {
    inner: T,
    level: Level,
    policy: &'p Policy<'p>,
}

#[derive(Clone, Copy)]
enum Level {
    Root,
    Metadata,
}

impl<'p, D> Filtered<'p, D> {
    /// Wraps the deserializer of an object's root.
    pub(super) fn root(inner: D, policy: &'p Policy<'p>) -> Self {
        Self {
            inner,
            level: Level::Root,
            policy,
        }
    }

    fn with<T>(&self, inner: T) -> Filtered<'p, T> {
        Filtered {
            inner,
            level: self.level,
            policy: self.policy,
        }
    }
}

macro_rules! forward_deserialize {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            let visitor = self.with(visitor);
            self.inner.$method(visitor)
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Filtered<'_, D> {
    type Error = D::Error;

    forward_deserialize! {
        deserialize_any deserialize_bool
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_char deserialize_str deserialize_string
        deserialize_bytes deserialize_byte_buf deserialize_option deserialize_unit deserialize_seq
        deserialize_map deserialize_identifier deserialize_ignored_any
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.with(visitor);
        self.inner.deserialize_unit_struct(name, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.with(visitor);
        self.inner.deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.with(visitor);
        self.inner.deserialize_tuple(len, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.with(visitor);
        self.inner.deserialize_tuple_struct(name, len, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.with(visitor);
        self.inner.deserialize_struct(name, fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.with(visitor);
        self.inner.deserialize_enum(name, variants, visitor)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! forward_visit {
    ($($method:ident($type:ty))*) => {$(
        fn $method<E: serde::de::Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Filtered<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    forward_visit! {
        visit_bool(bool)
        visit_i8(i8) visit_i16(i16) visit_i32(i32) visit_i64(i64) visit_i128(i128)
        visit_u8(u8) visit_u16(u16) visit_u32(u32) visit_u64(u64) visit_u128(u128)
        visit_f32(f32) visit_f64(f64) visit_char(char)
        visit_str(&str) visit_borrowed_str(&'de str) visit_string(String)
        visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.visit_some(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.visit_newtype_struct(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let map = FilteredMap {
            map,
            level: self.level,
            policy: self.policy,
            value: NextValue::Plain,
            absent: self.policy.absent(self.level),
        };
        self.inner.visit_map(map)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(access)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Filtered<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.deserialize(deserializer)
    }
}

/// The entries of an object's root or of its metadata, without those that are left out.
struct FilteredMap<'p, A> {
    map: A,
    level: Level,
    policy: &'p Policy<'p>,
    value: NextValue<'p>,
    absent: Absent<'p>,
}

/// The fields that are added at the end of the map, if they did not come.
#[derive(Default)]
struct Absent<'p> {
    kind: Option<&'p str>,
    api_version: Option<&'p str>,
}

impl<'p> Policy<'p> {
    fn absent(&self, level: Level) -> Absent<'p> {
        match (level, self.fallback) {
            (Level::Root, Some(types)) => Absent {
                kind: Some(types.kind),
                api_version: Some(types.api_version),
            },
            _ => Absent::default(),
        }
    }
}

impl<'p> Absent<'p> {
    fn came(&mut self, key: &str) {
        match key {
            "kind" => self.kind = None,
            "apiVersion" => self.api_version = None,
            _ => {}
        }
    }

    fn next(&mut self) -> Option<(&'static str, &'p str)> {
        let kind = self.kind.take().map(|kind| ("kind", kind));
        kind.or_else(|| self.api_version.take().map(|version| ("apiVersion", version)))
    }
}

/// How the value behind the last key is to be read.
#[derive(Clone, Copy)]
enum NextValue<'p> {
    Plain,
    Metadata,
    Expected(&'p str),
    /// It is not in the map.
    Added(&'p str),
}

impl<'p, A> FilteredMap<'p, A> {
    fn value_of(&self, key: &str) -> NextValue<'p> {
        match (self.level, key, self.policy.expected) {
            (Level::Root, "metadata", _) => NextValue::Metadata,
            (Level::Root, "kind", Some(expected)) => NextValue::Expected(&expected.kind),
            (Level::Root, "apiVersion", Some(expected)) => NextValue::Expected(&expected.api_version),
            _ => NextValue::Plain,
        }
    }

    fn is_left_out(&self, key: &str) -> bool {
        matches!(self.level, Level::Metadata)
            && self.policy.managed_fields == ManagedFields::Drop
            && key == "managedFields"
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for FilteredMap<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        while let Some(key) = self.map.next_key_seed(TextSeed)? {
            if self.is_left_out(&key) {
                self.map.next_value::<IgnoredAny>()?;
                continue;
            }
            self.absent.came(&key);
            self.value = self.value_of(&key);
            return seed.deserialize(TextDeserializer::new(key)).map(Some);
        }
        let Some((key, text)) = self.absent.next() else {
            return Ok(None);
        };
        self.value = NextValue::Added(text);
        seed.deserialize(TextDeserializer::new(Cow::Borrowed(key)))
            .map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        match self.value {
            NextValue::Plain => self.map.next_value_seed(seed),
            NextValue::Metadata => self.map.next_value_seed(Filtered {
                inner: seed,
                level: Level::Metadata,
                policy: self.policy,
            }),
            NextValue::Expected(text) => {
                let mismatch = &self.policy.mismatch;
                self.map.next_value_seed(Expected { seed, text, mismatch })
            }
            NextValue::Added(text) => seed.deserialize(TextDeserializer::new(Cow::Owned(text.to_owned()))),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        self.map.size_hint()
    }
}

/// Passes a text on if it is the expected one. Null and an empty text stand for absence, as everywhere in
/// Kubernetes: they become the expected text.
struct Expected<'p, S> {
    seed: S,
    text: &'p str,
    mismatch: &'p Cell<bool>,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Expected<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let found = Option::<TextOf<'de>>::deserialize(deserializer)?.map(|TextOf(found)| found);
        let text = match found.filter(|found| !found.is_empty()) {
            Some(found) if found != self.text => {
                self.mismatch.set(true);
                return Err(D::Error::custom("another kind of object"));
            }
            Some(found) => found,
            None => Cow::Owned(self.text.to_owned()),
        };
        self.seed.deserialize(TextDeserializer::new(text))
    }
}

/// A text, borrowed where that is possible.
struct TextOf<'de>(Cow<'de, str>);

impl<'de> serde::Deserialize<'de> for TextOf<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        TextSeed.deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
#[path = "managed_fields_tests.rs"]
mod tests;
