//! Which look-ups a kind allows, by its scope.

use kube::core::{ClusterResourceScope, DynamicResourceScope, NamespaceResourceScope};

/// The scopes whose objects may be in namespaces.
pub trait HasNamespaces {}

impl HasNamespaces for NamespaceResourceScope {}
impl HasNamespaces for DynamicResourceScope {}

/// The scopes whose objects may have a name and no namespace.
pub trait HasNamesAlone {}

impl HasNamesAlone for ClusterResourceScope {}
impl HasNamesAlone for DynamicResourceScope {}
