//! The record of the schemas that code was generated from, a text file beside the code, to find later
//! changes.
//!
//! The code alone is not enough: a type may be hand-written, and an optional field looks the same whether it
//! is not required or has a default. One line per field also shows in a review what a new release of a
//! definition changes.

use super::definition::Scope;
use super::read::Found;
use super::shape::{Presence, Shape, ShapeField, shape};
use super::types::{SchemaError, SchemaProblem};

/// The format of the text. Other formats are an error.
const FORMAT: &str = "format 1";

/// The definitions that code was generated from, sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// One for each definition.
    pub definitions: Vec<RecordedDefinition>,
}

/// One definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedDefinition {
    /// Its name: `foos.example.com`.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Whether its objects are in namespaces.
    pub scope: Scope,
    /// Its served versions, in the order of the definition.
    pub versions: Vec<RecordedVersion>,
    /// Served versions that were not generated.
    pub left_out: Vec<String>,
}

/// One served version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedVersion {
    /// Its name: `v1`.
    pub name: String,
    /// Its fields.
    pub shape: Shape,
}

/// Error of [`Record::parse`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid line {line}: `{text}`; generate the code again")]
pub struct RecordError {
    /// The line, counted from 1.
    pub line: usize,
    /// Its text.
    pub text: String,
}

impl Record {
    /// The record of a definition. A version without a schema has no fields.
    ///
    /// # Errors
    /// If a schema is not structural: see [`SchemaError`].
    pub fn of(found: &Found) -> Result<RecordedDefinition, SchemaError> {
        let definition = &found.definition;
        let served = definition.versions.iter().filter(|version| version.served);
        let versions = served.map(|version| {
            let shape = match shape(definition, version) {
                Err(error) if *error.problem == SchemaProblem::NoSchema => Shape::default(),
                shape => shape?,
            };
            Ok(RecordedVersion {
                name: version.name.clone(),
                shape,
            })
        });
        Ok(RecordedDefinition {
            name: definition.name(),
            kind: definition.kind.clone(),
            scope: definition.scope,
            versions: versions.collect::<Result<_, _>>()?,
            left_out: found.left_out.clone(),
        })
    }

    /// The record as text, below `first_line`.
    #[must_use]
    pub fn render(&self, first_line: &str) -> String {
        let mut text = format!("{first_line}{FORMAT}\n");
        for definition in &self.definitions {
            let RecordedDefinition {
                name, kind, scope, ..
            } = definition;
            text += &format!("\ndefinition {name} {kind} {}\n", scope_name(*scope));
            for version in &definition.left_out {
                text += &format!("left-out {version}\n");
            }
            for version in &definition.versions {
                text += &format!("version {}\n", version.name);
                for field in &version.shape.fields {
                    let (path, type_) = (escape(&field.path), escape(&field.type_));
                    text += &format!("\t{path}\t{}\t{type_}\n", presence_name(field.presence));
                }
            }
        }
        text
    }

    /// Parses the text of [`render`](Self::render).
    ///
    /// # Errors
    /// If a line has another format.
    pub fn parse(text: &str) -> Result<Self, RecordError> {
        let mut record = Self::default();
        let mut lines = text.lines().enumerate();
        let is_known = lines.by_ref().find(|(_, line)| !line.starts_with('#'));
        if is_known.is_none_or(|(_, line)| line != FORMAT) {
            return Err(RecordError {
                line: is_known.map_or(1, |(index, _)| index + 1),
                text: is_known.map_or("", |(_, line)| line).to_owned(),
            });
        }
        for (index, line) in lines {
            record.add(line).ok_or_else(|| RecordError {
                line: index + 1,
                text: line.to_owned(),
            })?;
        }
        Ok(record)
    }

    fn add(&mut self, line: &str) -> Option<()> {
        if line.is_empty() {
            return Some(());
        }
        if let Some(field) = line.strip_prefix('\t') {
            let [path, presence, type_] = field.split('\t').collect::<Vec<_>>().try_into().ok()?;
            let version = self.definitions.last_mut()?.versions.last_mut()?;
            version.shape.fields.push(ShapeField {
                path: unescape(path),
                presence: parse_presence(presence)?,
                type_: unescape(type_),
            });
            return Some(());
        }
        match line.split(' ').collect::<Vec<_>>().as_slice() {
            ["definition", name, kind, scope] => self.definitions.push(RecordedDefinition {
                name: (*name).to_owned(),
                kind: (*kind).to_owned(),
                scope: parse_scope(scope)?,
                versions: Vec::new(),
                left_out: Vec::new(),
            }),
            ["left-out", name] => self.definitions.last_mut()?.left_out.push((*name).to_owned()),
            ["version", name] => self.definitions.last_mut()?.versions.push(RecordedVersion {
                name: (*name).to_owned(),
                shape: Shape::default(),
            }),
            _ => return None,
        }
        Some(())
    }
}

pub(super) fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Namespaced => "Namespaced",
        Scope::Cluster => "Cluster",
    }
}

fn parse_scope(name: &str) -> Option<Scope> {
    [Scope::Namespaced, Scope::Cluster]
        .into_iter()
        .find(|&scope| scope_name(scope) == name)
}

pub(super) fn presence_name(presence: Presence) -> &'static str {
    match presence {
        Presence::Required => "required",
        Presence::Optional => "optional",
    }
}

fn parse_presence(name: &str) -> Option<Presence> {
    [Presence::Required, Presence::Optional]
        .into_iter()
        .find(|&presence| presence_name(presence) == name)
}

/// Escapes tabs and line ends: the name of a field may be any JSON string.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\t', "\\t")
        .replace('\n', "\\n")
        .replace('\r', "\\r")
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        plain.push(match char {
            '\\' => match chars.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                other => other.unwrap_or('\\'),
            },
            other => other,
        });
    }
    plain
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
