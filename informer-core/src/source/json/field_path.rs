//! Finds the path of the field that could not be decoded, without printing keys that users choose.
//!
//! An error in the data of a Secret must not print the names of its entries. So a path has the names of
//! struct fields, which are part of the type, and `*` for every key of a map: `data.*`,
//! `spec.containers[1].image`. Which is which is known only to the type, so the object is decoded once more,
//! through an adaptor that records where it is. Inside enums and flattened fields nothing is recorded: the
//! path ends before them.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::{self, Write as _};

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, Visitor};

use super::text::{TextDeserializer, TextSeed};

/// The longest path that is given; deeper ones are cut.
const PATH_LIMIT: usize = 160;

/// Fields of every kind. Types with flattened fields read their root as a map; these names are printed all
/// the same.
const ROOT_FIELDS: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

/// Records where in an object its deserializer is, or where it stopped.
#[derive(Default)]
pub(super) struct FieldPath {
    segments: RefCell<Vec<Segment>>,
}

#[derive(Clone, Copy)]
enum Segment {
    /// A field of a struct.
    Field(&'static str),
    /// A key of a map, or a field the type does not know.
    Key,
    Index(usize),
}

impl FieldPath {
    /// Wraps the deserializer of an object's root.
    pub(super) fn track<D>(&self, inner: D) -> Tracked<'_, D> {
        Tracked {
            inner,
            keys: Keys::Root,
            path: self,
        }
    }

    /// The path of the value that was read last; `None` at the root.
    pub(super) fn print(&self) -> Option<String> {
        let mut path = String::new();
        for segment in self.segments.borrow().iter() {
            let dot = if path.is_empty() { "" } else { "." };
            match segment {
                Segment::Field(name) => write!(path, "{dot}{name}"),
                Segment::Key => write!(path, "{dot}*"),
                Segment::Index(index) => write!(path, "[{index}]"),
            }
            .expect("writing to a String cannot fail");
        }
        if let Some((cut, _)) = path.char_indices().nth(PATH_LIMIT) {
            path.truncate(cut);
        }
        (!path.is_empty()).then_some(path)
    }

    fn depth(&self) -> usize {
        self.segments.borrow().len()
    }

    /// Enters a value below `depth`. Whatever is left of an error that a type has ignored is dropped.
    fn enter(&self, depth: usize, segment: Segment) {
        let mut segments = self.segments.borrow_mut();
        segments.truncate(depth);
        segments.push(segment);
    }

    fn leave(&self, depth: usize) {
        self.segments.borrow_mut().truncate(depth);
    }
}

/// Which keys of a map are names of fields.
#[derive(Clone, Copy)]
enum Keys {
    /// Those every object has.
    Root,
    /// These.
    Fields(&'static [&'static str]),
    /// None: a user chooses them.
    Chosen,
}

/// Wraps a deserializer, a visitor or a seed.
pub(super) struct Tracked<'p, T> {
    inner: T,
    keys: Keys,
    path: &'p FieldPath,
}

impl<'p, T> Tracked<'p, T> {
    fn with<U>(&self, inner: U) -> Tracked<'p, U> {
        Tracked {
            inner,
            keys: self.keys,
            path: self.path,
        }
    }
}

macro_rules! forward_deserialize {
    ($($method:ident($($name:ident: $type:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(self $(, $name: $type)*, visitor: V) -> Result<V::Value, D::Error> {
            let visitor = self.with(visitor);
            self.inner.$method($($name,)* visitor)
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Tracked<'_, D> {
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
        let visitor = Tracked {
            inner: visitor,
            keys: Keys::Fields(fields),
            path: self.path,
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

impl<'de, V: Visitor<'de>> Visitor<'de> for Tracked<'_, V> {
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

    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(Entries {
            inner,
            keys: Keys::Chosen,
            depth: self.path.depth(),
            path: self.path,
            next: Segment::Index(0),
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(Entries {
            inner,
            keys: self.keys,
            depth: self.path.depth(),
            path: self.path,
            next: Segment::Key,
        })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(access)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Tracked<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.deserialize(deserializer)
    }
}

/// The entries of a map or of a sequence.
struct Entries<'p, A> {
    inner: A,
    keys: Keys,
    depth: usize,
    path: &'p FieldPath,
    next: Segment,
}

impl<'p, A> Entries<'p, A> {
    /// Enters the next value.
    fn enter<S>(&self, seed: S) -> Tracked<'p, S> {
        self.path.enter(self.depth, self.next);
        Tracked {
            inner: seed,
            keys: Keys::Chosen,
            path: self.path,
        }
    }
}

impl Keys {
    fn segment(self, key: &str) -> Segment {
        let fields: &[&'static str] = match self {
            Self::Root => &ROOT_FIELDS,
            Self::Fields(fields) => fields,
            Self::Chosen => &[],
        };
        match fields.iter().find(|field| **field == key) {
            Some(field) => Segment::Field(field),
            None => Segment::Key,
        }
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Entries<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        if let Keys::Chosen = self.keys {
            // Keys of a map may be numbers, which only the reader below can make of their text.
            return self.inner.next_key_seed(seed);
        }
        let Some(key): Option<Cow<'de, str>> = self.inner.next_key_seed(TextSeed)? else {
            return Ok(None);
        };
        self.next = self.keys.segment(&key);
        seed.deserialize(TextDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.enter(seed);
        let value = self.inner.next_value_seed(seed)?;
        self.path.leave(self.depth);
        Ok(value)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Entries<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let seed = self.enter(seed);
        let element = self.inner.next_element_seed(seed)?;
        self.path.leave(self.depth);
        if let Segment::Index(index) = &mut self.next {
            *index += 1;
        }
        Ok(element)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
    use kube::core::DynamicObject;
    use serde::Deserialize;
    use serde::de::DeserializeOwned;

    use super::*;

    fn check<T: DeserializeOwned>(json: &str, expected: Option<&str>) {
        let path = FieldPath::default();
        let outcome = T::deserialize(path.track(&mut serde_json::Deserializer::from_str(json)));
        assert!(outcome.is_err(), "{json}");
        assert_eq!(path.print().as_deref(), expected, "{json}");
    }

    #[test]
    fn names_the_field_that_was_read() {
        check::<Pod>(
            r#"{"spec":{"containers":[{"name":"a"},{"name":"b","image":5}]}}"#,
            Some("spec.containers[1].image"),
        );
        check::<Pod>(r#"{"metadata":{"generation":"x"}}"#, Some("metadata.generation"));
        check::<Pod>("5", None);
        check::<Pod>(r#"{"spec":{"containers":[{}],"#, Some("spec"));
    }

    #[test]
    fn keys_that_users_choose_are_not_printed() {
        check::<Secret>(r#"{"data":{"hunter2":5}}"#, Some("data.*"));
        check::<Secret>(r#"{"stringData":{"hunter2":[]}}"#, Some("stringData.*"));
        check::<ConfigMap>(r#"{"binaryData":{"hunter2":"%"}}"#, Some("binaryData.*"));
        check::<Pod>(
            r#"{"metadata":{"labels":{"hunter2":5}}}"#,
            Some("metadata.labels.*"),
        );
        check::<Pod>(r#"{"hunter2":{"hunter3":"#, Some("*"));
        check::<DynamicObject>(r#"{"hunter2":{"metadata":]}}"#, Some("*.*"));
        check::<DynamicObject>(
            r#"{"metadata":{"annotations":{"hunter2":5}}}"#,
            Some("metadata.annotations.*"),
        );
    }

    #[test]
    fn a_missing_field_is_named_by_its_object() {
        #[derive(Debug, Deserialize)]
        #[expect(dead_code, reason = "only decoded")]
        struct Inner {
            a: u8,
        }
        #[derive(Debug, Deserialize)]
        #[expect(dead_code, reason = "only decoded")]
        struct Outer {
            inner: Option<Inner>,
            numbered: BTreeMap<u8, Inner>,
        }
        check::<Outer>(r#"{"numbered":{},"inner":{"b":1}}"#, Some("inner"));
        check::<Outer>(r#"{"inner":{"a":1}}"#, None);
        check::<Outer>(
            r#"{"numbered":{"1":{"a":1},"2":{"a":"x"}}}"#,
            Some("numbered.*.a"),
        );
    }

    #[test]
    fn a_long_path_is_cut() {
        #[derive(Debug, Deserialize)]
        #[expect(dead_code, reason = "only decoded")]
        struct Nested {
            somewhat_long_name: Option<Box<Nested>>,
        }
        let json = format!("{}5", r#"{"somewhat_long_name":"#.repeat(50));
        let path = FieldPath::default();
        let outcome = Nested::deserialize(path.track(&mut serde_json::Deserializer::from_str(&json)));
        assert!(outcome.is_err());
        assert_eq!(path.print().map(|path| path.len()), Some(PATH_LIMIT));
    }
}
