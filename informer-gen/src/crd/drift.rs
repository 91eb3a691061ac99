//! The differences between two records, field by field.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::record::{Record, RecordedDefinition, RecordedVersion, presence_name, scope_name};
use crate::crd::shape::{Presence, Shape, ShapeField, variants};

/// One change since the code was generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// The definition: `foos.example.com`.
    pub definition: String,
    /// The version, if the change is in one.
    pub version: Option<String>,
    /// The change.
    pub change: String,
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.version {
            Some(version) => write!(f, "{} {version}: {}", self.definition, self.change),
            None => write!(f, "{}: {}", self.definition, self.change),
        }
    }
}

impl Record {
    /// The changes from this record to `now`, in the order of definitions, versions and fields.
    #[must_use]
    pub fn drift(&self, now: &Self) -> Vec<Drift> {
        let by_name = |record: &Self| -> BTreeMap<String, RecordedDefinition> {
            let definitions = record.definitions.iter();
            definitions
                .map(|definition| (definition.name.clone(), definition.clone()))
                .collect()
        };
        let (before, now) = (by_name(self), by_name(now));
        let mut drift = Vec::new();
        for name in before.keys().chain(now.keys()).collect::<BTreeSet<_>>() {
            let mut add = |version: Option<&str>, change: String| {
                drift.push(Drift {
                    definition: name.clone(),
                    version: version.map(str::to_owned),
                    change,
                });
            };
            match (before.get(name), now.get(name)) {
                (Some(before), Some(now)) => of_definition(before, now, &mut add),
                (Some(_), None) => add(None, "the definition was removed".to_owned()),
                _ => add(None, "the definition is not generated".to_owned()),
            }
        }
        drift
    }
}

fn of_definition(
    before: &RecordedDefinition,
    now: &RecordedDefinition,
    add: &mut impl FnMut(Option<&str>, String),
) {
    if before.kind != now.kind {
        add(None, format!("the kind is {}, it was {}", now.kind, before.kind));
    }
    if before.scope != now.scope {
        let (now, before) = (scope_name(now.scope), scope_name(before.scope));
        add(None, format!("the scope is {now}, it was {before}"));
    }
    let find = |versions: &[RecordedVersion], name: &str| {
        versions
            .iter()
            .find(|version| version.name == name)
            .map(|version| version.shape.clone())
    };
    let names = before
        .versions
        .iter()
        .chain(&now.versions)
        .map(|version| &version.name);
    for name in names.collect::<BTreeSet<_>>() {
        match (find(&before.versions, name), find(&now.versions, name)) {
            (Some(before), Some(now)) => of_shape(&before, &now, &mut |change| add(Some(name), change)),
            (Some(_), None) => add(Some(name), "no longer served".to_owned()),
            _ if before.left_out.contains(name) => {}
            _ => add(Some(name), "served, but not generated".to_owned()),
        }
    }
}

fn of_shape(before: &Shape, now: &Shape, add: &mut impl FnMut(String)) {
    let by_path = |shape: &Shape| -> BTreeMap<String, ShapeField> {
        shape
            .fields
            .iter()
            .map(|field| (field.path.clone(), field.clone()))
            .collect()
    };
    let (before, now) = (by_path(before), by_path(now));
    // If a whole object was added or removed, its fields are not reported.
    let is_in = |path: &str| (before.contains_key(path), now.contains_key(path));
    let is_told =
        |path: &str| is_in(path) != (true, true) && above(path).any(|above| is_in(above) == is_in(path));
    for path in before.keys().chain(now.keys()).collect::<BTreeSet<_>>() {
        if is_told(path) {
            continue;
        }
        match (before.get(path), now.get(path)) {
            (Some(before), Some(now)) => {
                if before.type_ != now.type_ {
                    add(format!("`{path}` is {}, it was {}", now.type_, before.type_));
                    of_variants(before, now, add);
                }
                match (before.presence, now.presence) {
                    (Presence::Required, Presence::Optional) => add(format!("`{path}` is optional now")),
                    (Presence::Optional, Presence::Required) => add(format!("`{path}` is required now")),
                    _ => {}
                }
            }
            (None, Some(now)) => {
                add(format!(
                    "`{path}` was added ({}, {})",
                    now.type_,
                    presence_name(now.presence)
                ));
            }
            _ => add(format!("`{path}` was removed")),
        }
    }
}

/// A variant that keeps its name and has another value would change the meaning of code that compiles.
fn of_variants(before: &ShapeField, now: &ShapeField, add: &mut impl FnMut(String)) {
    let (before, now, path) = (variants(&before.type_), variants(&now.type_), &now.path);
    for (name, before) in before {
        if let Some(now) = now.get(&name).filter(|now| **now != before) {
            add(format!(
                "`{path}`: the variant `{name}` is {now:?}, it was {before:?}"
            ));
        }
    }
}

/// The paths of all parents of a field: `spec` and `spec.b` for `spec.b[]`.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices(['.', '[', '{'])
        .filter_map(|(place, _)| path.get(..place))
}
