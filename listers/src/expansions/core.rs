//! The replication controllers that select a pod.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Pod, ReplicationController};

use super::{EmptySelector, ExpansionError, Question, SpecSelector, WithoutLabels, selecting};
use crate::lister::Lister;

impl Lister<ReplicationController> {
    /// Returns the replication controllers in the pod's namespace that select it, ordered by name. Only the
    /// one in its owner reference manages it.
    ///
    /// # Errors
    /// [`ExpansionError`] if the pod has no labels, or no controller selects it. One without a selector, or
    /// with an empty one, selects nothing.
    #[inline]
    pub fn pod_controllers(&self, pod: &Pod) -> Result<Vec<Arc<ReplicationController>>, ExpansionError> {
        let question = Question {
            wanted: "ReplicationController",
            kind: "Pod",
            meta: &pod.metadata,
            without_labels: WithoutLabels::Refused,
            empty_selector: EmptySelector::Nothing,
        };
        selecting(self, &question, |controller| {
            SpecSelector::Labels(controller.spec.as_ref().and_then(|spec| spec.selector.as_ref()))
        })
    }
}
