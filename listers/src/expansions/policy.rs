//! The disruption budgets that select a pod.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;

use super::{EmptySelector, ExpansionError, Question, SpecSelector, WithoutLabels, selecting};
use crate::lister::Lister;

impl Lister<PodDisruptionBudget> {
    /// Returns the disruption budgets in the pod's namespace that select it, ordered by name.
    ///
    /// An empty selector selects every pod of the namespace, including pods without labels.
    ///
    /// # Errors
    /// [`ExpansionError::NoMatch`] if no budget selects the pod. One whose selector is missing or invalid
    /// selects nothing.
    #[inline]
    pub fn pod_pod_disruption_budgets(
        &self,
        pod: &Pod,
    ) -> Result<Vec<Arc<PodDisruptionBudget>>, ExpansionError> {
        let question = Question {
            wanted: "PodDisruptionBudget",
            kind: "Pod",
            meta: &pod.metadata,
            without_labels: WithoutLabels::Asked,
            empty_selector: EmptySelector::Everything,
        };
        selecting(self, &question, |budget| {
            SpecSelector::Full(budget.spec.as_ref().and_then(|spec| spec.selector.as_ref()))
        })
    }
}
