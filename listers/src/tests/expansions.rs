//! Tests of the expansions of client-go, whose rules differ by kind.

use std::sync::Arc;

use informer_core::{Object, ObjectKey};
use k8s_openapi::api::apps::v1::{
    ControllerRevision, DaemonSet, DaemonSetSpec, ReplicaSet, ReplicaSetSpec, StatefulSet, StatefulSetSpec,
};
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{Pod, ReplicationController, ReplicationControllerSpec};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement, ObjectMeta};

use super::check;
use crate::{ExpansionError, Lister};

/// Metadata of `namespace/name` with at most one label `key=value`; an empty text is an empty map of labels.
fn meta(key: &str, label: Option<&str>) -> ObjectMeta {
    let key: ObjectKey = key.parse().unwrap();
    ObjectMeta {
        namespace: key.namespace().map(str::to_owned),
        name: Some(key.name().to_owned()),
        labels: label.map(|label| {
            let pairs = label.split_once('=').into_iter();
            pairs
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect()
        }),
        ..ObjectMeta::default()
    }
}

fn pod(key: &str, label: Option<&str>) -> Pod {
    Pod {
        metadata: meta(key, label),
        ..Pod::default()
    }
}

/// The selectors of the cases.
#[derive(Clone, Copy)]
enum Selects {
    /// No selector.
    Missing,
    Empty,
    Label(&'static str, &'static str),
    /// An operator that does not exist.
    Invalid,
}

impl Selects {
    fn selector(self) -> Option<LabelSelector> {
        match self {
            Self::Missing => None,
            Self::Empty => Some(LabelSelector::default()),
            Self::Label(key, value) => Some(LabelSelector {
                match_labels: Some([(key.to_owned(), value.to_owned())].into()),
                ..LabelSelector::default()
            }),
            Self::Invalid => Some(LabelSelector {
                match_expressions: Some(vec![LabelSelectorRequirement {
                    key: "foo".to_owned(),
                    operator: "Like".to_owned(),
                    values: None,
                }]),
                ..LabelSelector::default()
            }),
        }
    }
}

/// A kind with a selector, created by name.
trait Selecting: Object {
    fn make(key: &str, selects: Selects) -> Self;
}

/// Kinds whose selector is required: client-go has a pointer, k8s-openapi an empty selector instead of null.
/// Up to Kubernetes 1.36 their spec is an `Option`, later it is not.
macro_rules! selecting_by_a_selector_that_must_be_there {
    ($($kind:ident $spec:ident),+) => {$(
        impl Selecting for $kind {
            fn make(key: &str, selects: Selects) -> Self {
                let selector = selects.selector().unwrap_or_default();
                let spec = $spec { selector, ..$spec::default() };
                Self { metadata: meta(key, None), spec: spec.into(), ..Self::default() }
            }
        }
    )+};
}
selecting_by_a_selector_that_must_be_there!(
    DaemonSet DaemonSetSpec,
    ReplicaSet ReplicaSetSpec,
    StatefulSet StatefulSetSpec
);

impl Selecting for Job {
    fn make(key: &str, selects: Selects) -> Self {
        let spec = JobSpec {
            selector: selects.selector(),
            ..JobSpec::default()
        };
        Self {
            metadata: meta(key, None),
            spec: Some(spec),
            ..Self::default()
        }
    }
}

impl Selecting for ReplicationController {
    fn make(key: &str, selects: Selects) -> Self {
        let spec = ReplicationControllerSpec {
            selector: selects
                .selector()
                .map(|selector| selector.match_labels.unwrap_or_default()),
            ..ReplicationControllerSpec::default()
        };
        Self {
            metadata: meta(key, None),
            spec: Some(spec),
            ..Self::default()
        }
    }
}

impl Selecting for PodDisruptionBudget {
    fn make(key: &str, selects: Selects) -> Self {
        let spec = PodDisruptionBudgetSpec {
            selector: selects.selector(),
            ..PodDisruptionBudgetSpec::default()
        };
        Self {
            metadata: meta(key, None),
            spec: Some(spec),
            ..Self::default()
        }
    }
}

type Answer<K> = Result<Vec<Arc<K>>, ExpansionError>;

/// A cache with each variant of selector; the names describe what they select.
fn cached<K: Selecting>() -> Lister<K> {
    Lister::from_objects([
        K::make("ns/bar", Selects::Label("foo", "bar")),
        K::make("ns/also-bar", Selects::Label("foo", "bar")),
        K::make("ns/baz", Selects::Label("foo", "baz")),
        K::make("ns/missing", Selects::Missing),
        K::make("ns/empty", Selects::Empty),
        K::make("ns/invalid", Selects::Invalid),
        K::make("other/bar", Selects::Label("foo", "bar")),
        K::make("bar", Selects::Label("foo", "bar")),
    ])
}

/// Checks the rules of one kind: for a pod whose label matches, a pod whose label does not, and a pod without
/// labels.
fn check_rules<K: Selecting>(
    ask: fn(&Lister<K>, &Pod) -> Answer<K>,
    selected: &[&str],
    other: Result<&[&str], &str>,
    without_labels: Result<&[&str], &str>,
) {
    let lister = cached::<K>();
    let check_answer = |answer: Answer<K>, expected: Result<&[&str], &str>| match (answer, expected) {
        (Ok(found), Ok(expected)) => check(found, expected),
        (Err(error), Err(text)) => assert_eq!(error.to_string(), text),
        (answer, expected) => panic!("{:?}, not {expected:?}", answer.map(|found| found.len())),
    };
    check_answer(ask(&lister, &pod("ns/pod1", Some("foo=bar"))), Ok(selected));
    check_answer(ask(&lister, &pod("ns/pod1", Some("foo=qux"))), other);
    check_answer(ask(&lister, &pod("ns/pod1", None)), without_labels);
    // `labels: {}` counts as no labels.
    check_answer(ask(&lister, &pod("ns/pod1", Some(""))), without_labels);
    let elsewhere = ask(&lister, &pod("nowhere/pod1", Some("foo=bar")));
    assert!(matches!(elsewhere, Err(ExpansionError::NoMatch { .. })));
}

/// Upstream: TestDaemonSetLister (extensions/v1beta1), and the code of apps/v1.
#[test]
fn a_workload_with_an_empty_selector_selects_no_pod() {
    check_rules::<DaemonSet>(
        Lister::pod_daemon_sets,
        &["ns/also-bar", "ns/bar"],
        Err("no DaemonSet in the cache selects Pod ns/pod1"),
        Err("no DaemonSet can select Pod ns/pod1: it has no labels"),
    );
    check_rules::<ReplicaSet>(
        Lister::pod_replica_sets,
        &["ns/also-bar", "ns/bar"],
        Err("no ReplicaSet in the cache selects Pod ns/pod1"),
        Err("no ReplicaSet can select Pod ns/pod1: it has no labels"),
    );
    check_rules::<StatefulSet>(
        Lister::pod_stateful_sets,
        &["ns/also-bar", "ns/bar"],
        Err("no StatefulSet in the cache selects Pod ns/pod1"),
        Err("no StatefulSet can select Pod ns/pod1: it has no labels"),
    );
}

/// Its selector is a map and cannot be invalid: [`Selects::Invalid`] is empty too.
#[test]
fn a_replication_controller_with_an_empty_selector_selects_no_pod() {
    check_rules::<ReplicationController>(
        Lister::pod_controllers,
        &["ns/also-bar", "ns/bar"],
        Err("no ReplicationController in the cache selects Pod ns/pod1"),
        Err("no ReplicationController can select Pod ns/pod1: it has no labels"),
    );
}

/// Upstream's GetPodJobs accepts empty selectors, but rejects pods without labels.
#[test]
fn a_job_with_an_empty_selector_selects_every_pod_with_labels() {
    check_rules::<Job>(
        Lister::pod_jobs,
        &["ns/also-bar", "ns/bar", "ns/empty"],
        Ok(&["ns/empty"]),
        Err("no Job can select Pod ns/pod1: it has no labels"),
    );
}

/// Upstream's GetPodPodDisruptionBudgets in policy/v1.
#[test]
fn a_budget_with_an_empty_selector_selects_every_pod() {
    check_rules::<PodDisruptionBudget>(
        Lister::pod_pod_disruption_budgets,
        &["ns/also-bar", "ns/bar", "ns/empty"],
        Ok(&["ns/empty"]),
        Ok(&["ns/empty"]),
    );
}

/// Upstream's GetHistoryDaemonSets.
#[test]
fn a_revision_belongs_to_the_history_of_daemon_sets_that_select_it() {
    let sets = cached::<DaemonSet>();
    let revision = |label: Option<&str>| ControllerRevision {
        metadata: meta("ns/rev-1", label),
        ..ControllerRevision::default()
    };
    let selected = sets.history_daemon_sets(&revision(Some("foo=baz"))).unwrap();
    check(selected, &["ns/baz"]);
    let refused = |label: Option<&str>| {
        sets.history_daemon_sets(&revision(label))
            .unwrap_err()
            .to_string()
    };
    for none in [None, Some("")] {
        assert_eq!(
            refused(none),
            "no DaemonSet can select ControllerRevision ns/rev-1: it has no labels"
        );
    }
    assert_eq!(
        refused(Some("foo=qux")),
        "no DaemonSet in the cache selects ControllerRevision ns/rev-1"
    );
}
