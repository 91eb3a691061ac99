//! Joins the Go types of each release with k8s-openapi's structs into the table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::structs::{self, Struct};
use super::types::RustType;
use super::{Empty, EmptyValue, Field, GoField, JsonOnly, Kind, Message, Releases, Table};
use crate::inventory::scan::ScanError;
use crate::inventory::{Release, Resource};

/// Error of [`join`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The sources of k8s-openapi could not be read.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// A line of the Go program's output has another form.
    #[error("line {line} of the Go types of {release}: `{text}` has an unknown form")]
    Line {
        /// The release.
        release: Release,
        /// The line, counted from 1.
        line: usize,
        /// The line itself.
        text: String,
    },
}

/// Creates the table. `dumps` has the output of `informer-gen/protobuf-dump` for each release.
///
/// # Errors
/// See [`JoinError`]. A field without a rule is not an error: its kinds are [`JsonOnly`].
pub fn join(
    k8s_openapi: &Path,
    resources: &[Resource],
    dumps: &[(Release, String)],
) -> Result<Table, JoinError> {
    let mut union = Union::default();
    for (release, dump) in dumps {
        let go = GoTypes::read(*release, dump)?;
        let root = k8s_openapi.join("src").join(format!("v1_{}", release.minor));
        let rust = structs::scan(&root)?;
        let joined = Joiner { go: &go, rust: &rust };
        for resource in resources.iter().filter(|resource| resource.exists_in(*release)) {
            let group = match resource.group.as_str() {
                "" => "-",
                group => group,
            };
            let key = format!("{group} {} {}", resource.version, resource.kind);
            let mut messages = BTreeMap::new();
            let outcome = match go.kinds.get(&key) {
                Some(go_type) => joined.message(&mut messages, go_type, &resource.path),
                None => Err("Go does not have it".to_owned()),
            };
            union.add(release.minor, &resource.path, outcome.map(|()| messages));
        }
    }
    Ok(union.finish())
}

/// The Go types of one release.
struct GoTypes {
    /// The type of each kind, by group, version and name.
    kinds: BTreeMap<String, String>,
    types: BTreeMap<String, Vec<GoLine>>,
}

/// A field, as the Go program prints it.
struct GoLine {
    json: String,
    number: u32,
    go_type: String,
    go: GoField,
    empty: EmptyValue,
    is_inline: bool,
}

impl GoTypes {
    fn read(release: Release, text: &str) -> Result<Self, JoinError> {
        let (mut kinds, mut types) = (BTreeMap::new(), BTreeMap::<String, Vec<GoLine>>::new());
        let mut current = String::new();
        for (index, line) in text.lines().enumerate() {
            let wrong = || JoinError::Line {
                release,
                line: index + 1,
                text: line.to_owned(),
            };
            match line.split(' ').collect::<Vec<_>>().as_slice() {
                ["kind", group, version, kind, path] => {
                    kinds.insert(format!("{group} {version} {kind}"), (*path).to_owned());
                }
                ["type", path] => {
                    current = (*path).to_owned();
                    types.entry(current.clone()).or_default();
                }
                ["field", json, number, go_type, pointer, empty, inline] => {
                    types.entry(current.clone()).or_default().push(GoLine {
                        json: (*json).to_owned(),
                        number: number.parse().map_err(|_| wrong())?,
                        go_type: (*go_type).to_owned(),
                        go: match *pointer {
                            "pointer" => GoField::Pointer,
                            _ => GoField::Value,
                        },
                        empty: match *empty {
                            "always" => EmptyValue::Written,
                            _ => EmptyValue::Omitted,
                        },
                        is_inline: *inline == "inline",
                    });
                }
                _ => return Err(wrong()),
            }
        }
        Ok(Self { kinds, types })
    }
}

/// The messages of one kind, by path: its fields without releases, or why there is no rule.
type Messages = BTreeMap<String, (Empty, Vec<Field>)>;

struct Joiner<'a> {
    go: &'a GoTypes,
    rust: &'a BTreeMap<String, Struct>,
}

impl Joiner<'_> {
    /// Adds a struct and everything that it contains. The error names the field without a rule.
    fn message(&self, messages: &mut Messages, go_type: &str, path: &str) -> Result<(), String> {
        if messages.contains_key(path) {
            return Ok(());
        }
        let declared = self
            .rust
            .get(path)
            .ok_or_else(|| format!("{path} is not a struct"))?;
        messages.insert(path.to_owned(), (declared.empty, Vec::new()));
        let mut fields = Vec::new();
        let mut rest: BTreeSet<&str> = declared.fields.keys().map(String::as_str).collect();
        self.fields(messages, go_type, path, &[], &mut fields, &mut rest)?;
        if let Some(json) = rest.first() {
            return Err(format!("{path} has a field {json} that {go_type} does not have"));
        }
        fields.sort();
        messages.insert(path.to_owned(), (declared.empty, fields));
        Ok(())
    }

    /// Adds the fields of a Go type to the struct at `path`. Go inlines the type at the numbers `outer`.
    fn fields(
        &self,
        messages: &mut Messages,
        go_type: &str,
        path: &str,
        outer: &[u32],
        fields: &mut Vec<Field>,
        rest: &mut BTreeSet<&str>,
    ) -> Result<(), String> {
        let lines = self
            .go
            .types
            .get(go_type)
            .ok_or_else(|| format!("Go has no type {go_type}"))?;
        for line in lines {
            let number = [outer, &[line.number]].concat();
            if line.is_inline {
                // `TypeMeta` has no number: the envelope has the type.
                if line.number != 0 {
                    self.fields(messages, &line.go_type, path, &number, fields, rest)?;
                }
                continue;
            }
            if let Some(Empty::Object) = self.rust.get(path).map(|found| found.empty) {
                return Err(format!("{path} has no fields in Rust, but {} in Go", line.json));
            }
            // JSON ignores a field that k8s-openapi does not have, so protobuf does as well.
            let declared = self.rust.get(path).and_then(|found| found.fields.get(&line.json));
            let Some((rust, rust_type)) = declared else {
                continue;
            };
            if !rest.remove(line.json.as_str()) || line.number == 0 {
                return Err(format!("{path}.{rust} has no number, or two"));
            }
            self.value(messages, &line.go_type, rust_type)
                .map_err(|problem| match problem.contains("::") {
                    true => problem,
                    false => format!("{path}.{rust}: {problem}"),
                })?;
            fields.push(Field {
                number,
                rust: rust.clone(),
                json: line.json.clone(),
                rust_type: rust_type.clone(),
                go: line.go,
                empty: line.empty,
                releases: Releases::new(),
            });
        }
        Ok(())
    }

    /// Checks that both types have the same encoding, and adds the messages in them.
    fn value(&self, messages: &mut Messages, go_type: &str, rust_type: &RustType) -> Result<(), String> {
        let no_rule = || format!("no rule for {go_type} as {rust_type}");
        match rust_type {
            RustType::Option(inner) | RustType::Box(inner) => self.value(messages, go_type, inner),
            RustType::Vec(inner) => {
                let element = go_type
                    .strip_prefix("list:")
                    .or(go_type.strip_prefix("wrapped-list:"));
                self.value(messages, element.ok_or_else(no_rule)?, inner)
            }
            RustType::Map(inner) => {
                let element = go_type.strip_prefix("map:");
                self.value(messages, element.ok_or_else(no_rule)?, inner)
            }
            RustType::Scalar(name) => {
                let expected = match go_type {
                    "string" => "String",
                    "int32" => "i32",
                    "int64" => "i64",
                    "float64" => "f64",
                    "bytes" => "ByteString",
                    other => other,
                };
                match expected == name {
                    true => Ok(()),
                    false => Err(no_rule()),
                }
            }
            RustType::Path(path) => {
                let (_, go_name) = go_type.rsplit_once('.').ok_or_else(no_rule)?;
                if path.rsplit("::").next() != Some(go_name) {
                    return Err(no_rule());
                }
                match rust_type.is_special() {
                    true => Ok(()),
                    false => self.message(messages, go_type, path),
                }
            }
        }
    }
}

/// The union of all releases.
#[derive(Default)]
struct Union {
    kinds: BTreeMap<String, Releases>,
    json_only: BTreeMap<(String, String), Releases>,
    messages: BTreeMap<String, (Empty, Releases, BTreeMap<Field, Releases>)>,
}

impl Union {
    fn add(&mut self, minor: u8, kind: &str, outcome: Result<Messages, String>) {
        let messages = match outcome {
            Ok(messages) => messages,
            Err(reason) => {
                let key = (kind.to_owned(), reason);
                self.json_only.entry(key).or_default().insert(minor);
                return;
            }
        };
        self.kinds.entry(kind.to_owned()).or_default().insert(minor);
        for (path, (empty, fields)) in messages {
            let row = self
                .messages
                .entry(path)
                .or_insert_with(|| (empty, Releases::new(), BTreeMap::new()));
            // A literal is right for both.
            if empty == Empty::Literal {
                row.0 = empty;
            }
            row.1.insert(minor);
            for field in fields {
                row.2.entry(field).or_default().insert(minor);
            }
        }
    }

    fn finish(self) -> Table {
        let kinds = self.kinds.into_iter();
        let json_only = self.json_only.into_iter();
        let messages = self.messages.into_iter();
        Table {
            kinds: kinds.map(|(path, releases)| Kind { path, releases }).collect(),
            json_only: json_only
                .map(|((path, reason), releases)| JsonOnly {
                    path,
                    releases,
                    reason,
                })
                .collect(),
            messages: messages
                .map(|(path, (empty, releases, fields))| Message {
                    path,
                    releases,
                    empty,
                    fields: fields
                        .into_iter()
                        .map(|(field, releases)| Field { releases, ..field })
                        .collect(),
                })
                .collect(),
        }
    }
}
