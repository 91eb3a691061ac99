//! Reads the metadata of an object leniently: for bookmarks, identities, and objects that cannot be decoded.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::key::ObjectKey;
use crate::resource_version::ResourceVersion;
use crate::source::Identity;

/// The longest UID that is kept. Those of Kubernetes have 36 characters.
const UID_LIMIT: usize = 253;

/// The fields that every object has, as far as they could be read. A field of the wrong type does not affect
/// the others.
#[derive(Debug, Default)]
pub(super) struct Sketch {
    kind: Text,
    api_version: Text,
    metadata: Metadata,
}

#[derive(Debug, Default)]
struct Metadata {
    name: Text,
    namespace: Text,
    version: Text,
    uid: Text,
    initial_events_end: Text,
}

#[derive(Debug, Default)]
enum Text {
    #[default]
    Absent,
    Given(String),
    /// Present, but not a string.
    Unreadable,
}

impl Sketch {
    /// Reads as far as the bytes are valid JSON. Metadata counts only if it was read to its end: half of it
    /// could name another object.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut sketch = Self::default();
        let mut json = serde_json::Deserializer::from_slice(bytes);
        // An error after the metadata does not matter.
        let _ = RootSeed(&mut sketch).deserialize(&mut json);
        sketch
    }

    pub(super) fn identity(&self) -> Identity {
        let metadata = &self.metadata;
        let key = match (&metadata.namespace, metadata.name.text()) {
            (Text::Unreadable, _) | (_, None) => None,
            (namespace, Some(name)) => {
                Some(ObjectKey::namespaced(namespace.text().unwrap_or_default(), name))
            }
        };
        Identity {
            key,
            version: self.version(),
            // A longer text cannot be a UID, and is not worth its memory.
            uid: metadata
                .uid
                .text()
                .filter(|uid| uid.len() <= UID_LIMIT)
                .map(str::to_owned),
        }
    }

    pub(super) fn version(&self) -> Option<ResourceVersion> {
        self.metadata.version.text().map(ResourceVersion::new)
    }

    /// Whether this is the bookmark that ends the initial events.
    pub(super) fn ends_initial_events(&self) -> bool {
        self.metadata.initial_events_end.text() == Some("true")
    }

    /// Whether this is a `Table` of `meta.k8s.io` (what `kubectl get` prints) instead of an object.
    pub(super) fn is_table(&self) -> bool {
        self.kind.text() == Some("Table")
            && self
                .api_version
                .text()
                .is_none_or(|version| version.starts_with("meta.k8s.io/"))
    }
}

impl Text {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Given(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        Ok(Text::Given(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Text, E> {
        Ok(Text::Absent)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Text, E> {
        Ok(Text::Unreadable)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Text, E> {
        Ok(Text::Unreadable)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Text, E> {
        Ok(Text::Unreadable)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Text, E> {
        Ok(Text::Unreadable)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Text, A::Error> {
        IgnoredAny.visit_seq(seq).map(|_| Text::Unreadable)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Text, A::Error> {
        IgnoredAny.visit_map(map).map(|_| Text::Unreadable)
    }
}

/// A seed that reads a map into its target and ignores values of other types.
macro_rules! lenient_map {
    ($seed:ident($target:ty), |$out:ident, $key:ident, $map:ident| $read:block) => {
        struct $seed<'s>(&'s mut $target);

        impl<'de> DeserializeSeed<'de> for $seed<'_> {
            type Value = ();

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                deserializer.deserialize_any(self)
            }
        }

        impl<'de> Visitor<'de> for $seed<'_> {
            type Value = ();

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut $map: A) -> Result<(), A::Error> {
                let $out = self.0;
                while let Some($key) = $map.next_key::<String>()? {
                    $read
                }
                Ok(())
            }

            fn visit_unit<E>(self) -> Result<(), E> {
                Ok(())
            }

            fn visit_bool<E>(self, _: bool) -> Result<(), E> {
                Ok(())
            }

            fn visit_i64<E>(self, _: i64) -> Result<(), E> {
                Ok(())
            }

            fn visit_u64<E>(self, _: u64) -> Result<(), E> {
                Ok(())
            }

            fn visit_f64<E>(self, _: f64) -> Result<(), E> {
                Ok(())
            }

            fn visit_str<E>(self, _: &str) -> Result<(), E> {
                Ok(())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
                IgnoredAny.visit_seq(seq).map(drop)
            }
        }
    };
}

lenient_map!(RootSeed(Sketch), |sketch, key, map| {
    match key.as_str() {
        "kind" => sketch.kind = map.next_value()?,
        "apiVersion" => sketch.api_version = map.next_value()?,
        "metadata" => {
            let mut metadata = Metadata::default();
            map.next_value_seed(MetadataSeed(&mut metadata))?;
            sketch.metadata = metadata;
        }
        _ => drop(map.next_value::<IgnoredAny>()?),
    }
});

lenient_map!(MetadataSeed(Metadata), |metadata, key, map| {
    match key.as_str() {
        "name" => metadata.name = map.next_value()?,
        "namespace" => metadata.namespace = map.next_value()?,
        "resourceVersion" => metadata.version = map.next_value()?,
        "uid" => metadata.uid = map.next_value()?,
        "annotations" => map.next_value_seed(AnnotationsSeed(metadata))?,
        _ => drop(map.next_value::<IgnoredAny>()?),
    }
});

lenient_map!(AnnotationsSeed(Metadata), |metadata, key, map| {
    match key.as_str() {
        "k8s.io/initial-events-end" => metadata.initial_events_end = map.next_value()?,
        _ => drop(map.next_value::<IgnoredAny>()?),
    }
});

#[cfg(test)]
#[path = "sketch_tests.rs"]
mod tests;
