//! Lookups by the selector in an object's spec: the workloads and budgets that select a pod.
//!
//! client-go has these as hand-written `*_expansion.go` files. Here each is a method of the lister of its
//! kind. This file has the common rule; callers state where they differ.

mod apps;
mod batch;
mod core;
mod policy;

use std::collections::BTreeMap;
use std::sync::Arc;

use informer_core::selector::Selector;
use informer_core::{Object, ObjectKey};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use crate::lister::Lister;
use crate::namespace::NamespaceLister;

/// No object was found whose selector matches a given one.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpansionError {
    /// The object has no labels, so no selector of these kinds can match it.
    NoLabels {
        /// The kind that was looked up, such as `DaemonSet`.
        wanted: &'static str,
        /// The kind of the object, such as `Pod`.
        kind: &'static str,
        /// The object.
        key: ObjectKey,
    },
    /// The object has labels, but no object of its namespace in the cache selects them.
    NoMatch {
        /// The kind that was looked up, such as `DaemonSet`.
        wanted: &'static str,
        /// The kind of the object, such as `Pod`.
        kind: &'static str,
        /// The object.
        key: ObjectKey,
    },
}

informer_core::__debug_is_the_message!(ExpansionError);

impl std::fmt::Display for ExpansionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoLabels { wanted, kind, key } => {
                write!(f, "no {wanted} can select {kind} {key}: it has no labels")
            }
            Self::NoMatch { wanted, kind, key } => {
                write!(f, "no {wanted} in the cache selects {kind} {key}")
            }
        }
    }
}

impl std::error::Error for ExpansionError {}

/// A lookup: the objects of one kind that select this one, and the variant of the rule.
struct Question<'a> {
    /// The kind to look up.
    wanted: &'static str,
    /// The kind of the selected object.
    kind: &'static str,
    /// Its metadata.
    meta: &'a ObjectMeta,
    without_labels: WithoutLabels,
    empty_selector: EmptySelector,
}

/// How an object without labels is treated.
#[derive(Clone, Copy)]
enum WithoutLabels {
    /// The lookup fails.
    Refused,
    /// It can be selected like any other object.
    Asked,
}

/// What a selector without requirements selects. A missing selector always selects nothing.
#[derive(Clone, Copy)]
enum EmptySelector {
    Nothing,
    Everything,
}

/// The selector in a spec, in one of its two forms.
enum SpecSelector<'a> {
    Full(Option<&'a LabelSelector>),
    /// Labels that the object must have; not validated, as in client-go.
    Labels(Option<&'a BTreeMap<String, String>>),
}

static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();

impl Question<'_> {
    /// Returns the labels to match, or an error if the object needs labels and has none.
    fn labels(&self) -> Result<&BTreeMap<String, String>, ExpansionError> {
        let labels = self.meta.labels.as_ref().unwrap_or(&NO_LABELS);
        match self.without_labels {
            WithoutLabels::Refused if labels.is_empty() => Err(ExpansionError::NoLabels {
                wanted: self.wanted,
                kind: self.kind,
                key: self.key(),
            }),
            _ => Ok(labels),
        }
    }

    fn namespace(&self) -> &str {
        self.meta.namespace.as_deref().unwrap_or_default()
    }

    fn key(&self) -> ObjectKey {
        ObjectKey::namespaced(self.namespace(), self.meta.name.as_deref().unwrap_or_default())
    }

    fn no_match(&self) -> ExpansionError {
        ExpansionError::NoMatch {
            wanted: self.wanted,
            kind: self.kind,
            key: self.key(),
        }
    }
}

impl SpecSelector<'_> {
    /// Returns whether the labels match. An invalid selector matches nothing.
    fn selects(&self, labels: &BTreeMap<String, String>, empty: EmptySelector) -> bool {
        let is_selected = |is_everything: bool, matches: &dyn Fn() -> bool| match empty {
            EmptySelector::Nothing if is_everything => false,
            _ => matches(),
        };
        match self {
            Self::Full(selector) => Selector::try_from(*selector)
                .is_ok_and(|selector| is_selected(selector.is_everything(), &|| selector.matches(labels))),
            Self::Labels(wanted) => {
                let wanted = wanted.unwrap_or(&NO_LABELS);
                is_selected(wanted.is_empty(), &|| {
                    wanted.iter().all(|(key, value)| labels.get(key) == Some(value))
                })
            }
        }
    }
}

/// Returns the objects in the same namespace whose selector matches, ordered by name.
fn selecting<K: Object>(
    lister: &Lister<K>,
    question: &Question<'_>,
    selector_of: fn(&K) -> SpecSelector<'_>,
) -> Result<Vec<Arc<K>>, ExpansionError> {
    let labels = question.labels()?;
    let mut found = Vec::new();
    let namespace = NamespaceLister::new(lister.indexer().clone(), question.namespace());
    namespace.for_each(&Selector::everything(), |object| {
        if selector_of(object).selects(labels, question.empty_selector) {
            found.push(object.clone());
        }
    });
    if found.is_empty() {
        return Err(question.no_match());
    }
    Ok(found)
}
