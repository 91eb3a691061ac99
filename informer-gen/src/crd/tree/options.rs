//! Options of generated types, and how they are written on a command line.

use std::collections::BTreeSet;
use std::str::FromStr;

/// Options of generated types. By default, all of them are off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Traits to derive in addition.
    pub derives: Vec<Derive>,
    /// The type of maps.
    pub map: MapType,
    /// Additional implementations.
    pub extras: BTreeSet<Extra>,
    /// Fields that become raw JSON values, with everything below them.
    pub skip: Vec<FieldPath>,
    /// If not empty, the only fields besides the metadata: the types become projections, which are read and
    /// never written.
    pub only: Vec<FieldPath>,
    /// Indexes by a field.
    pub indexes: Vec<IndexBy>,
}

/// The type of maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapType {
    /// `std::collections::BTreeMap`.
    #[default]
    BTreeMap,
    /// `std::collections::HashMap`.
    HashMap,
}

/// An additional implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extra {
    /// Methods `with_<field>` of every struct, which set a field and return the struct.
    Builders,
    /// kube's `CustomResourceExt` for every kind: the definition as it was read, and its short names.
    Definition,
    /// `schemars::JsonSchema` for every kind: the schema as it was read.
    JsonSchema,
}

/// The error of an option that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; write it as {example}")]
pub struct OptionError {
    problem: String,
    example: &'static str,
}

/// A trait to derive: `Eq`, `@enum=Copy`, `FooSpec=Hash`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derive {
    /// The path of the trait: `Eq`, `my_crate::Merge`.
    pub path: String,
    /// The types that derive it.
    pub on: DeriveOn,
}

/// The types that derive a trait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeriveOn {
    /// Every type.
    All,
    /// Every struct: `@struct=`.
    Structs,
    /// Every enum: `@enum=`.
    Enums,
    /// The type of this name: `FooSpec=`.
    Named(String),
}

impl FromStr for Derive {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let (on, path) = match text.split_once('=') {
            None => (DeriveOn::All, text),
            Some(("@struct", path)) => (DeriveOn::Structs, path),
            Some(("@enum", path)) => (DeriveOn::Enums, path),
            Some((name, path)) => (DeriveOn::Named(name.to_owned()), path),
        };
        let is_name = |name: &str| syn::parse_str::<syn::Ident>(name).is_ok();
        let is_target = match &on {
            DeriveOn::Named(name) => is_name(name),
            _ => true,
        };
        let names = path.strip_prefix("::").unwrap_or(path);
        match is_target && names.split("::").all(is_name) {
            true => Ok(Self {
                path: path.to_owned(),
                on,
            }),
            false => Err(OptionError {
                problem: format!("`{text}` is no trait to derive"),
                example: "`Eq`, `my_crate::Merge`, `@struct=Eq`, `@enum=Copy` or `FooSpec=Hash`",
            }),
        }
    }
}

/// The path of a field in objects, of one definition or of all that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath {
    /// `foos.example.com`, or every definition.
    pub definition: Option<String>,
    /// The JSON names of the properties on the way, through arrays and maps.
    pub steps: Vec<String>,
}

impl FromStr for FieldPath {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let (definition, path) = match text.split_once(':') {
            Some((definition, path)) => (Some(definition.to_owned()), path),
            None => (None, text),
        };
        let steps = path.strip_prefix('.').unwrap_or(path).split('.');
        let steps: Vec<String> = steps
            .map(|step| step.trim_end_matches("[]").trim_end_matches("{}").to_owned())
            .collect();
        let is_own = |step: &String| !["apiVersion", "kind", "metadata"].contains(&step.as_str());
        match steps.iter().all(|step| !step.is_empty()) && steps.first().is_some_and(is_own) {
            true => Ok(Self { definition, steps }),
            false => Err(OptionError {
                problem: format!("`{text}` is no path of a field below `spec`, `status` or another property"),
                example: "`spec.template`, `spec.parts[].name` or `foos.example.com:spec.template`",
            }),
        }
    }
}

impl std::fmt::Display for FieldPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(definition) = &self.definition {
            write!(f, "{definition}:")?;
        }
        f.write_str(&self.steps.join("."))
    }
}

/// An index by a field: `owner=spec.owner`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexBy {
    /// Its name, in snake case: the accessor is `by_` and the name.
    pub name: String,
    /// The field.
    pub field: FieldPath,
}

impl FromStr for IndexBy {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let bad = || OptionError {
            problem: format!("`{text}` is no index"),
            example: "`owner=spec.owner` or `foos.example.com:owner=spec.owner`, with a name in snake case",
        };
        let (left, path) = text.split_once('=').ok_or_else(bad)?;
        let (definition, name) = match left.split_once(':') {
            Some((definition, name)) => (Some(definition.to_owned()), name),
            None => (None, left),
        };
        let is_snake = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if name.is_empty() || !name.bytes().all(is_snake) {
            return Err(bad());
        }
        let mut field: FieldPath = path.parse()?;
        field.definition = definition.or(field.definition);
        Ok(Self {
            name: name.to_owned(),
            field,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_parsed_or_rejected_with_an_example() {
        let path = |text: &str| text.parse::<FieldPath>().map(|path| path.to_string());
        assert_eq!(path(".spec.parts[].name").as_deref(), Ok("spec.parts.name"));
        assert_eq!(path("foos.a.b:spec.x").as_deref(), Ok("foos.a.b:spec.x"));
        for bad in ["", "metadata.labels", "spec..x", "kind"] {
            let error = path(bad).expect_err(bad);
            assert!(error.to_string().contains("spec.template"), "{error}");
        }
        let index: IndexBy = "foos.a.b:owner=spec.owner".parse().expect("it is valid");
        assert_eq!(
            (index.name.as_str(), index.field.to_string().as_str()),
            ("owner", "foos.a.b:spec.owner")
        );
        for bad in ["owner", "Owner=spec.owner", "=spec.owner", "owner=metadata.name"] {
            bad.parse::<IndexBy>().expect_err(bad);
        }
        let derive: Derive = "@enum=Copy".parse().expect("it is valid");
        assert_eq!((derive.path.as_str(), derive.on), ("Copy", DeriveOn::Enums));
        for bad in ["", "a b", "@union=Eq", "Foo=1"] {
            bad.parse::<Derive>().expect_err(bad);
        }
    }
}
