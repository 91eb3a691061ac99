//! Definitions from text: YAML or JSON, any number of documents, lists, and other manifests among them.

mod documents;

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use self::documents::{Document, documents};
use super::definition::Definition;

/// How many documents one text may have.
pub const MAX_DOCUMENTS: usize = 10_000;

const GROUP: &str = "apiextensions.k8s.io";
const KIND: &str = "CustomResourceDefinition";

/// What was found in texts.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The definitions, in the order of the text.
    pub found: Vec<Found>,
    /// How many objects of other kinds, or documents that are no objects, were passed over.
    pub passed_over: usize,
}

/// A definition, and where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The definition.
    pub definition: Definition,
    /// Where it is.
    pub place: Place,
    /// Served versions that nothing is wanted for; see [`Found::keep_versions`].
    pub left_out: Vec<String>,
}

/// Where something is: a text, and a line of it where that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name of the text, such as that of its file.
    pub origin: String,
    /// The line on which the document begins, counted from 1.
    pub line: Option<usize>,
    /// Which one of a list it is, counted from 0.
    pub item: Option<usize>,
}

/// Why a text gives no definitions.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It is neither YAML nor JSON.
    #[error("{origin}:{line}:{column}: not sound {language}: {message}")]
    Syntax {
        /// The name of the text.
        origin: String,
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
        /// What it was read as.
        language: &'static str,
        /// What the parser said.
        message: String,
    },
    /// A CustomResourceDefinition does not have the form of one.
    #[error("{place}: {name} is not a sound CustomResourceDefinition: {message}")]
    Definition {
        /// Where: line and column, if they are known.
        place: String,
        /// Its name, or words for one that has none.
        name: String,
        /// What is wrong.
        message: String,
    },
    /// A name that goes into code and paths has other characters than the API server allows.
    #[error("{place}: the {what} `{value}` of {name} is not one the API server takes: {rule}")]
    Name {
        /// Where the definition is.
        place: Box<Place>,
        /// The definition.
        name: String,
        /// What the name is of.
        what: &'static str,
        /// The name.
        value: String,
        /// What it may be.
        rule: &'static str,
    },
    /// Two versions have one name.
    #[error(
        "{place}: {name} has the version `{version}` twice, which the API server does not take; remove one of them"
    )]
    SameVersion {
        /// Where the definition is.
        place: Box<Place>,
        /// The definition.
        name: String,
        /// The version.
        version: String,
    },
    /// The definition is in a version of the API that no server has any more.
    #[error(
        "{place}: {name} is in {api_version}, which Kubernetes 1.22 and later do not have; only {GROUP}/v1 is read. Take the \
         definition from a cluster (`kubectl get crd {name} -o yaml`) or from a newer release of its project"
    )]
    OldApi {
        /// Where the definition is.
        place: Box<Place>,
        /// Its name.
        name: String,
        /// Its version of the API.
        api_version: String,
    },
    /// There are too many documents.
    #[error("{origin}: more than {MAX_DOCUMENTS} documents; give the definitions a file of their own")]
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
    /// Leaves out all served versions but these. They count as not served from then on.
    pub fn keep_versions(&mut self, wanted: &[&str]) {
        let versions = self.definition.versions.iter_mut();
        for version in versions.filter(|version| version.served && !wanted.contains(&version.name.as_str())) {
            version.served = false;
            self.left_out.push(version.name.clone());
        }
    }
}

impl Reading {
    /// Adds what was found in another text.
    pub fn extend(&mut self, other: Self) {
        self.found.extend(other.found);
        self.passed_over += other.passed_over;
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

/// Finds the definitions in a text; `origin` names it in errors and places.
///
/// # Errors
/// If the text is neither YAML nor JSON, or a CustomResourceDefinition in it is not sound: see [`ReadError`].
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

/// The same for what is parsed already, such as the answer of a server.
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
    /// Adds what an object is or holds. `document` is its text, if it is a whole document.
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
            // An empty document is nothing at all.
            self.passed_over += usize::from(!object.is_null());
            return Ok(());
        };
        for (index, item) in items.iter().enumerate() {
            let place = Place {
                item: Some(index),
                ..place.clone()
            };
            match kind.strip_suffix("List") {
                // A server leaves out of the items what the list says of all of them.
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
            // Once more from the text, for the line and column of a mistake.
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
        self.found.push(Found {
            definition,
            place,
            left_out: Vec::new(),
        });
        Ok(())
    }
}

/// Names become parts of code and of paths, so they must be what the API server takes.
fn check_names(definition: &Definition, place: &Place) -> Result<(), ReadError> {
    const GROUPS: &str = "a group is small letters, digits, dashes and dots, such as `example.com`";
    const LABELS: &str = "it is a small letter, then small letters, digits and dashes";
    const KINDS: &str = "a kind is a letter, then letters, digits and dashes, such as `Foo`";
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
    if let Some((what, value, _, rule)) = names.into_iter().find(|(_, _, is_sound, _)| !is_sound) {
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

/// Whether a name has some characters, each of which is such a letter, a digit or a dash.
fn is_made_of(name: &str, letter: fn(&u8) -> bool) -> bool {
    let mut bytes = name.bytes();
    !name.is_empty() && bytes.all(|byte| letter(&byte) || byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
