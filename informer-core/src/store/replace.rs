//! Replaces the objects of a scope by a list.

use std::collections::HashSet;
use std::fmt;

use super::commit::Commit;
use super::key_ref::KeyRef;
use super::snapshot::Snapshot;
use super::state::Objects;
use super::tree::Tree;
use crate::key::ObjectKey;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::storage::Stored;

/// What happens to the stored objects of a scope that are missing from a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// They are removed: the server deleted them.
    Remove,
    /// They are removed, except these: the list had them, but they could not be used.
    RemoveExcept(HashSet<ObjectKey>),
    /// They stay: the list had an object whose key could not be read, and each of them may be that object.
    Keep,
    /// They stay, except these: the list had another object under the same key, which could not be used.
    KeepExcept(HashSet<ObjectKey>),
}

impl Missing {
    fn removes(&self, key: KeyRef<'_>) -> bool {
        match self {
            Self::Remove => true,
            Self::RemoveExcept(kept) => !kept.contains(&key.to_key()),
            Self::Keep => false,
            Self::KeepExcept(removed) => removed.contains(&key.to_key()),
        }
    }
}

/// The result of a [`replace`](Commit::replace).
#[must_use = "handlers must receive the removed and changed objects"]
pub(crate) struct Replacement<K> {
    /// The removed objects that were missing from the list, ordered by key.
    pub(crate) removed: Vec<(ObjectKey, Stored<K>)>,
    /// The objects of the list, in its order. If a key occurred twice, only the last one.
    pub(crate) items: Vec<ListedObject<K>>,
}

/// The result for one object of a list.
pub(crate) struct ListedObject<K> {
    /// Its key.
    pub(crate) key: ObjectKey,
    /// What the store had and has under the key.
    pub(crate) outcome: Outcome<K>,
}

/// What the store had and has under the key of a listed object.
pub(crate) enum Outcome<K> {
    /// The store had no object.
    Added {
        /// The listed object.
        current: Stored<K>,
    },
    /// The store had another version, or another object with the same name.
    Updated {
        /// The object the store had.
        previous: Stored<K>,
        /// The listed object.
        current: Stored<K>,
    },
    /// The store had an object with the same UID and resource version: it stays, and the listed copy is
    /// dropped.
    Unchanged {
        /// The object the store had.
        current: Stored<K>,
    },
}

impl<K> Outcome<K> {
    /// The object the store has now.
    pub(crate) fn current(&self) -> &Stored<K> {
        match self {
            Self::Added { current } | Self::Updated { current, .. } | Self::Unchanged { current } => current,
        }
    }

    /// Whether the store kept the object it had.
    pub(crate) fn is_unchanged(&self) -> bool {
        matches!(self, Self::Unchanged { .. })
    }
}

impl<K: Object> Snapshot<K> {
    /// The stored object under a key, if an object with this version and UID is the same state of it. A
    /// [`replace`](Commit::replace) would keep the stored one.
    pub(crate) fn unchanged(
        &self,
        scope: &Scope,
        key: &ObjectKey,
        version: Option<&ResourceVersion>,
        uid: Option<&str>,
    ) -> Option<&Stored<K>> {
        let reached = self.versions().get(scope);
        let is_version = |stored: &Stored<K>| version.is_some() && stored.version().as_ref() == version;
        self.stored(key)
            .filter(|stored| stored.uid() == uid && is_version(stored) && !is_left_over(stored, reached))
    }
}

impl<K: Object> Commit<'_, K> {
    /// Replaces the objects of a scope by a list.
    ///
    /// If a key occurs twice, the last one wins. An object with the UID and resource version of the stored
    /// one is not replaced, so that only one copy stays in memory. Listed keys are no longer stale, nor are
    /// keys that `missing` removes: call [`mark_stale`](Self::mark_stale) afterwards for listed objects
    /// that could not be used. The version is not moved: call [`set_version`](Self::set_version).
    pub(crate) fn replace(
        &mut self,
        scope: &Scope,
        items: Vec<(ObjectKey, Stored<K>)>,
        missing: Missing,
    ) -> Replacement<K> {
        let old = self.state.objects.clone();
        let reached = self.state.versions.get(scope).cloned();
        // Compared before anything changes: the state that a key has now is the old state that handlers
        // receive.
        let items: Vec<ListedObject<K>> = last_of_each_key(items)
            .into_iter()
            .map(|(key, object)| compare(&old, key, object, reached.as_ref()))
            .collect();
        // In key order, like the tree, so that the steps below iterate over both at once, without a lookup
        // per key. `items` keeps the order of the list, in which handlers receive the events.
        let mut listed: Vec<&ListedObject<K>> = items.iter().collect();
        listed.sort_by(|this, that| this.key.cmp(&that.key));

        let removed = removed_objects(&old, scope, &listed, &missing);
        self.clear_stale(scope, &listed, &missing);
        // One change copies a path of the tree and of every index. Past half of the objects, building all of
        // them anew is cheaper.
        let changed = items.iter().filter(|item| !item.outcome.is_unchanged()).count();
        if (changed + removed.len()) * 2 > old.len() {
            self.set_objects(rebuilt(&old, &listed, &removed));
        } else {
            for (key, _) in &removed {
                self.remove(key);
            }
            for item in listed.iter().filter(|item| !item.outcome.is_unchanged()) {
                self.upsert(item.key.clone(), item.outcome.current().clone());
            }
        }
        Replacement { removed, items }
    }

    fn clear_stale(&mut self, scope: &Scope, listed: &[&ListedObject<K>], missing: &Missing) {
        if self.state.stale.is_empty() {
            return;
        }
        let is_cleared = |key: KeyRef<'_>| {
            let is_listed = listed
                .binary_search_by(|item| KeyRef::from(&item.key).cmp(&key))
                .is_ok();
            is_listed || (scope.contains(&key.to_key()) && missing.removes(key))
        };
        let keys: Vec<ObjectKey> = self
            .state
            .stale
            .iter()
            .filter(|(key, _)| is_cleared(*key))
            .map(|(key, _)| key.to_key())
            .collect();
        for key in keys {
            self.state.stale.clear(&key);
        }
    }
}

/// Drops every item whose key occurs again later. Lists normally have each key once, and then this costs
/// one sort and no hashing.
fn last_of_each_key<Q: Ord, T>(mut items: Vec<(Q, T)>) -> Vec<(Q, T)> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    // The sort is stable: of equal keys, the later item stays later.
    order.sort_by(|this, that| items[*this].0.cmp(&items[*that].0));
    let repeated: HashSet<usize> = order
        .windows(2)
        .filter(|pair| items[pair[0]].0 == items[pair[1]].0)
        .map(|pair| pair[0])
        .collect();
    if !repeated.is_empty() {
        let mut at = 0..;
        items.retain(|_| at.next().is_some_and(|at| !repeated.contains(&at)));
    }
    items
}

fn compare<K: Object>(
    old: &Objects<K>,
    key: ObjectKey,
    listed: Stored<K>,
    reached: Option<&ResourceVersion>,
) -> ListedObject<K> {
    let outcome = match old.get((&key).into()) {
        None => Outcome::Added { current: listed },
        Some(stored)
            if is_unchanged(stored, listed.version_text(), listed.uid())
                && !is_left_over(stored, reached) =>
        {
            Outcome::Unchanged {
                current: stored.clone(),
            }
        }
        Some(stored) => Outcome::Updated {
            previous: stored.clone(),
            current: listed,
        },
    };
    ListedObject { key, outcome }
}

/// Whether an object is newer than its store. It was then kept when the server was rewound, and the same
/// version in the server's current history is a different state.
fn is_left_over<K: Object>(object: &Stored<K>, reached: Option<&ResourceVersion>) -> bool {
    let version = object.version();
    matches!((version, reached), (Some(version), Some(reached)) if reached.is_older_than(&version))
}

/// Whether a state with this version and UID is the stored one. Without a version this is unknown, and they
/// count as different.
fn is_unchanged<K: Object>(stored: &Stored<K>, version: Option<&str>, uid: Option<&str>) -> bool {
    let known = stored.version_text().filter(|version| !version.is_empty());
    known.is_some() && known == version && stored.uid() == uid
}

/// The objects of the scope that are not listed and are removed.
fn removed_objects<K: Object>(
    old: &Objects<K>,
    scope: &Scope,
    listed: &[&ListedObject<K>],
    missing: &Missing,
) -> Vec<(ObjectKey, Stored<K>)> {
    if *missing == Missing::Keep {
        return Vec::new();
    }
    let namespace = match scope {
        Scope::All => None,
        Scope::Namespace(namespace) => Some(&**namespace),
    };
    // Both are in key order, so one pass over each finds the difference.
    let mut listed = listed.iter().map(|item| KeyRef::from(&item.key)).peekable();
    old.iter_from(KeyRef::start_of(namespace.unwrap_or_default()))
        .take_while(|(key, _)| namespace.is_none_or(|namespace| key.namespace == namespace.as_bytes()))
        .filter(|(key, _)| {
            while listed.next_if(|listed| listed < key).is_some() {}
            listed.peek() != Some(key) && missing.removes(*key)
        })
        .map(|(key, stored)| (key.to_key(), stored.clone()))
        .collect()
}

/// Builds the objects after the replacement as a new tree.
fn rebuilt<K>(
    old: &Objects<K>,
    listed: &[&ListedObject<K>],
    removed: &[(ObjectKey, Stored<K>)],
) -> Objects<K> {
    let mut dropped = removed.iter().map(|(key, _)| KeyRef::from(key)).peekable();
    let mut replaced = listed.iter().map(|item| KeyRef::from(&item.key)).peekable();
    let mut stays = |key: &KeyRef<'_>| {
        while dropped.next_if(|dropped| dropped < key).is_some() {}
        while replaced.next_if(|replaced| replaced < key).is_some() {}
        dropped.peek() != Some(key) && replaced.peek() != Some(key)
    };
    let mut entries: Vec<(KeyRef<'_>, Stored<K>)> = old
        .iter()
        .filter(|(key, _)| stays(key))
        .map(|(key, stored)| (key, stored.clone()))
        .collect();
    entries.extend(
        listed
            .iter()
            .map(|item| ((&item.key).into(), item.outcome.current().clone())),
    );
    // These are two ascending runs, which a stable sort merges in linear time.
    entries.sort_by_key(|(key, _)| *key);
    Tree::from_sorted(entries)
}

impl<K> fmt::Debug for Replacement<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let removed: Vec<&ObjectKey> = self.removed.iter().map(|(key, _)| key).collect();
        f.debug_struct("Replacement")
            .field("removed", &removed)
            .field("items", &self.items)
            .finish()
    }
}

impl<K> fmt::Debug for ListedObject<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.key, self.outcome)
    }
}

impl<K> fmt::Debug for Outcome<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Added { .. } => "Added",
            Self::Updated { .. } => "Updated",
            Self::Unchanged { .. } => "Unchanged",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::last_of_each_key;

    /// Has an order and no hash, so a replacement that hashes its keys does not compile.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    struct Ordered(u32);

    #[test]
    fn the_last_of_each_key_is_found_without_hashing_keys() {
        let check = |items: &[(u32, char)], expected: &str| {
            let items = items.iter().map(|(key, item)| (Ordered(*key), *item)).collect();
            let kept: String = last_of_each_key(items)
                .into_iter()
                .map(|(_, item)| item)
                .collect();
            assert_eq!(kept, expected);
        };
        check(&[], "");
        check(&[(2, 'a'), (1, 'b'), (3, 'c')], "abc");
        check(&[(2, 'a'), (1, 'b'), (2, 'c'), (2, 'd'), (1, 'e')], "de");
    }
}
