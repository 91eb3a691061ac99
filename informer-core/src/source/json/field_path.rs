//! Finds the path of the field that could not be decoded, without printing keys that users choose.
//!
//! An error in the data of a Secret must not print the names of its entries. So a path consists of the names
//! of struct fields, which are part of the type, and `*` for every key of a map: `data.*`,
//! `spec.containers[1].image`. Only the type knows which is which, so the object is decoded a second time,
//! through an adaptor that records the position. Inside enums and flattened fields nothing is recorded: the
//! path ends before them.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::Write as _;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess};

use super::adaptor::{Adapted, Adaptor};
use super::text::{TextDeserializer, TextSeed};

/// The longest path that is printed; longer ones are cut.
const PATH_LIMIT: usize = 160;

/// Fields of every kind. A type with flattened fields reads its root as a map; these names are printed
/// anyway.
const ROOT_FIELDS: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

/// The position of a deserializer in an object, or the position where it failed.
#[derive(Default)]
pub(super) struct FieldPath {
    segments: RefCell<Vec<Segment>>,
}

#[derive(Clone, Copy)]
enum Segment {
    /// A field of a struct.
    Field(&'static str),
    /// A key of a map, or a field that the type does not know.
    Key,
    Index(usize),
}

impl FieldPath {
    /// Wraps the deserializer of an object's root.
    pub(super) fn track<D>(&self, inner: D) -> Adapted<D, Track<'_>> {
        Adapted {
            inner,
            adaptor: Track {
                keys: Keys::Root,
                path: self,
            },
        }
    }

    /// Prints the path of the value that was read last. Returns `None` at the root.
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

    /// Enters a value below `depth`. A type may ignore an error and read on, so deeper segments may be left
    /// over.
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
    /// Those of [`ROOT_FIELDS`].
    Root,
    /// These.
    Fields(&'static [&'static str]),
    /// None: users choose the keys.
    Chosen,
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

/// Records where in an object its deserializer is.
#[derive(Clone, Copy)]
pub(super) struct Track<'p> {
    keys: Keys,
    path: &'p FieldPath,
}

impl Adaptor for Track<'_> {
    fn with_fields(self, fields: &'static [&'static str]) -> Self {
        Self {
            keys: Keys::Fields(fields),
            ..self
        }
    }

    fn map<'de, A: MapAccess<'de>>(self, inner: A) -> impl MapAccess<'de, Error = A::Error> {
        Entries {
            inner,
            keys: self.keys,
            depth: self.path.depth(),
            path: self.path,
            next: Segment::Key,
        }
    }

    fn seq<'de, A: SeqAccess<'de>>(self, inner: A) -> impl SeqAccess<'de, Error = A::Error> {
        Entries {
            inner,
            keys: Keys::Chosen,
            depth: self.path.depth(),
            path: self.path,
            next: Segment::Index(0),
        }
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
    fn enter<S>(&self, seed: S) -> Adapted<S, Track<'p>> {
        self.path.enter(self.depth, self.next);
        Adapted {
            inner: seed,
            adaptor: Track {
                keys: Keys::Chosen,
                path: self.path,
            },
        }
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Entries<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        if let Keys::Chosen = self.keys {
            // The keys of a map may be numbers, which only the JSON reader can parse from their text.
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
    fn the_path_ends_at_the_field_that_failed() {
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
    fn a_missing_field_has_the_path_of_its_object() {
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
