//! Which look-ups a kind allows, by its scope.

use kube::core::{ClusterResourceScope, DynamicResourceScope, NamespaceResourceScope};

/// The scopes whose objects may be in namespaces.
#[diagnostic::on_unimplemented(
    message = "objects of this kind are cluster-scoped: they are in no namespace",
    label = "there is no namespace to read",
    note = "read them by name, with `lister.get(name)`, or all of them, with `lister.list(&selector)`"
)]
pub trait HasNamespaces {}

impl HasNamespaces for NamespaceResourceScope {}
impl HasNamespaces for DynamicResourceScope {}

/// The scopes whose objects may have a name and no namespace.
#[diagnostic::on_unimplemented(
    message = "objects of this kind are in namespaces: a name alone does not identify one",
    label = "the namespace is missing",
    note = "name the namespace first: `lister.namespace(namespace).get(name)`, or use `lister.get_key(&key)`"
)]
pub trait HasNamesAlone {}

impl HasNamesAlone for ClusterResourceScope {}
impl HasNamesAlone for DynamicResourceScope {}
