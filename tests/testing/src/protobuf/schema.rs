//! The types that can be encoded, prepared from informer-gen's table for a look-up by number.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use informer_gen::inventory;
use informer_gen::inventory::protobuf::{self as table, EmptyValue, GoField, RustType};

/// All types. Where the releases of Kubernetes differ, the newest counts.
pub(super) static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let more = table::parse(include_str!("messages.txt")).expect("a test parses these rows");
    Schema::new(table::builtin(), &more)
});

const META: &str = "apimachinery::pkg::apis::meta::v1";

/// The messages, by the paths of their types in k8s-openapi.
#[derive(Debug)]
pub(super) struct Schema {
    messages: HashMap<String, Message>,
    /// The paths of kinds, by `apiVersion` and `kind`.
    types: HashMap<(String, String), String>,
}

/// The fields of a message, by number.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) fields: BTreeMap<u32, Entry>,
}

#[derive(Debug)]
pub(super) enum Entry {
    Field(Field),
    /// A message that Go inlines: in JSON its fields belong to the object around it.
    Inlined(Message),
}

#[derive(Debug)]
pub(super) struct Field {
    /// Its name in JSON.
    pub(super) json: String,
    pub(super) count: Count,
    pub(super) kind: Kind,
    pub(super) zero: Zero,
}

/// How many values a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    One,
    List,
    /// A map from texts.
    Map,
}

/// What a zero on the wire is in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zero {
    Written,
    Omitted,
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Bool,
    Integer,
    Double,
    /// Bytes, which are base64 in JSON.
    Bytes,
    /// A list of texts in a message of its own, as a value of a map.
    Texts,
    /// Another message, by the path of its type.
    Message(String),
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    /// Any JSON, as text in field 1.
    Json,
    SchemaOrBool,
    SchemaOrArray,
    SchemaOrTexts,
}

impl Schema {
    fn new(builtin: &table::Table, more: &table::Table) -> Self {
        let rows = builtin.messages.iter().chain(&more.messages);
        let messages = rows
            .map(|row| (row.path.clone(), Message::new(&row.fields)))
            .collect();
        let mut types = HashMap::new();
        for row in inventory::builtin() {
            let api_version = match row.group.as_str() {
                "" => row.version.clone(),
                group => format!("{group}/{}", row.version),
            };
            types.insert((api_version, row.kind.clone()), row.path.clone());
        }
        let mut add = |api_version: &str, kind: &str, path: String| {
            types.insert((api_version.to_owned(), kind.to_owned()), path);
        };
        add("v1", "Status", format!("{META}::Status"));
        add(
            "autoscaling/v1",
            "Scale",
            "api::autoscaling::v1::Scale".to_owned(),
        );
        let metadata = "PartialObjectMetadata";
        add("meta.k8s.io/v1", metadata, format!("{META}::{metadata}"));
        Self { messages, types }
    }

    pub(super) fn by_type(&self, api_version: &str, kind: &str) -> Option<&Message> {
        let path = self.types.get(&(api_version.to_owned(), kind.to_owned()))?;
        self.messages.get(path)
    }

    /// A message that a field of another one names.
    pub(super) fn by_path(&self, path: &str) -> &Message {
        self.messages
            .get(path)
            .expect("a test of informer-gen looks up every message that the table names")
    }

    pub(super) fn list_meta(&self) -> &Message {
        self.by_path(&format!("{META}::ListMeta"))
    }

    pub(super) fn delete_options(&self) -> &Message {
        self.by_path(&format!("{META}::DeleteOptions"))
    }
}

impl Message {
    fn new(rows: &[table::Field]) -> Self {
        let mut message = Self::default();
        // Rows of one number differ in the releases only; the newest comes last.
        let mut rows: Vec<_> = rows.iter().collect();
        rows.sort_by_key(|row| row.releases.last().copied());
        for row in rows {
            message.add(&row.number, row);
        }
        message
    }

    fn add(&mut self, number: &[u32], row: &table::Field) {
        match number {
            [] => {}
            [number] => {
                self.fields.insert(*number, Entry::Field(Field::new(row)));
            }
            [number, inner @ ..] => {
                let entry = self
                    .fields
                    .entry(*number)
                    .or_insert_with(|| Entry::Inlined(Self::default()));
                if let Entry::Inlined(message) = entry {
                    message.add(inner, row);
                }
            }
        }
    }
}

impl Field {
    fn new(row: &table::Field) -> Self {
        let (count, element) = match unwrapped(&row.rust_type) {
            RustType::Vec(element) => (Count::List, unwrapped(element)),
            RustType::Map(element) => (Count::Map, unwrapped(element)),
            other => (Count::One, other),
        };
        let zero = match (row.go, row.empty) {
            (GoField::Value, EmptyValue::Omitted) => Zero::Omitted,
            _ => Zero::Written,
        };
        Self {
            json: row.json.clone(),
            count,
            kind: Kind::new(element),
            zero,
        }
    }
}

fn unwrapped(rust_type: &RustType) -> &RustType {
    match rust_type {
        RustType::Option(inner) | RustType::Box(inner) => unwrapped(inner),
        other => other,
    }
}

impl Kind {
    fn new(rust_type: &RustType) -> Self {
        match (rust_type, rust_type.special()) {
            (RustType::Scalar(name), _) => match name.as_str() {
                "bool" => Self::Bool,
                "i32" | "i64" => Self::Integer,
                "f64" => Self::Double,
                "ByteString" => Self::Bytes,
                _ => Self::Text,
            },
            (_, Some(special)) => match special {
                "Time" => Self::Time,
                "MicroTime" => Self::MicroTime,
                "Quantity" => Self::Quantity,
                "IntOrString" => Self::IntOrString,
                "JSONSchemaPropsOrBool" => Self::SchemaOrBool,
                "JSONSchemaPropsOrArray" => Self::SchemaOrArray,
                "JSONSchemaPropsOrStringArray" => Self::SchemaOrTexts,
                _ => Self::Json,
            },
            (RustType::Path(path), None) => Self::Message(path.clone()),
            // The only list within a map or list is that of texts, see the test below.
            _ => Self::Texts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_that_a_field_names_exists() {
        for message in SCHEMA.messages.values() {
            check(message);
        }
    }

    fn check(message: &Message) {
        for entry in message.fields.values() {
            match entry {
                Entry::Inlined(inner) => check(inner),
                Entry::Field(field) => {
                    if let Kind::Message(path) = &field.kind {
                        assert!(SCHEMA.messages.contains_key(path), "{}: {path}", field.json);
                    }
                }
            }
        }
    }

    #[test]
    fn lists_within_lists_and_maps_are_lists_of_texts() {
        let fields = table::builtin()
            .messages
            .iter()
            .flat_map(|message| &message.fields);
        for field in fields {
            if let RustType::Vec(inner) | RustType::Map(inner) = unwrapped(&field.rust_type)
                && let RustType::Vec(_) | RustType::Map(_) = unwrapped(inner)
            {
                assert_eq!(inner.to_string(), "Vec<String>", "{}", field.json);
            }
        }
    }

    #[test]
    fn a_number_and_a_name_have_the_same_field_in_all_releases() {
        for message in &table::builtin().messages {
            let (mut names, mut numbers) = (BTreeMap::new(), BTreeMap::new());
            for field in &message.fields {
                let name = names.entry(&field.number).or_insert(&field.json);
                assert_eq!(*name, &field.json, "{}", message.path);
                let number = numbers.entry(&field.json).or_insert(&field.number);
                assert_eq!(*number, &field.number, "{}", message.path);
            }
        }
    }

    #[test]
    fn every_built_in_kind_can_be_encoded() {
        for row in inventory::builtin() {
            assert!(SCHEMA.messages.contains_key(&row.path), "{}", row.path);
        }
    }
}
