//! The plan of a tree: groups, versions and kinds, with unique names for all.

use std::collections::{BTreeMap, HashMap};

use super::{TreeError, TreeOptions, Types};
use crate::crd::definition::{self, Definition, Scope};
use crate::crd::read::Found;
use crate::crd::types::library::{Address, Library, Source};
use crate::crd::types::reuse::Conditions;
use crate::crd::types::{model, type_name};
use crate::names::{self, tree as tree_names};

/// All groups, and the types of their kinds.
pub(super) struct Plan<'a> {
    pub(super) groups: Vec<Group<'a>>,
    pub(super) library: Library<'a>,
}

/// One group: a module, and an accessor of the factory.
pub(super) struct Group<'a> {
    /// `example.com`.
    pub(super) name: &'a str,
    /// `example_com`, also the accessor.
    pub(super) module: String,
    /// `ExampleCom`.
    pub(super) type_name: String,
    pub(super) versions: Vec<Version<'a>>,
}

/// One version of a group: a module, and an accessor of the group.
pub(super) struct Version<'a> {
    /// `example.com/v1`.
    pub(super) api_version: String,
    /// `v1`, also the accessor.
    pub(super) module: String,
    /// `V1`.
    pub(super) type_name: String,
    pub(super) kinds: Vec<Kind<'a>>,
}

/// One kind in one version.
pub(super) struct Kind<'a> {
    pub(super) definition: &'a Definition,
    /// The name of its type, and the prefix of its aliases.
    pub(super) type_name: String,
    /// The module of its types.
    pub(super) module: String,
    /// `foos`.
    pub(super) accessor: String,
    pub(super) types: KindTypes,
}

/// The origin of a kind's types.
pub(super) enum KindTypes {
    /// The position in the library.
    Generated(usize),
    /// The path of the type.
    Existing(String),
}

impl Kind<'_> {
    pub(super) fn is_namespaced(&self) -> bool {
        self.definition.scope == Scope::Namespaced
    }

    /// `FooInformer`, `FooLister` and so on.
    pub(super) fn alias(&self, ending: &str) -> String {
        format!("{}{ending}", self.type_name)
    }

    /// The name of the type in the module of the aliases.
    pub(super) fn path(&self) -> &str {
        match &self.types {
            KindTypes::Generated(_) => &self.type_name,
            KindTypes::Existing(path) => path,
        }
    }

    /// All names that are declared in the module of the version.
    fn names(&self) -> Vec<String> {
        let mut names = vec![self.alias("Informer"), self.alias("Lister")];
        if self.is_namespaced() {
            names.extend([self.alias("NamespaceLister"), self.alias("ListerExt")]);
        }
        if let KindTypes::Generated(_) = self.types {
            names.extend([self.type_name.clone(), self.module.clone()]);
        }
        names
    }
}

/// Decides all names and generates the types.
pub(super) fn plan<'a>(found: &'a [Found], options: &TreeOptions) -> Result<Plan<'a>, TreeError> {
    let mut sources = Vec::new();
    let mut groups: BTreeMap<&str, BTreeMap<&str, Vec<Kind<'a>>>> = BTreeMap::new();
    for one in found {
        let definition = &one.definition;
        let mut served = definition
            .versions
            .iter()
            .filter(|version| version.served)
            .peekable();
        if served.peek().is_none() {
            return Err(TreeError::NoServedVersion {
                place: Box::new(one.place.clone()),
                name: definition.name(),
            });
        }
        for version in served {
            let versions = groups.entry(&definition.group).or_default();
            let kinds = versions.entry(&version.name).or_default();
            kinds.push(kind(one, version, options, &mut sources)?);
        }
    }
    let groups: Vec<Group<'a>> = groups
        .into_iter()
        .map(|(name, versions)| group(name, versions))
        .collect::<Result<_, _>>()?;
    check_existing(&groups)?;
    let mut owners = Owners::new("the module of a group");
    owners.claim("prelude", "the prelude")?;
    owners.claim("lib", "the root of the crate")?;
    owners.claim("shared", "the types of several kinds")?;
    for group in &groups {
        owners.claim(&group.module, &format!("the group {}", group.name))?;
    }
    let library = Library::new(sources, options.docs, &options.reuse)?;
    Ok(Plan { groups, library })
}

/// An existing type belongs to one version. With another version's accessor it would watch the wrong one.
fn check_existing(groups: &[Group<'_>]) -> Result<(), TreeError> {
    let mut owners: HashMap<&str, String> = HashMap::new();
    for version in groups.iter().flat_map(|group| &group.versions) {
        for kind in &version.kinds {
            let KindTypes::Existing(path) = &kind.types else {
                continue;
            };
            let owner = format!("{} {}", version.api_version, kind.definition.kind);
            if let Some(one) = owners.insert(path, owner.clone()) {
                return Err(TreeError::SharedType {
                    path: path.clone(),
                    one,
                    other: owner,
                });
            }
        }
    }
    Ok(())
}

fn group<'a>(name: &'a str, versions: BTreeMap<&str, Vec<Kind<'a>>>) -> Result<Group<'a>, TreeError> {
    let module = tree_names::group_module(name);
    let type_name = names::type_name(&module);
    let versions: Vec<Version<'a>> = versions
        .into_iter()
        .map(|(version, kinds)| self::version(name, version, kinds))
        .collect::<Result<_, _>>()?;
    let mut owners = Owners::new("the module of a version");
    for version in &versions {
        owners.claim(&version.module, &version.api_version)?;
    }
    Ok(Group {
        name,
        module,
        type_name,
        versions,
    })
}

fn version<'a>(group: &str, name: &str, kinds: Vec<Kind<'a>>) -> Result<Version<'a>, TreeError> {
    let module = tree_names::module(name);
    let type_name = names::type_name(&module);
    let api_version = format!("{group}/{name}");
    let mut accessors = Owners::new("an accessor");
    let mut items = Owners::new("a type or module");
    items.claim(&type_name, &api_version)?;
    for kind in &kinds {
        let owner = format!("{api_version} {}", kind.definition.kind);
        accessors.claim(&kind.accessor, &owner)?;
        if kind.path() == type_name {
            return Err(TreeError::KindOfVersion {
                name: kind.definition.name(),
                kind: kind.definition.kind.clone(),
            });
        }
        for name in kind.names() {
            items.claim(&name, &owner)?;
        }
    }
    Ok(Version {
        api_version,
        module,
        type_name,
        kinds,
    })
}

fn kind<'a>(
    found: &'a Found,
    version: &'a definition::Version,
    options: &TreeOptions,
    sources: &mut Vec<Source<'a>>,
) -> Result<Kind<'a>, TreeError> {
    let definition = &found.definition;
    let type_name = type_name(&definition.kind).ok_or_else(|| TreeError::KindName {
        place: Box::new(found.place.clone()),
        name: definition.name(),
        kind: definition.kind.clone(),
    })?;
    let module = tree_names::kind_module(&definition.kind, &type_name);
    let types = match &options.types {
        Types::Generated => {
            let conditions = options.reuse.conditions();
            sources.push(source(found, version, module.clone(), conditions)?);
            KindTypes::Generated(sources.len() - 1)
        }
        Types::Existing(path) => KindTypes::Existing(existing(path, definition, version, &type_name)?),
    };
    Ok(Kind {
        definition,
        module,
        accessor: tree_names::accessor(&definition.kind, &definition.plural),
        type_name,
        types,
    })
}

fn source<'a>(
    found: &'a Found,
    version: &'a definition::Version,
    kind: String,
    conditions: Conditions,
) -> Result<Source<'a>, TreeError> {
    let definition = &found.definition;
    let model = model(definition, version, conditions).map_err(|problem| TreeError::Schema {
        place: Box::new(found.place.clone()),
        problem,
    })?;
    let address = Address {
        group: tree_names::group_module(&definition.group),
        version: tree_names::module(&version.name),
        kind,
    };
    Ok(Source {
        definition,
        version,
        address,
        model,
    })
}

/// The path of an existing type.
fn existing(
    path: &str,
    definition: &Definition,
    version: &definition::Version,
    type_name: &str,
) -> Result<String, TreeError> {
    let filled = path
        .replace("{group}", &tree_names::group_module(&definition.group))
        .replace("{version}", &tree_names::module(&version.name));
    let module = filled.strip_suffix("::").unwrap_or(&filled);
    match is_module(module) {
        true => Ok(format!("{module}::{type_name}")),
        false => Err(TreeError::TypesPath {
            path: path.to_owned(),
        }),
    }
}

/// Whether a text is the path of a module, and means the same in every module.
fn is_module(path: &str) -> bool {
    let is_name = |name: &str| syn::parse_str::<syn::Ident>(name).is_ok_and(|ident| ident == name);
    let inside = match path.strip_prefix("crate") {
        Some("") => return true,
        Some(inside) if inside.starts_with("::") => inside,
        _ => path,
    };
    inside
        .strip_prefix("::")
        .unwrap_or(inside)
        .split("::")
        .all(is_name)
}

/// The names of one namespace and their owners.
struct Owners {
    what: &'static str,
    owners: HashMap<String, String>,
}

impl Owners {
    fn new(what: &'static str) -> Self {
        Self {
            what,
            owners: HashMap::new(),
        }
    }

    fn claim(&mut self, name: &str, owner: &str) -> Result<(), TreeError> {
        // On case-insensitive file systems only modules matter, and those are lower case.
        match self.owners.insert(name.to_owned(), owner.to_owned()) {
            None => Ok(()),
            Some(other) => Err(TreeError::Clash {
                what: self.what,
                clash: name.to_owned(),
                one: other,
                other: owner.to_owned(),
            }),
        }
    }
}
