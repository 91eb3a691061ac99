//! How far the store has come: one resource version per scope.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::key::ObjectKey;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;

/// The version of the store for each scope its informer covers; cheap to clone.
///
/// A scope without a version has not been listed yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versions(Arc<BTreeMap<Scope, Option<ResourceVersion>>>);

/// Whether a store has come as far as a version ([`Versions::is_at_least`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Every scope is at that version or past it.
    Reached,
    /// A scope is known to be behind it, or was not listed yet.
    Behind,
    /// No scope is known to be behind, but the version of one cannot be ordered against it.
    Unknown,
}

/// What became of a new version for a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionChange {
    /// The scope has the new version now.
    Moved,
    /// The scope had that version already.
    Same,
    /// The new version is older than the one the scope has, which stays.
    Refused,
}

impl Versions {
    /// The version of one scope, or `None` if it was not listed yet or is not part of this store.
    pub fn get(&self, scope: &Scope) -> Option<&ResourceVersion> {
        self.0.get(scope)?.as_ref()
    }

    /// The version of the scope an object of this key belongs to.
    pub fn of_key(&self, key: &ObjectKey) -> Option<&ResourceVersion> {
        self.get(&self.scope_of(key)?)
    }

    /// The scope of this store that an object of this key belongs to, if one does.
    pub fn scope_of(&self, key: &ObjectKey) -> Option<Scope> {
        // A store has all namespaces as its only scope, or one scope for each namespace.
        let own = key.namespace_arc().cloned().map(Scope::Namespace);
        [Some(Scope::All), own]
            .into_iter()
            .flatten()
            .find(|scope| self.0.contains_key(scope))
    }

    /// Every scope with its version, if it has one, ordered by scope.
    pub fn iter(&self) -> impl Iterator<Item = (&Scope, Option<&ResourceVersion>)> {
        self.0.iter().map(|(scope, version)| (scope, version.as_ref()))
    }

    /// The number of scopes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing was listed, and nothing announced, yet.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The version all scopes have in common: that of the only scope, or, of several, the one they all have.
    pub fn common(&self) -> Option<&ResourceVersion> {
        let mut versions = self.0.values();
        let first = versions.next()?.as_ref()?;
        versions
            .all(|version| version.as_ref() == Some(first))
            .then_some(first)
    }

    /// Whether every scope has come as far as `version`: what a wait for it asks.
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

    /// Whether the objects of a namespace belong to a scope of this store. A store that nobody fills from a server has none, and
    /// then every namespace is as good as another.
    pub fn cover(&self, namespace: &str) -> bool {
        self.0.is_empty()
            || self.0.contains_key(&Scope::All)
            || self.0.contains_key(&Scope::of(Some(namespace)))
    }

    /// Makes a scope known before it has a version.
    pub(super) fn announce(&mut self, scope: &Scope) {
        if !self.0.contains_key(scope) {
            Arc::make_mut(&mut self.0).insert(scope.clone(), None);
        }
    }

    /// Moves a scope forward, or anywhere if the versions cannot be ordered: then the later word is taken.
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

    /// Sets a scope to any version, an older one too.
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
    fn a_wait_is_a_wait_for_every_scope() {
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
