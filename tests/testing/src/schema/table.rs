//! The schemas of built-in kinds, read once from the checked-in table.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use super::{
    FREE, Granularity, ListKey, ListRule, OPAQUE, Origin, Others, PLAIN, Schema, Strategy, Type, TypeId, Zero,
};

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::parse(include_str!("table.txt")));

pub(super) fn find(api_version: &str, kind: &str) -> Option<Schema> {
    let group = |version: &str| version.split_once('/').map(|(group, _)| group.to_owned());
    let exact = TABLE.kinds.get(&(api_version, kind));
    // For a version of another release, use the version that this release has: they are similar enough.
    let similar = |version: &str, other: &str| other == kind && group(version) == group(api_version);
    let other = || {
        TABLE
            .kinds
            .iter()
            .find(|((version, other), _)| similar(version, other))
            .map(|(_, root)| root)
    };
    let root = *exact.or_else(other)?;
    Some(Schema {
        types: Arc::clone(&TABLE.types),
        root,
        origin: Origin::BuiltIn,
    })
}

/// Returns the types of `ObjectMeta`, the base of a custom kind's schema, and its position among them.
pub(super) fn object_meta() -> (Vec<Type>, TypeId) {
    static OBJECT_META: LazyLock<(Vec<Type>, TypeId)> = LazyLock::new(|| {
        let mut copies = Copies {
            types: Type::common(),
            places: HashMap::new(),
        };
        let root = copies.add(TABLE.object_meta);
        (copies.types, root)
    });
    OBJECT_META.clone()
}

/// A part of the table under construction.
struct Copies {
    types: Vec<Type>,
    places: HashMap<TypeId, TypeId>,
}

impl Copies {
    /// Copies a type and all types below it, once.
    fn add(&mut self, id: TypeId) -> TypeId {
        if id <= OPAQUE {
            return id;
        }
        if let Some(place) = self.places.get(&id) {
            return *place;
        }
        let place = self.types.len();
        self.places.insert(id, place);
        self.types.push(Type::plain());
        let mut copy = TABLE.types[id].clone();
        for field in copy.fields.values_mut() {
            *field = self.add(*field);
        }
        if let Others::Entries(entry) = copy.others {
            copy.others = Others::Entries(self.add(entry));
        }
        copy.item = self.add(copy.item);
        self.types[place] = copy;
        place
    }
}

struct Table {
    types: Arc<Vec<Type>>,
    kinds: BTreeMap<(&'static str, &'static str), TypeId>,
    object_meta: TypeId,
}

impl Table {
    fn parse(text: &'static str) -> Table {
        let lines = || {
            text.lines()
                .filter(|line| !line.is_empty() && !line.starts_with('#'))
        };
        let mut types = Type::common();
        let mut names = HashMap::new();
        let mut kinds = BTreeMap::new();
        // Types refer to each other in any order, so all positions are assigned first.
        for header in lines().filter(|line| !line.starts_with(' ')) {
            let words: Vec<&str> = header.split(' ').collect();
            let id = types.len();
            names.insert(words[0], id);
            if let [_, "is", api_version, kind, ..] = words[..] {
                kinds.insert((api_version, kind), id);
            }
            let mut kind = Type::plain();
            if words.last() == Some(&"atomic") {
                kind.object = Granularity::Atomic;
            }
            types.push(kind);
        }
        let mut owner = PLAIN;
        let mut adjusted = Vec::new();
        for line in lines() {
            let Some(field) = line.strip_prefix("  ") else {
                owner = names[first_word(line).0];
                continue;
            };
            let (name, rest) = first_word(field);
            let (shape, rest) = first_word(rest);
            let (target, rules) = first_word(rest);
            let (rules, is_value) = match rules.strip_suffix("value") {
                Some(rules) => (rules.trim_end(), true),
                None => (rules, false),
            };
            if is_value {
                let zero = if shape == "list" { Zero::Null } else { Zero::Object };
                types[owner].values.push((name.to_owned(), zero));
            }
            let target = if target == "-" {
                PLAIN
            } else {
                names.get(target).copied().unwrap_or(PLAIN)
            };
            let kind = match shape {
                "struct" if rules.is_empty() => {
                    types[owner].fields.insert(name.to_owned(), target);
                    continue;
                }
                "struct" => {
                    adjusted.push((owner, name, target, rules));
                    continue;
                }
                "map" => Type {
                    others: Others::Entries(target),
                    ..Type::plain()
                },
                "list" => Type {
                    item: target,
                    ..Type::plain()
                },
                "any" => types[if rest == "atomic" { OPAQUE } else { FREE }].clone(),
                other => unreachable!("the table has no shape {other}"),
            };
            add_field(&mut types, owner, name, kind, rules);
        }
        // A struct with special rules for a field is a copy of its type, so that type must be complete.
        for (owner, name, target, rules) in adjusted {
            let kind = types[target].clone();
            add_field(&mut types, owner, name, kind, rules);
        }
        let object_meta = names["meta.v1.ObjectMeta"];
        Table {
            types: Arc::new(types),
            kinds,
            object_meta,
        }
    }
}

fn first_word(text: &'static str) -> (&'static str, &'static str) {
    text.split_once(' ').unwrap_or((text, ""))
}

/// Adds a field of type `kind` with the rules that the table lists after it.
fn add_field(types: &mut Vec<Type>, owner: TypeId, name: &str, mut kind: Type, rules: &str) {
    let mut words = rules.split_terminator(' ');
    while let Some(word) = words.next() {
        match word {
            "atomic" => kind.object = Granularity::Atomic,
            "granular" => kind.object = Granularity::Granular,
            "set" => kind.list = ListRule::Set,
            "keys" => {
                let keys = words.next().expect("`keys` is followed by names");
                kind.list = ListRule::Keyed(keys.split(',').map(parse_key).collect());
            }
            "merge" => {
                kind.strategy = match words.next() {
                    Some(key) => Strategy::MergeBy(key.to_owned()),
                    None => Strategy::MergeScalars,
                }
            }
            "replace" => kind.strategy = Strategy::Replace,
            other => unreachable!("the table has no word {other}"),
        }
    }
    let id = types.len();
    types.push(kind);
    types[owner].fields.insert(name.to_owned(), id);
}

fn parse_key(text: &str) -> ListKey {
    match text.split_once('=') {
        Some((name, default)) => ListKey {
            name: name.to_owned(),
            default: Some(default.to_owned()),
        },
        None => ListKey {
            name: text.to_owned(),
            default: None,
        },
    }
}
