//! Look-ups by the selector in an object's spec: which workloads and budgets mean a given pod.
//!
//! Upstream writes these by hand beside its generated listers (`*_expansion.go`). Here each is a method of the lister of its
//! kind. The rule they share is in this file; where they differ is said where they call it.

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

/// Why no object was found whose selector means a given one.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpansionError {
    /// The object has no labels, so that no selector of these kinds can mean it.
    NoLabels {
        /// The kind that was looked for, such as `DaemonSet`.
        wanted: &'static str,
        /// The kind of the object, such as `Pod`.
        kind: &'static str,
        /// The object.
        key: ObjectKey,
    },
    /// The object has labels, but none in the cache, in its namespace, selects them.
    NoMatch {
        /// The kind that was looked for, such as `DaemonSet`.
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

/// What is asked: which objects of one kind select this one, and by which variant of the rule.
struct Question<'a> {
    /// The kind that is looked for.
    wanted: &'static str,
    /// The kind of the object that is to be selected.
    kind: &'static str,
    /// Its metadata.
    meta: &'a ObjectMeta,
    without_labels: WithoutLabels,
    empty_selector: EmptySelector,
}

/// What becomes of an object without labels.
#[derive(Clone, Copy)]
enum WithoutLabels {
    /// It is an error to ask for it.
    Refused,
    /// It can be selected like any other.
    Asked,
}

/// What a selector without requirements selects. One that is not there at all selects nothing, always.
#[derive(Clone, Copy)]
enum EmptySelector {
    Nothing,
    Everything,
}

/// The selector in a spec, in the two forms there are.
enum SpecSelector<'a> {
    Full(Option<&'a LabelSelector>),
    /// Labels that must all be there; not checked, as upstream.
    Labels(Option<&'a BTreeMap<String, String>>),
}

static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();

impl Question<'_> {
    /// The labels to select, unless there are none and there should be.
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
    /// Whether labels are selected. A selector that is not valid selects nothing.
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

/// The objects in the namespace of the one asked about whose selector means it, ordered by name.
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
