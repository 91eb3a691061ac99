//! All types of a tree, each once: equal types of all kinds and versions become one.
//!
//! Two types are equal if they read and write the same objects in the same fields. Descriptions and defaults
//! do not count: a type has the descriptions of its first place, and a default only if all places agree.
//! Schemas are finite trees, so no type contains itself and none needs a `Box`.

use std::collections::{BTreeSet, HashMap};

use super::model::{Field, Item, Model, Place, Presence, Struct, Type};
use super::naming;
use super::reuse::Known;
use crate::crd::definition::{Definition, Version};
use crate::crd::{Docs, Reuse, TreeError};

/// The types of all kinds.
pub(in crate::crd) struct Library<'a> {
    pub(super) modules: Vec<Module<'a>>,
    pub(super) entries: Vec<Entry>,
    pub(super) docs: Docs,
}

/// One kind in one version, before its types are shared.
pub(in crate::crd) struct Source<'a> {
    pub(in crate::crd) definition: &'a Definition,
    pub(in crate::crd) version: &'a Version,
    pub(in crate::crd) address: Address,
    pub(in crate::crd) model: Model,
}

/// The modules of a kind: those of its group and version, and its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::crd) struct Address {
    pub(in crate::crd) group: String,
    pub(in crate::crd) version: String,
    pub(in crate::crd) kind: String,
}

/// One kind in one version.
pub(super) struct Module<'a> {
    pub(super) definition: &'a Definition,
    pub(super) version: &'a Version,
    pub(super) address: Address,
    /// The name of the object's type.
    pub(super) name: String,
    pub(super) root: Struct,
}

/// A type, and where it is used.
pub(super) struct Entry {
    pub(super) name: String,
    /// With the descriptions of its first use.
    pub(super) item: Item,
    /// The first one gives the name.
    pub(super) uses: Vec<Use>,
    pub(super) home: Home,
}

/// The module that declares a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// That of a kind in a version, by position.
    Module(usize),
    /// That of the types of several kinds.
    Shared,
}

/// A place of a type.
pub(super) struct Use {
    /// The position of the module.
    pub(super) module: usize,
    pub(super) place: Place,
}

impl<'a> Library<'a> {
    /// Finds equal types, and gives each a module and a name.
    ///
    /// # Errors
    /// See [`Known::new`].
    pub(in crate::crd) fn new(
        sources: Vec<Source<'a>>,
        docs: Docs,
        reuse: &Reuse,
    ) -> Result<Self, TreeError> {
        let mut interner = Interner {
            reused: Known::new(reuse)?,
            ..Interner::default()
        };
        let mut modules = Vec::with_capacity(sources.len());
        for (position, source) in sources.into_iter().enumerate() {
            let Model { name, root, items } = source.model;
            let types = interner.types(&items);
            interner.visit(position, &root.fields, &items, &types);
            let fields = root.fields.into_iter().map(|field| resolved(field, &types));
            modules.push(Module {
                definition: source.definition,
                version: source.version,
                address: source.address,
                name,
                root: Struct {
                    fields: fields.collect(),
                    ..root
                },
            });
        }
        let mut library = Self {
            entries: interner.entries,
            modules,
            docs,
        };
        library.find_homes();
        naming::name(&mut library);
        Ok(library)
    }

    /// The types that a module declares, in the order of its schema, or by name if it belongs to no kind.
    pub(super) fn entries_of(&self, home: Home) -> Vec<&Entry> {
        let is_here = |entry: &&Entry| entry.home == home && !entry.uses.is_empty();
        let mut entries: Vec<&Entry> = self.entries.iter().filter(is_here).collect();
        match home {
            Home::Module(module) => entries.sort_by_cached_key(|entry| {
                let here = entry.uses.iter().filter(|one| one.module == module);
                here.map(|one| one.place.path.clone()).min()
            }),
            Home::Shared => entries.sort_by(|one, other| one.name.cmp(&other.name)),
        }
        entries
    }

    /// The number of types in the module of a kind.
    pub(in crate::crd) fn count(&self, module: usize) -> usize {
        1 + self.entries_of(Home::Module(module)).len()
    }

    /// The number of types of several kinds.
    pub(in crate::crd) fn shared_count(&self) -> usize {
        self.entries_of(Home::Shared).len()
    }

    /// A type of one kind belongs to the newest version that has it, and one of several kinds to none.
    fn find_homes(&mut self) {
        let modules = &self.modules;
        let newest_first = |module: &usize| {
            let name = modules.get(*module).map(|module| module.version.name.as_str());
            (std::cmp::Reverse(release(name.unwrap_or_default())), *module)
        };
        let owner = |module: usize| {
            let address = modules.get(module).map(|module| &module.address);
            address.map(|address| (&address.group, &address.kind))
        };
        for entry in &mut self.entries {
            entry.uses.sort_by_cached_key(|one| {
                let kind = modules.get(one.module).map_or("", |module| &module.name);
                let name = naming::full_name(kind, &one.place.steps);
                (one.place.steps.len(), name.len(), name, newest_first(&one.module))
            });
            let users: BTreeSet<usize> = entry.uses.iter().map(|one| one.module).collect();
            let owners: Vec<_> = users.iter().map(|module| owner(*module)).collect();
            entry.home = match users.iter().min_by_key(|module| newest_first(module)) {
                Some(newest) if owners.windows(2).all(|pair| pair.first() == pair.last()) => {
                    Home::Module(*newest)
                }
                _ => Home::Shared,
            };
        }
    }
}

/// The order of versions in Kubernetes: `v2`, `v1`, `v1beta1`, `v1alpha1`, others.
fn release(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit());
    let (major, stage) = rest.split_at(end.unwrap_or(rest.len()));
    let major = major.parse().ok()?;
    match (stage.strip_prefix("beta"), stage.strip_prefix("alpha")) {
        (Some(minor), _) => Some((1, major, minor.parse().ok()?)),
        (_, Some(minor)) => Some((0, major, minor.parse().ok()?)),
        _ if stage.is_empty() => Some((2, major, 0)),
        _ => None,
    }
}

/// What equal types have in common.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Struct {
        fields: Vec<(String, Presence, Type)>,
        /// The field for unknown properties.
        rest: Option<String>,
    },
    Enum(BTreeSet<String>),
}

#[derive(Default)]
struct Interner {
    reused: Known,
    known: HashMap<Key, usize>,
    entries: Vec<Entry>,
}

impl Interner {
    /// The shared types of the items of a model, by position.
    fn types(&mut self, items: &[Item]) -> Vec<Type> {
        // Items follow the type that contains them, so those that a type contains are known before it.
        let mut types = vec![Type::Item(usize::MAX); items.len()];
        for (position, item) in items.iter().enumerate().rev() {
            let type_ = self.type_of(item.clone(), &types);
            if let Some(place) = types.get_mut(position) {
                *place = type_;
            }
        }
        types
    }

    fn type_of(&mut self, item: Item, types: &[Type]) -> Type {
        let item = match item {
            Item::Struct(item) => Item::Struct(Struct {
                fields: item
                    .fields
                    .into_iter()
                    .map(|field| resolved(field, types))
                    .collect(),
                ..item
            }),
            Item::Enum(item) => Item::Enum(item),
        };
        if let Item::Struct(item) = &item
            && let Some(reused) = self.reused.find(item)
        {
            return reused;
        }
        let next = self.entries.len();
        let found = *self.known.entry(Key::of(&item)).or_insert(next);
        if found == next {
            self.entries.push(Entry {
                name: String::new(),
                item,
                uses: Vec::new(),
                home: Home::Shared,
            });
        }
        Type::Item(found)
    }

    /// Records the places of all types below these fields.
    fn visit(&mut self, module: usize, fields: &[Field], items: &[Item], types: &[Type]) {
        for position in fields.iter().filter_map(|field| field.type_.item()) {
            let (Some(item), Some(Type::Item(found))) = (items.get(position), types.get(position)) else {
                continue;
            };
            if let Some(entry) = self.entries.get_mut(*found) {
                entry.add(module, item);
            }
            self.visit(module, item.fields(), items, types);
        }
    }
}

impl Key {
    fn of(item: &Item) -> Self {
        match item {
            Item::Struct(item) => {
                let fields = item.fields.iter();
                Self::Struct {
                    fields: fields
                        .map(|field| (field.json.clone(), field.presence, field.type_.clone()))
                        .collect(),
                    rest: item.rest.clone(),
                }
            }
            Item::Enum(item) => Self::Enum(item.variants.iter().map(|one| one.value.clone()).collect()),
        }
    }
}

impl Entry {
    /// Adds a place. The first place gives the descriptions; a default must be the same everywhere.
    fn add(&mut self, module: usize, item: &Item) {
        let is_first = self.uses.iter().all(|one| {
            let steps = |place: &Place| (place.steps.len(), place.path.clone());
            steps(item.place()) < steps(&one.place)
        });
        match (&mut self.item, item) {
            (Item::Struct(mine), Item::Struct(item)) => {
                for (mine, field) in mine.fields.iter_mut().zip(&item.fields) {
                    if is_first {
                        mine.description.clone_from(&field.description);
                    }
                    if mine.default != field.default {
                        mine.default = None;
                    }
                }
            }
            (Item::Enum(mine), Item::Enum(item)) if is_first => mine.variants.clone_from(&item.variants),
            _ => {}
        }
        self.uses.push(Use {
            module,
            place: item.place().clone(),
        });
    }
}

/// The field with the shared types.
fn resolved(field: Field, types: &[Type]) -> Field {
    Field {
        type_: field.type_.resolved(types),
        ..field
    }
}

impl Type {
    /// The position of the item that it is, or contains in an array or map.
    fn item(&self) -> Option<usize> {
        match self {
            Self::Item(position) => Some(*position),
            Self::Array(inner) | Self::Map(inner) | Self::Nullable(inner) => inner.item(),
            Self::Basic(_) | Self::Reused(_) => None,
        }
    }

    /// The type with the item replaced.
    fn resolved(self, types: &[Self]) -> Self {
        let inside = |inner: Box<Self>| Box::new(inner.resolved(types));
        match self {
            Self::Item(position) => types.get(position).cloned().unwrap_or(Self::Item(position)),
            Self::Array(inner) => Self::Array(inside(inner)),
            Self::Map(inner) => Self::Map(inside(inner)),
            Self::Nullable(inner) => Self::Nullable(inside(inner)),
            Self::Basic(_) | Self::Reused(_) => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_the_order_of_kubernetes() {
        let mut versions = ["v1alpha1", "v1", "v2beta1", "v10", "v1beta2", "2024"];
        versions.sort_by_key(|version| std::cmp::Reverse(release(version)));
        assert_eq!(versions, ["v10", "v1", "v2beta1", "v1beta2", "v1alpha1", "2024"]);
    }
}
