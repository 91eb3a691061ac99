//! Leaves out `metadata.managedFields` while an object is decoded, compares its `kind` and `apiVersion` with
//! the expected ones, and adds them to items of a list that have none.

use std::borrow::Cow;
use std::cell::Cell;

use kube::core::TypeMeta;
use serde::de::{Deserialize as _, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess};

use super::adaptor::{Adapted, Adaptor};
use super::text::{TextDeserializer, TextSeed};
use crate::source::ManagedFields;

/// The `kind` and `apiVersion` that an object must have if it has any.
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
    /// The `kind` and `apiVersion` that are added to an object without them.
    pub(super) fallback: Option<TypeNames<'p>>,
    /// Set when an object has another `kind` or `apiVersion` than the expected one.
    pub(super) mismatch: Cell<bool>,
}

/// The adaptor of an object's root and of its metadata. Deeper values are read without it.
#[derive(Clone, Copy)]
pub(super) struct Filter<'p> {
    level: Level,
    policy: &'p Policy<'p>,
}

#[derive(Clone, Copy)]
enum Level {
    Root,
    Metadata,
}

impl<'p> Policy<'p> {
    /// Wraps the deserializer of an object's root.
    pub(super) fn filter<D>(&'p self, inner: D) -> Adapted<D, Filter<'p>> {
        Adapted {
            inner,
            adaptor: Filter {
                level: Level::Root,
                policy: self,
            },
        }
    }

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

impl Adaptor for Filter<'_> {
    fn map<'de, A: MapAccess<'de>>(self, map: A) -> impl MapAccess<'de, Error = A::Error> {
        FilteredMap {
            map,
            level: self.level,
            policy: self.policy,
            value: NextValue::Plain,
            absent: self.policy.absent(self.level),
        }
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

/// The fields that are added at the end of the map if the map does not have them.
#[derive(Default)]
struct Absent<'p> {
    kind: Option<&'p str>,
    api_version: Option<&'p str>,
}

impl<'p> Absent<'p> {
    fn found(&mut self, key: &str) {
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

/// How the value of the current key is read.
#[derive(Clone, Copy)]
enum NextValue<'p> {
    Plain,
    Metadata,
    Expected(&'p str),
    /// The value is added: it is not in the map.
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
            self.absent.found(&key);
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
            NextValue::Metadata => self.map.next_value_seed(Adapted {
                inner: seed,
                adaptor: Filter {
                    level: Level::Metadata,
                    policy: self.policy,
                },
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

/// A seed for a text that must be the expected one. Null and an empty text mean that the field is absent, as
/// everywhere in Kubernetes: they become the expected text.
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

/// A text, borrowed if possible.
struct TextOf<'de>(Cow<'de, str>);

impl<'de> serde::Deserialize<'de> for TextOf<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        TextSeed.deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
#[path = "managed_fields_tests.rs"]
mod tests;
