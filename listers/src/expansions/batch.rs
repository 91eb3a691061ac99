//! The jobs that select a pod.

use std::sync::Arc;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;

use super::{EmptySelector, ExpansionError, Question, SpecSelector, WithoutLabels, selecting};
use crate::lister::Lister;

impl Lister<Job> {
    /// Returns the jobs in the pod's namespace that select it, ordered by name. Only the one in its owner
    /// reference manages it.
    ///
    /// Unlike that of the other workloads, and as in client-go, an empty selector of a job selects
    /// everything.
    ///
    /// # Errors
    /// [`ExpansionError`] if the pod has no labels, or no job selects it. One whose selector is missing or
    /// invalid selects nothing.
    #[inline]
    pub fn pod_jobs(&self, pod: &Pod) -> Result<Vec<Arc<Job>>, ExpansionError> {
        let question = Question {
            wanted: "Job",
            kind: "Pod",
            meta: &pod.metadata,
            without_labels: WithoutLabels::Refused,
            empty_selector: EmptySelector::Everything,
        };
        selecting(self, &question, |job| {
            SpecSelector::Full(job.spec.as_ref().and_then(|spec| spec.selector.as_ref()))
        })
    }
}
