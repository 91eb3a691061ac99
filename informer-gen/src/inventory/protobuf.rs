//! How the fields of built-in types are encoded as protobuf, as a table that is checked in.
//!
//! The table, `inventory/protobuf.txt`, covers each Kubernetes release that k8s-openapi supports. It is
//! written by `cargo xtask codegen --protobuf` from the Go types of Kubernetes, which have the numbers, and
//! from k8s-openapi's sources, which have the Rust types. Decoders are generated from it, and encoders can
//! be: a row has the names in Rust and JSON, the number, the type, and whether Go omits an empty value.
//!
//! ```
//! use informer_gen::inventory::protobuf::builtin;
//!
//! let table = builtin();
//! let pod = table.messages.iter().find(|message| message.path == "api::core::v1::Pod").expect("it exists");
//! assert_eq!((pod.fields[0].rust.as_str(), pod.fields[0].number.as_slice()), ("metadata", [1].as_slice()));
//! ```

#[cfg(feature = "scan")]
pub mod join;
#[cfg(feature = "scan")]
mod structs;
mod table;
mod types;

use std::collections::BTreeSet;
use std::sync::LazyLock;

pub use table::{parse, render};
pub use types::RustType;

/// The checked-in table, as text.
pub const TABLE: &str = include_str!("../../inventory/protobuf.txt");

/// The checked-in table.
///
/// It is parsed on the first call and lives as long as the program.
pub fn builtin() -> &'static Table {
    static BUILTIN: LazyLock<Table> =
        LazyLock::new(|| parse(TABLE).expect("a test parses the checked-in table"));
    &BUILTIN
}

/// The minor releases in which a row holds: 37 for 1.37.
pub type Releases = BTreeSet<u8>;

/// The table: kinds, and the messages that they consist of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The kinds that can be decoded, sorted by path.
    pub kinds: Vec<Kind>,
    /// The kinds that are read as JSON, sorted by path.
    pub json_only: Vec<JsonOnly>,
    /// The structs that these kinds consist of, sorted by path.
    pub messages: Vec<Message>,
}

/// A kind that can be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The path of its type below the root of k8s-openapi.
    pub path: String,
    /// The releases in which all its fields have rules.
    pub releases: Releases,
}

/// A kind that is read as JSON, because it or one of its fields has no protobuf encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonOnly {
    /// The path of its type below the root of k8s-openapi.
    pub path: String,
    /// The releases in which it is.
    pub releases: Releases,
    /// The field that has no rule, and why.
    pub reason: String,
}

/// A struct of k8s-openapi.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its path below the root of k8s-openapi.
    pub path: String,
    /// The releases that have it.
    pub releases: Releases,
    /// How an empty one is created.
    pub empty: Empty,
    /// Its fields, sorted by number.
    pub fields: Vec<Field>,
}

/// How an empty struct is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Empty {
    /// It implements `Default`.
    Default,
    /// It does not, because it contains a time, which has no default.
    Literal,
    /// It has no fields, and holds an empty JSON object.
    Object,
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Field {
    /// Its number. A field of a message that Go inlines has the numbers of both: the outer message has the
    /// inlined one at the first number.
    pub number: Vec<u32>,
    /// Its name in Rust.
    pub rust: String,
    /// Its name in JSON.
    pub json: String,
    /// Its type in Rust.
    pub rust_type: RustType,
    /// How Go declares it.
    pub go: GoField,
    /// What Go's JSON does with an empty value.
    pub empty: EmptyValue,
    /// The releases in which it is so.
    pub releases: Releases,
}

/// How Go declares a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GoField {
    /// As a pointer: absent and empty are distinct.
    Pointer,
    /// As a value, which is always encoded.
    Value,
}

/// What Go's JSON does with an empty value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EmptyValue {
    /// It is left out.
    Omitted,
    /// It is written.
    Written,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::{Release, builtin as resources};

    #[test]
    fn rendering_what_was_parsed_gives_the_same_text() {
        assert_eq!(render(builtin()), TABLE);
    }

    #[test]
    fn every_kind_of_every_release_has_a_rule_or_is_read_as_json() {
        for resource in resources() {
            let found = |minor: &u8| {
                let is_in =
                    |path: &str, releases: &Releases| path == resource.path && releases.contains(minor);
                builtin()
                    .kinds
                    .iter()
                    .any(|kind| is_in(&kind.path, &kind.releases))
                    || builtin()
                        .json_only
                        .iter()
                        .any(|kind| is_in(&kind.path, &kind.releases))
            };
            for minor in 33..=37 {
                let exists = resource.exists_in(Release { minor });
                assert_eq!(found(&minor), exists, "{} in 1.{minor}", resource.path);
            }
        }
    }

    #[test]
    fn no_kind_is_left_to_json() {
        assert_eq!(builtin().json_only, []);
    }

    #[test]
    fn every_message_that_a_field_names_is_in_the_table() {
        let messages = &builtin().messages;
        let names: BTreeSet<&str> = messages.iter().map(|message| message.path.as_str()).collect();
        for message in messages {
            for field in &message.fields {
                if let Some(path) = field.rust_type.message() {
                    assert!(names.contains(path), "{}.{}: {path}", message.path, field.rust);
                }
            }
        }
    }
}
