//! The resource version of each scope of the store.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::key::ObjectKey;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;

/// The resource version of each scope that the store's informer covers; cheap to clone.
///
/// A scope without a version has not been listed yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versions(Arc<BTreeMap<Scope, Option<ResourceVersion>>>);

/// Whether a store has reached a version ([`Versions::is_at_least`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Every scope is at that version or past it.
    Reached,
    /// A scope is known to be behind it, or was not listed yet.
    Behind,
    /// No scope is known to be behind, but the version of at least one cannot be compared.
    Unknown,
}

/// The effect of a new version on a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionChange {
    /// The scope has the new version now.
    Moved,
    /// The scope already had that version.
    Same,
    /// The new version is older than the scope's current one, which stays.
    Refused,
}

impl Versions {
    /// The version of one scope; `None` if it was not listed yet or is not part of this store.
    pub fn get(&self, scope: &Scope) -> Option<&ResourceVersion> {
        self.0.get(scope)?.as_ref()
    }

    /// The version of the scope that a key belongs to.
    pub fn of_key(&self, key: &ObjectKey) -> Option<&ResourceVersion> {
        self.get(&self.scope_of(key)?)
    }

    /// The scope of this store that a key belongs to, if any.
    pub fn scope_of(&self, key: &ObjectKey) -> Option<Scope> {
        // A store has either the scope of all namespaces only, or one scope per namespace.
        if self.0.contains_key(&Scope::All) {
            return Some(Scope::All);
        }
        let own = Scope::Namespace(key.namespace_arc()?.clone());
        self.0.contains_key(&own).then_some(own)
    }

    /// Every scope with its version, if it has one, ordered by scope.
    pub fn iter(&self) -> impl Iterator<Item = (&Scope, Option<&ResourceVersion>)> {
        self.0.iter().map(|(scope, version)| (scope, version.as_ref()))
    }

    /// The number of scopes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no scope was added yet.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The version of the only scope. With several scopes, their version if it is the same in all.
    pub fn common(&self) -> Option<&ResourceVersion> {
        let mut versions = self.0.values();
        let first = versions.next()?.as_ref()?;
        versions
            .all(|version| version.as_ref() == Some(first))
            .then_some(first)
    }

    /// Whether every scope has reached `version`. This is the condition that a wait for it checks.
    ///
    /// ```
    /// use informer_core::store::{Progress, Versions};
    /// use informer_core::ResourceVersion;
    ///
    /// let nothing_yet = Versions::default();
    /// assert_eq!(nothing_yet.is_at_least(&ResourceVersion::new("1")), Progress::Behind);
    /// ```
    pub fn is_at_least(&self, version: &ResourceVersion) -> Progress {
        let behind = |own: &Option<ResourceVersion>| match own {
            Some(own) => own.is_older_than(version),
            None => true,
        };
        let reached =
            |own: &Option<ResourceVersion>| own.as_ref().is_some_and(|own| own.is_at_least(version));
        if self.0.is_empty() || self.0.values().any(behind) {
            Progress::Behind
        } else if self.0.values().all(reached) {
            Progress::Reached
        } else {
            Progress::Unknown
        }
    }

    /// Whether the objects of a namespace belong to a scope of this store. A store without an informer has
    /// no scopes, and covers every namespace.
    pub fn cover(&self, namespace: &str) -> bool {
        self.0.is_empty()
            || self.0.contains_key(&Scope::All)
            || self.0.contains_key(&Scope::of(Some(namespace)))
    }

    /// Adds a scope that has no version yet.
    pub(super) fn announce(&mut self, scope: &Scope) {
        if !self.0.contains_key(scope) {
            Arc::make_mut(&mut self.0).insert(scope.clone(), None);
        }
    }

    /// Removes a scope.
    pub(super) fn forget(&mut self, scope: &Scope) {
        Arc::make_mut(&mut self.0).remove(scope);
    }

    /// Moves a scope forward. If the two versions cannot be ordered, accepts the new one.
    pub(super) fn advance(&mut self, scope: &Scope, version: ResourceVersion) -> VersionChange {
        if let Some(own) = self.get(scope) {
            if *own == version {
                return VersionChange::Same;
            }
            if version.is_older_than(own) {
                return VersionChange::Refused;
            }
        }
        self.rewind(scope, version);
        VersionChange::Moved
    }

    /// Sets a scope to any version, also to an older one.
    pub(super) fn rewind(&mut self, scope: &Scope, version: ResourceVersion) {
        Arc::make_mut(&mut self.0).insert(scope.clone(), Some(version));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(of: &[(&str, &str)]) -> Versions {
        let mut versions = Versions::default();
        for (namespace, version) in of {
            let scope = Scope::of(Some(namespace));
            versions.announce(&scope);
            if !version.is_empty() {
                versions.advance(&scope, ResourceVersion::new(version));
            }
        }
        versions
    }

    #[test]
    fn a_version_is_reached_when_every_scope_has_reached_it() {
        let check = |of: &[(&str, &str)], expected| {
            assert_eq!(
                versions(of).is_at_least(&ResourceVersion::new("10")),
                expected,
                "{of:?}"
            );
        };
        check(&[], Progress::Behind);
        check(&[("a", "")], Progress::Behind);
        check(&[("a", "10")], Progress::Reached);
        check(&[("a", "11"), ("b", "9")], Progress::Behind);
        check(&[("a", "11"), ("b", "")], Progress::Behind);
        check(&[("a", "11"), ("b", "10")], Progress::Reached);
        check(&[("a", "11"), ("b", "opaque")], Progress::Unknown);
        check(&[("a", "9"), ("b", "opaque")], Progress::Behind);
    }

    #[test]
    fn a_key_belongs_to_the_scope_of_its_namespace_or_to_all() {
        let several = versions(&[("a", "5"), ("b", "6")]);
        let mut all = Versions::default();
        all.advance(&Scope::All, ResourceVersion::new("7"));
        let check = |versions: &Versions, key: &str, expected: Option<&str>| {
            let key: ObjectKey = key.parse().unwrap();
            assert_eq!(
                versions.of_key(&key),
                expected.map(ResourceVersion::new).as_ref(),
                "{key}"
            );
        };
        check(&several, "a/x", Some("5"));
        check(&several, "b/x", Some("6"));
        check(&several, "c/x", None);
        check(&several, "x", None);
        check(&all, "a/x", Some("7"));
        check(&all, "x", Some("7"));
    }

    #[test]
    fn a_common_version_is_the_same_in_every_scope() {
        let check = |of: &[(&str, &str)], expected: Option<&str>| {
            assert_eq!(
                versions(of).common(),
                expected.map(ResourceVersion::new).as_ref(),
                "{of:?}"
            );
        };
        check(&[], None);
        check(&[("a", "5")], Some("5"));
        check(&[("a", "5"), ("b", "5")], Some("5"));
        check(&[("a", "5"), ("b", "6")], None);
        check(&[("a", "5"), ("b", "")], None);
    }

    #[test]
    fn only_a_rewind_moves_a_version_back() {
        let scope = Scope::All;
        let mut versions = Versions::default();
        let mut check = |text: &str, expected, now: &str| {
            assert_eq!(
                versions.advance(&scope, ResourceVersion::new(text)),
                expected,
                "{text}"
            );
            assert_eq!(versions.get(&scope), Some(&ResourceVersion::new(now)), "{text}");
        };
        check("9", VersionChange::Moved, "9");
        check("10", VersionChange::Moved, "10");
        check("10", VersionChange::Same, "10");
        check("9", VersionChange::Refused, "10");
        check("opaque", VersionChange::Moved, "opaque");
        check("3", VersionChange::Moved, "3");
        versions.rewind(&scope, ResourceVersion::new("2"));
        assert_eq!(versions.get(&scope), Some(&ResourceVersion::new("2")));
    }
}
