//! Objects, events and errors as the short texts of tests, both ways.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use informer_core::source::SourceError;
use informer_core::source::{ListMetadata, ServerStatus, Undecodable};
use informer_core::{Deleted, Event, ObjectKey, Origin, ResourceVersion, UpdateCause};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The metadata of a last page.
pub(crate) fn metadata(version: &str) -> ListMetadata {
    ListMetadata {
        resource_version: Some(version.into()),
        continue_token: None,
        remaining: None,
    }
}

/// A pod from `namespace/name@version{label=value,label=value}#uid`, of which only the name must be there.
/// The namespace is `default` if not given.
pub(crate) fn pod(text: &str) -> Arc<Pod> {
    let (text, uid) = text.split_once('#').unwrap_or((text, ""));
    let (text, labels) = text.trim_end_matches('}').split_once('{').unwrap_or((text, ""));
    let (key, version) = text.split_once('@').unwrap_or((text, ""));
    let (namespace, name) = key.split_once('/').unwrap_or(("default", key));
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let labels: BTreeMap<String, String> = labels
        .split(',')
        .filter_map(|label| label.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    Arc::new(Pod {
        metadata: ObjectMeta {
            namespace: some(namespace),
            name: some(name),
            uid: Some(some(uid).unwrap_or_else(|| format!("uid-of-{name}"))),
            resource_version: some(version),
            labels: (!labels.is_empty()).then_some(labels),
            ..ObjectMeta::default()
        },
        ..Pod::default()
    })
}

/// A pod as [`pod`] reads it, without its UID.
pub(crate) fn show(pod: &Pod) -> String {
    let key = ObjectKey::of(&pod.metadata).expect("every pod of a test has a name");
    let labels: Vec<String> = (pod.metadata.labels.iter().flatten())
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let labels = match labels.as_slice() {
        [] => String::new(),
        labels => format!("{{{}}}", labels.join(",")),
    };
    format!("{}@{}{labels}", short(&key), version_of(pod))
}

/// A key, without the namespace if it is `default`.
pub(crate) fn short(key: &ObjectKey) -> String {
    key.to_string().trim_start_matches("default/").to_owned()
}

/// An event on one short line, such as `add(initial) a@1`.
pub(crate) fn describe(event: &Event<Pod>) -> String {
    match event {
        Event::Added { object, origin, .. } => match origin {
            Origin::Initial => format!("add(initial) {}", show(object)),
            _ => format!("add {}", show(object)),
        },
        Event::Updated { old, new, cause, .. } => match cause {
            UpdateCause::Resync => format!("resync {}", show(new)),
            _ => format!("update {}->{}", show(old), version_of(new)),
        },
        Event::Deleted(Deleted::Observed(object)) => format!("delete {}", show(object)),
        Event::Deleted(Deleted::Missed { last_known, .. }) => format!("delete(missed) {}", show(last_known)),
    }
}

fn version_of(pod: &Pod) -> &str {
    pod.metadata.resource_version.as_deref().unwrap_or_default()
}

/// An object that cannot be decoded, of which the key can be read if there is one.
pub(crate) fn undecodable(text: Option<&str>) -> Undecodable {
    let pod = text.map(pod);
    Undecodable {
        key: pod.as_ref().and_then(|pod| ObjectKey::of(&pod.metadata)),
        version: pod.as_ref().and_then(|pod| ResourceVersion::of(&pod.metadata)),
        uid: pod.and_then(|pod| pod.metadata.uid.clone()),
        reason: "not a pod".to_owned(),
    }
}

/// An error answer of this code and reason.
pub(crate) fn status(code: u16, reason: &str) -> SourceError {
    SourceError::Status {
        status: ServerStatus {
            code,
            reason: reason.to_owned(),
            ..ServerStatus::default()
        },
    }
}

pub(crate) fn expired() -> SourceError {
    status(410, "Expired")
}

pub(crate) fn refused() -> SourceError {
    SourceError::Connect("connection refused".to_owned())
}

/// 429, with an optional `Retry-After`.
pub(crate) fn too_many(retry_after: Option<Duration>) -> SourceError {
    SourceError::Status {
        status: ServerStatus {
            code: 429,
            reason: "TooManyRequests".to_owned(),
            retry_after,
            ..ServerStatus::default()
        },
    }
}
