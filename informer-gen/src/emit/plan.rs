//! The rows of the table as generated code wants them: groups of versions of kinds, every name decided and
//! unique.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proc_macro2::TokenStream;
use quote::quote;

use super::EmitError;
use super::about::about;
use super::gate::Gate;
use crate::inventory::{Resource, Scope, Watchable};
use crate::names;

/// One group: a module, a feature of the same name, and an accessor of the factory.
pub(super) struct Group<'a> {
    /// The folder in k8s-openapi, and the factory's method that leads here: `core`, `apps`, `rbac`.
    pub(super) module: String,
    /// What holds the accessors of versions: `Core`.
    pub(super) type_name: String,
    /// What the group is about.
    pub(super) about: &'static str,
    pub(super) gate: Gate,
    pub(super) versions: Vec<Version<'a>>,
}

/// One version of a group: an inline module.
pub(super) struct Version<'a> {
    pub(super) module: String,
    /// What holds the accessors of kinds: `V1`.
    pub(super) type_name: String,
    /// `v1` in the core group, `apps/v1` elsewhere.
    pub(super) api_version: String,
    /// The module of the types in k8s-openapi: `api::core::v1`.
    pub(super) types: String,
    pub(super) gate: Gate,
    pub(super) kinds: Vec<Kind<'a>>,
    /// Kinds that cannot be watched.
    pub(super) list_only: Vec<&'a Resource>,
}

/// One kind with an informer.
pub(super) struct Kind<'a> {
    pub(super) row: &'a Resource,
    pub(super) accessor: String,
    pub(super) gate: Gate,
}

impl Group<'_> {
    /// How users call the group in a sentence.
    pub(super) fn title(&self) -> String {
        format!("The {} group", self.module)
    }

    /// What the group's module and accessor stand under: its feature, and the releases that have it.
    pub(super) fn attribute(&self) -> TokenStream {
        let feature = &self.module;
        match self.gate.condition() {
            None => quote!(#[cfg(feature = #feature)]),
            Some(condition) => quote!(#[cfg(all(feature = #feature, #condition))]),
        }
    }
}

impl Version<'_> {
    /// What the version is, for documentation: its name, and the releases that have it if not all do.
    pub(super) fn title(&self) -> String {
        match self.gate.words() {
            None => format!("`{}`", self.api_version),
            Some(words) => format!("`{}` ({words})", self.api_version),
        }
    }

    /// The kinds, those of other releases included, which rustdoc cannot list.
    pub(super) fn list(&self) -> String {
        let kinds = self.kinds.iter().map(|kind| match kind.gate.words() {
            Some(words) if kind.gate != self.gate => format!("`{}` ({words})", kind.row.kind),
            _ => format!("`{}`", kind.row.kind),
        });
        kinds.collect::<Vec<_>>().join(", ")
    }

    /// A paragraph on each kind that a reader looks for in vain.
    pub(super) fn absent(&self) -> impl Iterator<Item = String> {
        self.list_only.iter().map(|row| {
            format!(
                "There is neither an informer nor a lister of `{}`: the API server computes it for each \
                 request and cannot watch it. List it with `kube::Api` when you need it.",
                row.kind
            )
        })
    }

    /// The module of k8s-openapi, as a path.
    pub(super) fn types_path(&self) -> TokenStream {
        let segments = self.types.split("::").map(ident);
        quote!(k8s_openapi #(:: #segments)*)
    }
}

impl Kind<'_> {
    pub(super) fn is_namespaced(&self) -> bool {
        self.row.scope == Scope::Namespaced
    }

    /// `PodInformer`, `PodLister` and so on.
    pub(super) fn alias(&self, ending: &str) -> proc_macro2::Ident {
        ident(&format!("{}{ending}", self.row.kind))
    }

    /// The type in k8s-openapi, as a link.
    pub(super) fn link(&self) -> String {
        format!("[`{0}`](api::{0})", self.row.kind)
    }

    /// The call that returns the informer.
    pub(super) fn got(&self, group: &Group<'_>, version: &Version<'_>) -> String {
        format!(
            "factory.{}().{}().{}()",
            group.module, version.module, self.accessor
        )
    }

    /// A sentence about the releases that have the kind, if not all do.
    pub(super) fn note(&self) -> String {
        self.gate
            .words()
            .map(|words| format!(" {}.", names::capitalised(&words)))
            .unwrap_or_default()
    }

    fn aliases(&self) -> Vec<String> {
        let mut endings = vec!["Informer", "Lister"];
        if self.is_namespaced() {
            endings.push("NamespaceLister");
        }
        endings
            .into_iter()
            .map(|ending| format!("{}{ending}", self.row.kind))
            .collect()
    }
}

/// A name as a token; [`plan`] has checked that it can be one.
pub(super) fn ident(name: &str) -> proc_macro2::Ident {
    proc_macro2::Ident::new(name, proc_macro2::Span::call_site())
}

/// Decides every name and every condition; an error if a name cannot be made or is taken.
pub(super) fn plan(resources: &[Resource]) -> Result<Vec<Group<'_>>, EmitError> {
    let mut rows: BTreeMap<&str, BTreeMap<&str, Vec<&Resource>>> = BTreeMap::new();
    for resource in resources {
        let (group, _) = modules(resource)?;
        let versions = rows.entry(group).or_default();
        versions.entry(&resource.version).or_default().push(resource);
    }
    rows.into_iter()
        .map(|(module, versions)| group(module, versions))
        .filter(|group| group.as_ref().map_or(true, |group| !group.versions.is_empty()))
        .collect()
}

/// The module of the group and the path of the version's module, from a path that ends in
/// `group::version::Kind`.
fn modules(resource: &Resource) -> Result<(&str, &str), EmitError> {
    let split = || {
        let (types, kind) = resource.path.rsplit_once("::")?;
        let (groups, version) = types.rsplit_once("::")?;
        let group = groups.rsplit("::").next()?;
        let is_known = kind == resource.kind && version == resource.version;
        let is_path = syn::parse_str::<syn::Path>(&resource.path).is_ok();
        (is_known && is_path).then_some((group, types))
    };
    split().ok_or_else(|| EmitError::Path {
        api_version: resource.api_version(),
        kind: resource.kind.clone(),
        path: resource.path.clone(),
    })
}

fn group<'a>(module: &str, versions: BTreeMap<&str, Vec<&'a Resource>>) -> Result<Group<'a>, EmitError> {
    let groups: BTreeSet<&str> = versions
        .values()
        .flatten()
        .map(|row| row.group.as_str())
        .collect();
    if let [one, other, ..] = Vec::from_iter(groups).as_slice() {
        return Err(clash(module, "the API groups", one, other));
    }
    let about = about(module).ok_or_else(|| EmitError::NoWords {
        group: module.to_owned(),
    })?;
    let versions = versions
        .into_iter()
        .map(|(name, rows)| version(module, name, rows))
        .filter(|version| version.as_ref().map_or(true, |version| !version.kinds.is_empty()))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Group {
        module: module.to_owned(),
        type_name: names::type_name(module),
        about,
        gate: Gate::union(versions.iter().map(|version| &version.gate)),
        versions,
    })
}

fn version<'a>(group: &str, name: &str, rows: Vec<&'a Resource>) -> Result<Version<'a>, EmitError> {
    let place = format!("{group}::{name}");
    let mut types = BTreeSet::new();
    let mut kinds = Vec::new();
    let mut list_only = Vec::new();
    for row in rows {
        types.insert(modules(row)?.1);
        match row.watchable {
            Watchable::Yes => kinds.push(kind(row)?),
            Watchable::ListOnly => list_only.push(row),
        }
    }
    let types = Vec::from_iter(types);
    if let [one, other, ..] = types.as_slice() {
        return Err(clash(&place, "the modules of k8s-openapi", one, other));
    }
    check_unique(&place, &kinds)?;
    Ok(Version {
        module: name.to_owned(),
        type_name: names::type_name(name),
        api_version: kinds
            .first()
            .map_or_else(String::new, |kind: &Kind<'_>| kind.row.api_version()),
        types: types.concat(),
        gate: Gate::union(kinds.iter().map(|kind| &kind.gate)),
        kinds,
        list_only,
    })
}

fn kind(row: &Resource) -> Result<Kind<'_>, EmitError> {
    let accessor = names::accessor(&row.kind, &row.plural)
        .filter(|name| syn::parse_str::<syn::Ident>(name).is_ok())
        .ok_or_else(|| EmitError::Accessor {
            api_version: row.api_version(),
            kind: row.kind.clone(),
            plural: row.plural.clone(),
        })?;
    Ok(Kind {
        row,
        accessor,
        gate: Gate::of(row),
    })
}

/// Accessors are methods of one type and aliases are names in one module: neither may be there twice.
fn check_unique(place: &str, kinds: &[Kind<'_>]) -> Result<(), EmitError> {
    let mut owners: HashMap<String, &str> = HashMap::new();
    for kind in kinds {
        for name in kind.aliases().into_iter().chain([kind.accessor.clone()]) {
            if let Some(other) = owners.insert(name.clone(), &kind.row.kind) {
                return Err(clash(
                    place,
                    &format!("`{name}` of the kinds"),
                    other,
                    &kind.row.kind,
                ));
            }
        }
    }
    Ok(())
}

fn clash(place: &str, what: &str, one: &str, other: &str) -> EmitError {
    EmitError::Clash {
        place: place.to_owned(),
        what: what.to_owned(),
        one: one.to_owned(),
        other: other.to_owned(),
    }
}
