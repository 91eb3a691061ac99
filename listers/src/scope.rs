//! The lookups that a kind allows, by its scope.

use kube::core::{ClusterResourceScope, DynamicResourceScope, NamespaceResourceScope};

/// A scope whose objects may be in namespaces.
#[diagnostic::on_unimplemented(
    message = "objects of this kind are cluster-scoped: they have no namespace",
    label = "this kind has no namespaces",
    note = "use `lister.get(name)` for one object, or `lister.list(&selector)` for all"
)]
pub trait HasNamespaces {}

impl HasNamespaces for NamespaceResourceScope {}
impl HasNamespaces for DynamicResourceScope {}

/// A scope whose objects may have no namespace.
#[diagnostic::on_unimplemented(
    message = "objects of this kind are namespaced: a name alone does not identify one",
    label = "the namespace is missing",
    note = "use `lister.namespace(namespace).get(name)` or `lister.get_key(&key)`"
)]
pub trait HasNamesAlone {}

impl HasNamesAlone for ClusterResourceScope {}
impl HasNamesAlone for DynamicResourceScope {}
