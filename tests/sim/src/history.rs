//! The history of the server: every state of every object, by revision.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use k8s_openapi::api::core::v1::ConfigMap;

/// An object's namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// One state of one object, reduced to what the checks compare.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct State {
    pub(crate) revision: u64,
    pub(crate) uid: String,
    pub(crate) value: String,
    pub(crate) tier: String,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uid: String = self.uid.chars().take(6).collect();
        write!(f, "{}@{} ({uid}, tier {})", self.value, self.revision, self.tier)
    }
}

impl Key {
    pub(crate) fn of(object: &ConfigMap) -> Self {
        Self {
            namespace: object.metadata.namespace.clone().unwrap_or_default(),
            name: object.metadata.name.clone().unwrap_or_default(),
        }
    }
}

impl State {
    pub(crate) fn of(object: &ConfigMap) -> Self {
        let version = object.metadata.resource_version.as_deref();
        let labels = object.metadata.labels.as_ref();
        Self {
            revision: version.and_then(|text| text.parse().ok()).unwrap_or_default(),
            uid: object.metadata.uid.clone().unwrap_or_default(),
            value: data(object, "value").to_owned(),
            tier: labels
                .and_then(|labels| labels.get("tier"))
                .cloned()
                .unwrap_or_default(),
        }
    }
}

/// One entry of an object's data.
pub(crate) fn data<'a>(object: &'a ConfigMap, name: &str) -> &'a str {
    let data = object.data.as_ref().and_then(|data| data.get(name));
    data.map_or("", String::as_str)
}

/// The server's history, including the part that was undone by a rewind.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Per object, the changes by revision; `None` is a deletion.
    objects: BTreeMap<Key, Vec<(u64, Option<State>)>>,
    /// Every state that ever existed.
    ever: BTreeMap<Key, BTreeSet<State>>,
}

impl History {
    pub(crate) fn put(&mut self, object: &ConfigMap) {
        let (key, state) = (Key::of(object), State::of(object));
        let changes = self.objects.entry(key.clone()).or_default();
        // A write without a change creates no revision.
        if changes
            .last()
            .is_none_or(|(revision, _)| *revision < state.revision)
        {
            changes.push((state.revision, Some(state.clone())));
            self.ever.entry(key).or_default().insert(state);
        }
    }

    pub(crate) fn deleted(&mut self, key: &Key, revision: u64) {
        self.objects
            .entry(key.clone())
            .or_default()
            .push((revision, None));
    }

    /// Removes all changes after a revision.
    pub(crate) fn rewind(&mut self, revision: u64) {
        for changes in self.objects.values_mut() {
            changes.retain(|(at, _)| *at <= revision);
        }
    }

    /// Returns the changes of an object after one revision and up to another; `None` is a deletion.
    pub(crate) fn between(&self, key: &Key, after: u64, until: u64) -> impl Iterator<Item = Option<&State>> {
        let changes = self.objects.get(key).into_iter().flatten();
        changes
            .filter(move |(at, _)| (after + 1..=until).contains(at))
            .map(|(_, state)| state.as_ref())
    }

    /// Returns the state of an object at a revision.
    pub(crate) fn at(&self, key: &Key, revision: u64) -> Option<&State> {
        state_at(self.objects.get(key)?, revision)
    }

    /// Returns every object at a revision.
    pub(crate) fn all_at(&self, revision: u64) -> impl Iterator<Item = (&Key, &State)> {
        self.objects
            .iter()
            .filter_map(move |(key, changes)| Some((key, state_at(changes, revision)?)))
    }

    /// Whether an object ever had this state.
    pub(crate) fn knows(&self, key: &Key, state: &State) -> bool {
        self.ever.get(key).is_some_and(|states| states.contains(state))
    }
}

fn state_at(changes: &[(u64, Option<State>)], revision: u64) -> Option<&State> {
    let until = changes.partition_point(|(at, _)| *at <= revision);
    changes[..until].last()?.1.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(version: u64, value: &str) -> ConfigMap {
        let mut object = ConfigMap::default();
        object.metadata.name = Some("a".into());
        object.metadata.resource_version = Some(version.to_string());
        object.data = Some([("value".to_owned(), value.to_owned())].into());
        object
    }

    #[test]
    fn a_state_is_found_by_revision_and_forgotten_by_a_rewind() {
        let mut history = History::default();
        let key = Key::of(&object(1, "x"));
        history.put(&object(1, "x"));
        history.put(&object(4, "y"));
        history.deleted(&key, 6);
        let value = |history: &History, revision| history.at(&key, revision).map(|state| state.value.clone());
        assert_eq!(value(&history, 0), None);
        assert_eq!(value(&history, 3).as_deref(), Some("x"));
        assert_eq!(value(&history, 5).as_deref(), Some("y"));
        assert_eq!(value(&history, 6), None);
        history.rewind(2);
        assert_eq!(value(&history, 9).as_deref(), Some("x"));
        assert!(history.knows(&key, &State::of(&object(4, "y"))));
    }
}
