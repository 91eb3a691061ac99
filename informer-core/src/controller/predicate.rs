//! Predicates: which changes lead to a reconcile.

use std::fmt;
use std::sync::Arc;

use crate::handler::Event;
use crate::object::{Name, Object};

/// One change of an object: its state before and after.
#[non_exhaustive]
pub enum Change<'a, K> {
    /// The object is new to the controller.
    Added(&'a K),
    /// The object changed, or is delivered again by a resync (both are then the same object).
    Updated {
        /// The state before.
        old: &'a K,
        /// The state after.
        new: &'a K,
    },
    /// The object was deleted; this is its last known state.
    Deleted(&'a K),
}

// Derived, they would require them of `K`.
impl<K> Copy for Change<'_, K> {}

impl<K> Clone for Change<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, K> Change<'a, K> {
    pub(super) fn of(event: &'a Event<K>) -> Self {
        match event {
            Event::Added { object, .. } => Self::Added(object),
            Event::Updated { old, new, .. } => Self::Updated { old, new },
            Event::Deleted(deleted) => Self::Deleted(deleted.last_known()),
        }
    }

    /// The state before and after, if the object existed then.
    pub fn states(self) -> [Option<&'a K>; 2] {
        match self {
            Self::Added(object) => [None, Some(object)],
            Self::Updated { old, new } => [Some(old), Some(new)],
            Self::Deleted(object) => [Some(object), None],
        }
    }
}

/// A condition on changes: only those that pass lead to a reconcile.
///
/// ```
/// use informer_core::controller::{Change, Predicate};
/// use k8s_openapi::api::core::v1::Pod;
///
/// let spec_or_labels = Predicate::<Pod>::generation_changed().or(Predicate::labels_changed());
/// let deletions = Predicate::<Pod>::new(|change| matches!(change, Change::Deleted(_)));
/// ```
pub struct Predicate<K> {
    test: Test<K>,
}

type Test<K> = Arc<dyn for<'a> Fn(Change<'a, K>) -> bool + Send + Sync>;

impl<K: Object> Predicate<K> {
    /// Creates a predicate from a function of the change.
    pub fn new(test: impl Fn(Change<'_, K>) -> bool + Send + Sync + 'static) -> Self {
        Self { test: Arc::new(test) }
    }

    /// Passes additions, deletions, and updates that changed `metadata.generation`: the API server raises it
    /// with every change of the spec, and when deletion begins, but not with changes of status or metadata.
    /// A resync does not pass.
    ///
    /// Some kinds have no generation (Pods before 1.33, ConfigMaps, Secrets): updates of an object without
    /// one always pass.
    pub fn generation_changed() -> Self {
        Self::changed(
            |object| object.meta().generation,
            |generation| generation.is_none(),
        )
    }

    /// Passes additions, deletions, and updates that changed a label.
    pub fn labels_changed() -> Self {
        Self::new(|change| match change {
            Change::Updated { old, new } => old.meta().labels != new.meta().labels,
            Change::Added(_) | Change::Deleted(_) => true,
        })
    }

    /// Passes additions, deletions, and updates that changed an annotation.
    pub fn annotations_changed() -> Self {
        Self::new(|change| match change {
            Change::Updated { old, new } => old.meta().annotations != new.meta().annotations,
            Change::Added(_) | Change::Deleted(_) => true,
        })
    }

    /// Passes additions, deletions, and updates that changed a value of the object, such as one field.
    pub fn value_changed<V: PartialEq>(value: impl Fn(&K) -> V + Send + Sync + 'static) -> Self {
        Self::changed(value, |_| false)
    }

    fn changed<V: PartialEq>(
        value: impl Fn(&K) -> V + Send + Sync + 'static,
        is_unknown: impl Fn(&V) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self::new(move |change| match change {
            Change::Updated { old, new } => {
                let new = value(new);
                is_unknown(&new) || value(old) != new
            }
            Change::Added(_) | Change::Deleted(_) => true,
        })
    }

    /// Passes what both predicates pass.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::new(move |change| self.passes(change) && other.passes(change))
    }

    /// Passes what at least one of the predicates passes.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::new(move |change| self.passes(change) || other.passes(change))
    }

    /// Passes what this predicate does not pass.
    #[must_use]
    pub fn negate(self) -> Self {
        Self::new(move |change| !self.passes(change))
    }

    /// Whether a change passes.
    pub fn passes(&self, change: Change<'_, K>) -> bool {
        (self.test)(change)
    }
}

impl<K> Clone for Predicate<K> {
    fn clone(&self) -> Self {
        Self {
            test: self.test.clone(),
        }
    }
}

impl<K: Object> fmt::Debug for Change<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never the contents: it may be a Secret.
        match self {
            Self::Added(object) => write!(f, "Added({})", Name(*object)),
            Self::Updated { old, new } => write!(f, "Updated({} -> {})", Name(*old), Name(*new)),
            Self::Deleted(object) => write!(f, "Deleted({})", Name(*object)),
        }
    }
}

impl<K> fmt::Debug for Predicate<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Predicate")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn object(generation: Option<i64>, label: &str, note: &str) -> ConfigMap {
        let one = |value: &str| Some(BTreeMap::from([("key".to_owned(), value.to_owned())]));
        let mut object = ConfigMap::default();
        object.metadata.generation = generation;
        object.metadata.labels = one(label);
        object.metadata.annotations = one(note);
        object
    }

    fn check(predicate: &Predicate<ConfigMap>, old: &ConfigMap, new: &ConfigMap, expected: bool) {
        assert_eq!(predicate.passes(Change::Updated { old, new }), expected);
        assert!(predicate.passes(Change::Added(new)) && predicate.passes(Change::Deleted(old)));
    }

    #[test]
    fn each_predicate_looks_only_at_its_own_part() {
        let base = object(Some(1), "a", "x");
        let next = [
            object(Some(2), "a", "x"),
            object(Some(1), "b", "x"),
            object(Some(1), "a", "y"),
        ];
        let predicates = [
            Predicate::generation_changed(),
            Predicate::labels_changed(),
            Predicate::annotations_changed(),
        ];
        for (own, predicate) in predicates.iter().enumerate() {
            check(predicate, &base, &base, false);
            for (changed, new) in next.iter().enumerate() {
                check(predicate, &base, new, own == changed);
            }
        }
    }

    #[test]
    fn an_object_without_generation_always_passes() {
        let object = object(None, "a", "x");
        check(&Predicate::generation_changed(), &object, &object, true);
    }

    #[test]
    fn predicates_combine() {
        let (base, labelled, both) = (
            object(Some(1), "a", "x"),
            object(Some(1), "b", "x"),
            object(Some(2), "b", "x"),
        );
        let pair = || (Predicate::generation_changed(), Predicate::labels_changed());
        let (generation, labels) = pair();
        check(&generation.or(labels), &base, &labelled, true);
        let (generation, labels) = pair();
        let and = generation.and(labels);
        check(&and, &base, &labelled, false);
        check(&and, &base, &both, true);
        let negated = Predicate::<ConfigMap>::labels_changed().negate();
        assert!(!negated.passes(Change::Added(&base)));
        check(
            &Predicate::value_changed(|object: &ConfigMap| object.metadata.labels.clone()),
            &base,
            &both,
            true,
        );
    }
}
