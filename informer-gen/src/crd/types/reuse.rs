//! Existing types in place of generated ones that would be equal: those of k8s-openapi, and of
//! `informers::crd`.
//!
//! A type is used only if every object of the schema is read and written unchanged. So all of its fields are
//! `Option`s or `Required`s, which remember that a field is missing, and the fields of the schema have the
//! types that generated code would give them: no `Quantity`, which writes `3` as `"3"`, and no type that
//! contains another field, such as the `key` in a label selector. A field must exist in the chosen release of
//! Kubernetes and in all later ones.
//!
//! The types of k8s-openapi come from the table of [`protobuf`], which has the fields of every release. The
//! few of `informers::crd` are parts of most definitions that k8s-openapi would not write back as read.

use std::collections::BTreeMap;

use super::model::{Basic, Presence, Reused, Step, Struct, Target, Type};
use crate::crd::{Reuse, TreeError};
use crate::inventory::protobuf::{self, Empty, Message, RustType};
use crate::inventory::{NEWEST, Release};
use crate::names::schema as names;

/// The modules of the types: parts of pods and of metadata. Types of other groups would be equal by chance.
const MODULES: [&str; 2] = ["api::core::v1::", "apimachinery::pkg::apis::meta::v1::"];

/// The fewest fields of a type that is recognized by its fields alone. Two fields, such as `name` and
/// `namespace`, may mean anything: then the property must have a word of the type's name.
const CLEAR: usize = 3;

/// The type of conditions, which [`build`](super::build) recognizes.
const CONDITION: &str = "Condition";

/// The types of `informers::crd` other than conditions. All of their fields remember that they were missing.
fn parts() -> [KnownType; 4] {
    let text = || Type::Basic(Basic::String);
    let part = |name, words, fields: Vec<(&'static str, Type)>| KnownType {
        type_: Reused::Informers(name),
        name,
        words,
        fields: fields
            .into_iter()
            .map(|(json, type_)| (json, Some(type_)))
            .collect(),
    };
    let requirement = Type::Reused(Reused::Informers("LabelSelectorRequirement"));
    [
        part(
            "LabelSelectorRequirement",
            &["expression", "field"],
            vec![
                ("key", text()),
                ("operator", text()),
                ("values", Type::Array(Box::new(text()))),
            ],
        ),
        part(
            "LabelSelector",
            &[],
            vec![
                ("matchExpressions", Type::Array(Box::new(requirement))),
                ("matchLabels", Type::Map(Box::new(text()))),
            ],
        ),
        part("LocalObjectReference", &["secret"], vec![("name", text())]),
        part(
            "KeySelector",
            &["secret"],
            vec![
                ("key", text()),
                ("name", text()),
                ("optional", Type::Basic(Basic::Bool)),
            ],
        ),
    ]
}

impl Reuse {
    /// Whether conditions are those of `informers::crd`.
    pub(in crate::crd) fn conditions(&self) -> Conditions {
        match self {
            Self::Types { except, .. } if !except.iter().any(|name| name == CONDITION) => Conditions::Common,
            _ => Conditions::Own,
        }
    }
}

/// The types of conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::crd) enum Conditions {
    /// `informers::crd::Condition`, where nothing is lost.
    Common,
    /// Generated ones.
    Own,
}

/// The types that may be used.
#[derive(Default)]
pub(in crate::crd) struct Known {
    types: Vec<KnownType>,
}

struct KnownType {
    type_: Reused,
    name: &'static str,
    /// The words of a property that mean it, besides those of the name.
    words: &'static [&'static str],
    /// By JSON name; `None` if no generated field has the same type.
    fields: BTreeMap<&'static str, Option<Type>>,
}

impl Known {
    /// The types that the options allow.
    ///
    /// # Errors
    /// If a name to be left out is not the name of such a type.
    pub(in crate::crd) fn new(reuse: &Reuse) -> Result<Self, TreeError> {
        let Reuse::Types { kubernetes, except } = reuse else {
            return Ok(Self::default());
        };
        let messages = &protobuf::builtin().messages;
        let mut types: Vec<KnownType> = messages
            .iter()
            .filter_map(|message| known(message, *kubernetes))
            .chain(parts())
            .collect();
        let is_known = |name: &String| name == CONDITION || types.iter().any(|known| known.name == name);
        if let Some(name) = except.iter().find(|name| !is_known(name)) {
            return Err(TreeError::Own { name: name.clone() });
        }
        types.retain(|known| !except.iter().any(|name| name == known.name));
        Ok(Self { types })
    }

    /// The type for a struct whose fields are resolved, if there is one: with the same fields, or with the
    /// fewest more.
    pub(super) fn find(&self, item: &Struct) -> Option<Type> {
        let is_lenient = |presence: Presence| matches!(presence, Presence::Optional | Presence::Required);
        if item.rest.is_some() || !item.fields.iter().all(|field| is_lenient(field.presence)) {
            return None;
        }
        let has_all = |known: &&KnownType| {
            let mut fields = item.fields.iter();
            fields.all(|field| {
                let known = known.fields.get(field.json.as_str());
                known.is_some_and(|known| known.as_ref() == Some(&field.type_))
            })
        };
        let is_meant = |known: &&KnownType| {
            let is_equal = known.fields.len() == item.fields.len();
            let is_named = is_related(item.place.steps.last(), known);
            match is_equal {
                true => is_named || item.fields.len() >= CLEAR,
                false => {
                    is_named && item.fields.len() >= CLEAR && item.fields.len() * 2 >= known.fields.len()
                }
            }
        };
        let fitting = self.types.iter().filter(has_all).filter(is_meant);
        let is_related = |known: &KnownType| is_related(item.place.steps.last(), known);
        let best = fitting.min_by_key(|known| (known.fields.len(), !is_related(known), known.name));
        best.map(|known| Type::Reused(known.type_))
    }
}

/// The type for a message, if it has nothing but `Option`s since this release.
fn known(message: &'static Message, kubernetes: Release) -> Option<KnownType> {
    let name = MODULES
        .iter()
        .find_map(|module| message.path.strip_prefix(module))?;
    let releases = kubernetes.minor..=NEWEST.minor;
    let is_in_all = |found: &protobuf::Releases| releases.clone().all(|minor| found.contains(&minor));
    if message.empty != Empty::Default || !is_in_all(&message.releases) {
        return None;
    }
    let mut fields = BTreeMap::new();
    let rows = message.fields.iter();
    for row in rows.filter(|row| releases.clone().any(|minor| row.releases.contains(&minor))) {
        let RustType::Option(inner) = &row.rust_type else {
            return None;
        };
        if !row.releases.contains(&kubernetes.minor) {
            continue;
        }
        let type_ = equal_type(inner).filter(|_| is_in_all(&row.releases));
        fields.insert(row.json.as_str(), type_);
    }
    Some(KnownType {
        type_: Reused::Kubernetes(&message.path),
        name,
        words: &[],
        fields,
    })
}

/// The type of a generated field that reads and writes the same values.
fn equal_type(found: &'static RustType) -> Option<Type> {
    match found {
        RustType::Vec(inner) => Some(Type::Array(Box::new(equal_type(inner)?))),
        RustType::Map(inner) => Some(Type::Map(Box::new(equal_type(inner)?))),
        RustType::Option(_) | RustType::Box(_) => None,
        RustType::Scalar(name) => match name.as_str() {
            "String" => Some(Type::Basic(Basic::String)),
            "bool" => Some(Type::Basic(Basic::Bool)),
            "i32" => Some(Type::Basic(Basic::I32)),
            "i64" => Some(Type::Basic(Basic::I64)),
            "ByteString" => Some(Type::Basic(Basic::ByteString)),
            _ => None,
        },
        RustType::Path(path) => match found.special() {
            Some("IntOrString") => Some(Type::Basic(Basic::IntOrString)),
            Some("MicroTime") => Some(Type::Basic(Basic::MicroTime)),
            Some("Time") => Some(Type::Basic(Basic::Time)),
            Some(_) => None,
            None => Some(Type::Reused(Reused::Kubernetes(path))),
        },
    }
}

/// Whether a property has a word of the name of a type, or its abbreviation: `secretRef` and
/// `SecretReference`.
fn is_related(step: Option<&Step>, known: &KnownType) -> bool {
    let Some(step) = step else { return false };
    let segment = names::segment(&step.property);
    let segment = match step.target {
        Target::Value => segment,
        Target::Element => names::singular(&segment),
    };
    let name = names::lower_words(known.name);
    let is_part = |word: &String| {
        let is_in_name = word.len() > 2 && name.iter().any(|other| other.starts_with(word.as_str()));
        is_in_name || known.words.contains(&word.as_str())
    };
    names::lower_words(&segment).iter().any(is_part)
}

#[cfg(test)]
#[path = "reuse_tests.rs"]
mod tests;
