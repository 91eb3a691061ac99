//! The daemon sets, replica sets and stateful sets that select a pod.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{
    ControllerRevision, DaemonSet, DaemonSetSpec, ReplicaSet, ReplicaSetSpec, StatefulSet, StatefulSetSpec,
};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{EmptySelector, ExpansionError, Question, SpecSelector, WithoutLabels, selecting};
use crate::lister::Lister;

/// A workload with an empty selector selects nothing, so that it does not adopt every pod.
fn workload<'a>(wanted: &'static str, kind: &'static str, meta: &'a ObjectMeta) -> Question<'a> {
    Question {
        wanted,
        kind,
        meta,
        without_labels: WithoutLabels::Refused,
        empty_selector: EmptySelector::Nothing,
    }
}

// Up to Kubernetes 1.36 the spec of these kinds is an option; `Option::from` takes a reference to either.

fn of_daemon_set(set: &DaemonSet) -> SpecSelector<'_> {
    SpecSelector::Full(Option::<&DaemonSetSpec>::from(&set.spec).map(|spec| &spec.selector))
}

fn of_replica_set(set: &ReplicaSet) -> SpecSelector<'_> {
    SpecSelector::Full(Option::<&ReplicaSetSpec>::from(&set.spec).map(|spec| &spec.selector))
}

fn of_stateful_set(set: &StatefulSet) -> SpecSelector<'_> {
    SpecSelector::Full(Option::<&StatefulSetSpec>::from(&set.spec).map(|spec| &spec.selector))
}

impl Lister<DaemonSet> {
    /// Returns the daemon sets in the pod's namespace that select it, ordered by name. Only the one in its
    /// owner reference manages it.
    ///
    /// # Errors
    /// [`ExpansionError`] if the pod has no labels, or no daemon set selects it. One whose selector is empty
    /// or invalid selects nothing.
    #[inline]
    pub fn pod_daemon_sets(&self, pod: &Pod) -> Result<Vec<Arc<DaemonSet>>, ExpansionError> {
        selecting(self, &workload("DaemonSet", "Pod", &pod.metadata), of_daemon_set)
    }

    /// Returns the daemon sets in the revision's namespace that select it, ordered by name: those whose
    /// history may contain it.
    ///
    /// # Errors
    /// As [`pod_daemon_sets`](Self::pod_daemon_sets).
    #[inline]
    pub fn history_daemon_sets(
        &self,
        revision: &ControllerRevision,
    ) -> Result<Vec<Arc<DaemonSet>>, ExpansionError> {
        let question = workload("DaemonSet", "ControllerRevision", &revision.metadata);
        selecting(self, &question, of_daemon_set)
    }
}

impl Lister<ReplicaSet> {
    /// Returns the replica sets in the pod's namespace that select it, ordered by name. Only the one in its
    /// owner reference manages it.
    ///
    /// # Errors
    /// [`ExpansionError`] if the pod has no labels, or no replica set selects it. One whose selector is empty
    /// or invalid selects nothing.
    #[inline]
    pub fn pod_replica_sets(&self, pod: &Pod) -> Result<Vec<Arc<ReplicaSet>>, ExpansionError> {
        selecting(
            self,
            &workload("ReplicaSet", "Pod", &pod.metadata),
            of_replica_set,
        )
    }
}

impl Lister<StatefulSet> {
    /// Returns the stateful sets in the pod's namespace that select it, ordered by name. Only the one in its
    /// owner reference manages it.
    ///
    /// # Errors
    /// [`ExpansionError`] if the pod has no labels, or no stateful set selects it. One whose selector is
    /// empty or invalid selects nothing.
    #[inline]
    pub fn pod_stateful_sets(&self, pod: &Pod) -> Result<Vec<Arc<StatefulSet>>, ExpansionError> {
        selecting(
            self,
            &workload("StatefulSet", "Pod", &pod.metadata),
            of_stateful_set,
        )
    }
}
