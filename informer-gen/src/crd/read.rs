//! Finds CustomResourceDefinitions in YAML or JSON, also among other documents and in lists.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::definition::Definition;
use super::documents::{Document, documents};

/// The most documents that one text may have.
pub const MAX_DOCUMENTS: usize = 10_000;

const GROUP: &str = "apiextensions.k8s.io";
const KIND: &str = "CustomResourceDefinition";

/// The definitions found in one or more texts.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The definitions, in the order of the text.
    pub found: Vec<Found>,
    /// The number of objects of other kinds, which were skipped.
    pub passed_over: usize,
    /// The number of documents and items that are no objects, such as arrays and plain text, which were
    /// skipped.
    pub not_objects: usize,
}

/// A definition and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The definition.
    pub definition: Definition,
    /// The object as it was read.
    pub manifest: Value,
    /// Its place.
    pub place: Place,
    /// Served versions that are not generated; see [`Found::keep_versions`].
    pub left_out: Vec<String>,
}

/// A place: a text, and a line of it if that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name of the text, such as its file name.
    pub origin: String,
    /// The line on which the document begins, counted from 1.
    pub line: Option<usize>,
    /// The position in a list, counted from 0.
    pub item: Option<usize>,
}

/// Error of [`read`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The text is neither YAML nor JSON.
    #[error("{origin}:{line}:{column}: invalid {language}: {message}")]
    Syntax {
        /// The name of the text.
        origin: String,
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
        /// The language it was parsed as.
        language: &'static str,
        /// The message of the parser.
        message: String,
    },
    /// A CustomResourceDefinition does not decode.
    #[error("{place}: {name} is not a valid CustomResourceDefinition: {message}")]
    Definition {
        /// The place: line and column, if they are known.
        place: String,
        /// Its name, or a description if it has none.
        name: String,
        /// The error.
        message: String,
    },
    /// A name has characters that the API server does not allow. Names become parts of code and paths.
    #[error("{place}: invalid {what} `{value}` of {name}: {rule}")]
    Name {
        /// The place of the definition.
        place: Box<Place>,
        /// The definition.
        name: String,
        /// What the name is: a group, a kind, ...
        what: &'static str,
        /// The name.
        value: String,
        /// The rule it breaks.
        rule: &'static str,
    },
    /// The name of the definition is not that of its group and plural.
    #[error(
        "{place}: the definition is called `{found}`, but its group and plural give `{name}`, and the API \
         server accepts no other; correct `metadata.name`, `spec.group` or `spec.names.plural`"
    )]
    OtherName {
        /// The place of the definition.
        place: Box<Place>,
        /// Its name in the metadata.
        found: String,
        /// The name that it must have.
        name: String,
    },
    /// Two versions have the same name.
    #[error("{place}: {name} has the version `{version}` twice; remove one of them")]
    SameVersion {
        /// The place of the definition.
        place: Box<Place>,
        /// The definition.
        name: String,
        /// The version.
        version: String,
    },
    /// The definition uses a version of the API that was removed from Kubernetes.
    #[error(
        "{place}: {name} uses {api_version}, which Kubernetes 1.22 removed; convert it to {GROUP}/v1, for \
         example with `kubectl get crd {name} -o yaml` on a cluster that has it"
    )]
    OldApi {
        /// The place of the definition.
        place: Box<Place>,
        /// Its name.
        name: String,
        /// Its version of the API.
        api_version: String,
    },
    /// The text has too many documents.
    #[error("{origin}: more than {MAX_DOCUMENTS} documents; move the definitions to a separate file")]
    TooManyDocuments {
        /// The name of the text.
        origin: String,
    },
}

impl Definition {
    /// Its name in the API: `foos.example.com`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }
}

impl Found {
    /// Leaves out all served versions except these. The others count as not served from then on.
    pub fn keep_versions(&mut self, wanted: &[&str]) {
        let versions = self.definition.versions.iter_mut();
        for version in versions.filter(|version| version.served && !wanted.contains(&version.name.as_str())) {
            version.served = false;
            self.left_out.push(version.name.clone());
        }
    }
}

impl Reading {
    /// Adds the definitions of another text.
    pub fn extend(&mut self, other: Self) {
        self.found.extend(other.found);
        self.passed_over += other.passed_over;
        self.not_objects += other.not_objects;
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(item) = self.item {
            write!(f, ": items[{item}]")?;
        }
        Ok(())
    }
}

/// Finds the definitions in a text, which `origin` names in errors and places.
///
/// # Errors
/// If the text is neither YAML nor JSON, or contains an invalid CustomResourceDefinition: see [`ReadError`].
pub fn read(origin: &str, text: &str) -> Result<Reading, ReadError> {
    let mut reading = Reading::default();
    for document in documents(origin, text)? {
        let place = Place {
            origin: origin.to_owned(),
            line: Some(document.line()),
            item: None,
        };
        reading.add(place, &document.value, Some(&document))?;
    }
    Ok(reading)
}

/// Finds the definitions in a parsed value, such as the response of a server.
///
/// # Errors
/// As [`read`].
pub fn read_value(origin: &str, value: Value) -> Result<Reading, ReadError> {
    let mut reading = Reading::default();
    let place = Place {
        origin: origin.to_owned(),
        line: None,
        item: None,
    };
    reading.add(place, &value, None)?;
    Ok(reading)
}

impl Reading {
    /// Adds the definition that an object is, or those in its list. `document` is its text, if it is a whole
    /// document.
    fn add(
        &mut self,
        place: Place,
        object: &Value,
        document: Option<&Document<'_>>,
    ) -> Result<(), ReadError> {
        let text = |key: &str| object[key].as_str().unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let of_definitions = api_version.split('/').next() == Some(GROUP);
        if of_definitions && kind == KIND {
            return self.add_definition(place, api_version, object, document);
        }
        let items = object["items"].as_array().filter(|_| kind.ends_with("List"));
        let Some(items) = items else {
            match object {
                Value::Object(_) => self.passed_over += 1,
                // An empty document does not count.
                Value::Null => {}
                _ => self.not_objects += 1,
            }
            return Ok(());
        };
        for (index, item) in items.iter().enumerate() {
            let place = Place {
                item: Some(index),
                ..place.clone()
            };
            match kind.strip_suffix("List") {
                // In the response of a server, items have no `apiVersion` and `kind`; the list has them.
                Some(KIND) if of_definitions => self.add_definition(place, api_version, item, None)?,
                _ => self.add(place, item, None)?,
            }
        }
        Ok(())
    }

    fn add_definition(
        &mut self,
        place: Place,
        api_version: &str,
        object: &Value,
        document: Option<&Document<'_>>,
    ) -> Result<(), ReadError> {
        let name = object["metadata"]["name"]
            .as_str()
            .unwrap_or("a definition without a name");
        if api_version != format!("{GROUP}/v1") {
            return Err(ReadError::OldApi {
                place: Box::new(place),
                name: name.to_owned(),
                api_version: api_version.to_owned(),
            });
        }
        let definition = match document {
            // Decoded from the text again, to get the line and column of an error.
            Some(document) => document.definition(),
            None => serde_json::from_value(object.clone()).map_err(|error| (None, error.to_string())),
        };
        let definition: Definition = definition.map_err(|(at, message)| ReadError::Definition {
            place: match at {
                Some((line, column)) => format!("{}:{line}:{column}", place.origin),
                None => place.to_string(),
            },
            name: name.to_owned(),
            message,
        })?;
        check_names(&definition, &place)?;
        if let Some(found) = object["metadata"]["name"].as_str()
            && found != definition.name()
        {
            return Err(ReadError::OtherName {
                place: Box::new(place),
                found: found.to_owned(),
                name: definition.name(),
            });
        }
        self.found.push(Found {
            definition,
            manifest: object.clone(),
            place,
            left_out: Vec::new(),
        });
        Ok(())
    }
}

/// Checks names, which become parts of code and paths, by the rules of the API server.
fn check_names(definition: &Definition, place: &Place) -> Result<(), ReadError> {
    const GROUPS: &str = "a group has lower-case letters, digits, dashes and dots, such as `example.com`";
    const LABELS: &str = "it has a lower-case letter, then lower-case letters, digits and dashes";
    const KINDS: &str = "a kind has a letter, then letters, digits and dashes, such as `Foo`";
    let group = definition.group.split('.').all(|part| {
        is_made_of(part, u8::is_ascii_lowercase) && !part.starts_with('-') && !part.ends_with('-')
    });
    let is_label = |name: &str| {
        is_made_of(name, u8::is_ascii_lowercase) && name.starts_with(|first: char| first.is_ascii_lowercase())
    };
    let kind = is_made_of(&definition.kind, u8::is_ascii_alphabetic)
        && definition
            .kind
            .starts_with(|first: char| first.is_ascii_alphabetic());
    let mut names = vec![
        ("group", &definition.group, group, GROUPS),
        ("kind", &definition.kind, kind, KINDS),
        ("plural", &definition.plural, is_label(&definition.plural), LABELS),
    ];
    names.extend(
        definition
            .versions
            .iter()
            .map(|version| ("version", &version.name, is_label(&version.name), LABELS)),
    );
    if let Some((what, value, _, rule)) = names.into_iter().find(|(_, _, is_valid, _)| !is_valid) {
        return Err(ReadError::Name {
            place: Box::new(place.clone()),
            name: definition.name(),
            what,
            value: value.clone(),
            rule,
        });
    }
    let mut seen = BTreeSet::new();
    let mut versions = definition.versions.iter().map(|version| &version.name);
    match versions.find(|version| !seen.insert(*version)) {
        None => Ok(()),
        Some(version) => Err(ReadError::SameVersion {
            place: Box::new(place.clone()),
            name: definition.name(),
            version: version.clone(),
        }),
    }
}

/// Whether a name is not empty and has only letters for which `letter` holds, digits and dashes.
fn is_made_of(name: &str, letter: fn(&u8) -> bool) -> bool {
    let mut bytes = name.bytes();
    !name.is_empty() && bytes.all(|byte| letter(&byte) || byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
