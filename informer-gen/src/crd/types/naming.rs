//! The names of types, from their places.
//!
//! A type of one kind has the name of the kind and the path of its shortest place: `FooStatusCondition` for
//! an element of `status.conditions`. A type of several kinds has as few properties of the path as give an
//! unused name: `Container`. A name has at most [`MAX_LENGTH`] characters; a longer one loses properties
//! after the kind. It depends on the places of its own type, and on other types only if they have the same
//! name: then those with shorter paths come first.

use std::collections::{BTreeMap, BTreeSet};

use super::library::{Entry, Home, Library};
use super::model::{Item, Step, Target};
use super::paths;
use crate::names::{is_keyword, schema as names};

/// The most characters of a name.
pub(super) const MAX_LENGTH: usize = 80;

/// The endings of names that a generated tree declares beside the type of a kind.
const ALIASES: [&str; 6] = [
    "Informer",
    "Lister",
    "NamespaceLister",
    "FactoryExt",
    "ListerExt",
    "Indexes",
];

/// Words that say too little to be the whole name of a type of several kinds.
const VAGUE: [&str; 30] = [
    "Arg",
    "Config",
    "Data",
    "Entry",
    "From",
    "Item",
    "Key",
    "Kind",
    "Match",
    "Metadata",
    "Mode",
    "Name",
    "Object",
    "Option",
    "Options",
    "Param",
    "Policy",
    "Ref",
    "Reference",
    "Resource",
    "Rule",
    "Source",
    "Spec",
    "Status",
    "Target",
    "Template",
    "To",
    "Type",
    "Value",
    "Values",
];

/// Gives every type a name.
pub(super) fn name(library: &mut Library<'_>) {
    let mut scopes = Scopes::new(library);
    let (mut shared, mut own): (Vec<usize>, Vec<usize>) = (0..library.entries.len())
        .filter(|entry| {
            library
                .entries
                .get(*entry)
                .is_some_and(|entry| !entry.uses.is_empty())
        })
        .partition(|entry| {
            library
                .entries
                .get(*entry)
                .is_some_and(|entry| entry.home == Home::Shared)
        });
    for entries in [&mut shared, &mut own] {
        let mut named: Vec<(Vec<String>, usize)> = entries
            .iter()
            .filter_map(|position| Some((candidates(library.entries.get(*position)?, library), *position)))
            .collect();
        named.sort_by_cached_key(|(candidates, position)| {
            let entry = library.entries.get(*position);
            let first = entry.and_then(|entry| entry.uses.first());
            let steps = first.map_or(0, |first| first.place.steps.len());
            (
                steps,
                candidates.first().cloned(),
                first.map(|first| first.place.path.clone()),
                *position,
            )
        });
        for (candidates, position) in named {
            if let Some(entry) = library.entries.get_mut(position) {
                entry.name = scopes.give(entry, candidates);
            }
        }
    }
}

/// The name of the kind and of every property.
pub(super) fn full_name(kind: &str, steps: &[Step]) -> String {
    let segments: String = steps.iter().map(segment).collect();
    format!("{kind}{segments}")
}

/// The possible names of a type, the best first. There is at least one.
fn candidates(entry: &Entry, library: &Library<'_>) -> Vec<String> {
    let Some(first) = entry.uses.first() else {
        return Vec::new();
    };
    let kind = library
        .modules
        .get(first.module)
        .map_or("", |module| &module.name);
    let steps = first.place.steps.as_slice();
    let mut candidates = Vec::new();
    if entry.home == Home::Shared {
        candidates.extend(common_word(entry).filter(|name| is_clear(name, &entry.item)));
        let tails = (0..steps.len()).rev().filter_map(|start| steps.get(start..));
        let tails = tails.map(|tail| tail.iter().map(segment).collect::<String>());
        candidates.extend(tails.filter(|name| is_clear(name, &entry.item)));
    }
    candidates.push(full_name(kind, steps));
    if let Some((last, before)) = steps.split_last() {
        // `container` and `containers` beside each other.
        candidates.push(full_name(kind, before) + &names::segment(&last.property));
    }
    let shortened = candidates.into_iter().map(|name| match name.len() <= MAX_LENGTH {
        true => name,
        false => shortened(kind, steps),
    });
    shortened.collect()
}

/// The kind and as many of the last properties as fit.
fn shortened(kind: &str, steps: &[Step]) -> String {
    let tails = (0..steps.len()).filter_map(|start| steps.get(start..));
    let mut names = tails.map(|tail| full_name(kind, tail));
    names
        .find(|name| name.len() <= MAX_LENGTH)
        .unwrap_or_else(|| cut(&full_name(kind, steps), MAX_LENGTH).to_owned())
}

/// At most the first `length` bytes.
fn cut(name: &str, length: usize) -> &str {
    let end = (0..=length.min(name.len()))
        .rev()
        .find(|end| name.is_char_boundary(*end));
    name.get(..end.unwrap_or(0)).unwrap_or(name)
}

fn segment(step: &Step) -> String {
    let segment = names::segment(&step.property);
    match step.target {
        Target::Value => segment,
        Target::Element => names::singular(&segment),
    }
}

/// The words in which the properties of all places end, if they differ: `Probe` for `livenessProbe` and
/// `readinessProbe`.
fn common_word(entry: &Entry) -> Option<String> {
    let last = entry.uses.iter().filter_map(|one| one.place.steps.last());
    let segments: BTreeSet<String> = last.map(segment).collect();
    let mut words = segments.iter().map(|segment| names::segment_words(segment));
    let mut common = words.next().filter(|_| segments.len() > 1)?;
    for words in words {
        let equal = common.iter().rev().zip(words.iter().rev());
        let equal = equal.take_while(|(one, other)| one == other).count();
        common.drain(..common.len() - equal);
    }
    Some(common.concat()).filter(|name| name.len() > 3)
}

/// Whether a name says enough: two words, or one that is not vague. An enum needs two.
fn is_clear(name: &str, item: &Item) -> bool {
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic()) && !is_keyword(name);
    let has_words = names::segment_words(name).len() > 1;
    is_name && (has_words || (matches!(item, Item::Struct(_)) && !VAGUE.contains(&name)))
}

/// The names in use in each module.
struct Scopes {
    modules: Vec<BTreeSet<String>>,
    shared: BTreeSet<String>,
    /// The last number given to a name, so that many equal names take few steps.
    numbers: BTreeMap<String, u64>,
}

impl Scopes {
    fn new(library: &Library<'_>) -> Self {
        let scope = |name: &String| {
            let aliases = ALIASES.iter().map(|alias| format!("{name}{alias}"));
            aliases.chain([name.clone()]).collect()
        };
        Self {
            modules: library.modules.iter().map(|module| scope(&module.name)).collect(),
            shared: paths::imported_names().map(str::to_owned).collect(),
            numbers: BTreeMap::new(),
        }
    }

    /// The first of the names that is free wherever the type is used, or the last one with a number.
    fn give(&mut self, entry: &Entry, candidates: Vec<String>) -> String {
        let users: BTreeSet<usize> = entry.uses.iter().map(|one| one.module).collect();
        let is_free = |scopes: &Self, name: &String| {
            let is_shared = entry.home == Home::Shared && scopes.shared.contains(name);
            let mut modules = users.iter().filter_map(|user| scopes.modules.get(*user));
            !is_shared && modules.all(|module| !module.contains(name))
        };
        let best = candidates.first().cloned().unwrap_or_default();
        let free = candidates.into_iter().find(|name| is_free(self, name));
        let name = free.unwrap_or_else(|| {
            loop {
                let number = self.numbers.entry(best.clone()).or_insert(1);
                *number += 1;
                let number = number.to_string();
                let name = format!("{}{number}", cut(&best, MAX_LENGTH - number.len()));
                if is_free(self, &name) {
                    break name;
                }
            }
        });
        for user in &users {
            if let Some(module) = self.modules.get_mut(*user) {
                module.insert(name.clone());
            }
        }
        if entry.home == Home::Shared {
            self.shared.insert(name.clone());
        }
        name
    }
}
