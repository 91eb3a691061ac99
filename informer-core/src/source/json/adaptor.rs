//! A serde adaptor that follows a value from its deserializer to its maps and sequences.
//!
//! [`Adapted`] wraps a deserializer, the visitor that reads from it, and the seeds of nested values, and
//! forwards every call, so it works with any type: borrowed strings, flattened fields, enums. What it adds is
//! in its [`Adaptor`].

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, Visitor};

/// What is done with the maps and sequences of one value.
pub(super) trait Adaptor: Copy {
    /// Returns the adaptor of a struct with these fields.
    fn with_fields(self, _fields: &'static [&'static str]) -> Self {
        self
    }

    /// Receives the value, which is a string that is borrowed from the input.
    fn borrowed_text(self, _text: &str) {}

    /// Wraps the entries of the value, which is a map or a struct.
    fn map<'de, A: MapAccess<'de>>(self, map: A) -> impl MapAccess<'de, Error = A::Error> {
        map
    }

    /// Wraps the elements of the value, which is a sequence.
    fn seq<'de, A: SeqAccess<'de>>(self, seq: A) -> impl SeqAccess<'de, Error = A::Error> {
        seq
    }
}

/// A deserializer, a visitor or a seed, with an adaptor.
pub(super) struct Adapted<T, A> {
    pub(super) inner: T,
    pub(super) adaptor: A,
}

macro_rules! forward_deserialize {
    ($($method:ident($($name:ident: $type:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(self $(, $name: $type)*, visitor: V) -> Result<V::Value, D::Error> {
            let visitor = Adapted { inner: visitor, adaptor: self.adaptor };
            self.inner.$method($($name,)* visitor)
        }
    )*};
}

impl<'de, D: Deserializer<'de>, A: Adaptor> Deserializer<'de> for Adapted<D, A> {
    type Error = D::Error;

    forward_deserialize! {
        deserialize_any() deserialize_bool()
        deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64() deserialize_i128()
        deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128()
        deserialize_f32() deserialize_f64() deserialize_char() deserialize_str() deserialize_string()
        deserialize_bytes() deserialize_byte_buf() deserialize_option() deserialize_unit() deserialize_seq()
        deserialize_map() deserialize_identifier() deserialize_ignored_any()
        deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = Adapted {
            inner: visitor,
            adaptor: self.adaptor.with_fields(fields),
        };
        self.inner.deserialize_struct(name, fields, visitor)
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

impl<'de, V: Visitor<'de>, A: Adaptor> Visitor<'de> for Adapted<V, A> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    forward_visit! {
        visit_bool(bool)
        visit_i8(i8) visit_i16(i16) visit_i32(i32) visit_i64(i64) visit_i128(i128)
        visit_u8(u8) visit_u16(u16) visit_u32(u32) visit_u64(u64) visit_u128(u128)
        visit_f32(f32) visit_f64(f64) visit_char(char)
        visit_str(&str) visit_string(String)
        visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>)
    }

    fn visit_borrowed_str<E: serde::de::Error>(self, value: &'de str) -> Result<V::Value, E> {
        self.adaptor.borrowed_text(value);
        self.inner.visit_borrowed_str(value)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Adapted {
            inner: deserializer,
            adaptor: self.adaptor,
        })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(Adapted {
            inner: deserializer,
            adaptor: self.adaptor,
        })
    }

    fn visit_seq<S: SeqAccess<'de>>(self, seq: S) -> Result<V::Value, S::Error> {
        self.inner.visit_seq(self.adaptor.seq(seq))
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<V::Value, M::Error> {
        self.inner.visit_map(self.adaptor.map(map))
    }

    // Inside an enum nothing is adapted.
    fn visit_enum<E: EnumAccess<'de>>(self, access: E) -> Result<V::Value, E::Error> {
        self.inner.visit_enum(access)
    }
}

impl<'de, S: DeserializeSeed<'de>, A: Adaptor> DeserializeSeed<'de> for Adapted<S, A> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Adapted {
            inner: deserializer,
            adaptor: self.adaptor,
        })
    }
}
