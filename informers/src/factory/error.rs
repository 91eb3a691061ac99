//! Errors of the factory.

use std::collections::BTreeSet;
use std::time::Duration;

use informer_core::BuildError;

/// An error from building a factory.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum FactoryBuildError {
    /// An option for all kinds is invalid.
    #[error("cannot use an option of the factory: {0}")]
    Defaults(BuildError),
    /// An option for one kind is invalid.
    #[error("cannot use the options for {resource}: {error}")]
    Kind {
        /// The resource: `pods`, `deployments.apps`.
        resource: String,
        /// What is wrong.
        error: BuildError,
    },
    /// A kind that is known only at run time has an invalid resource name.
    #[error(transparent)]
    Resource(#[from] ResourceError),
    /// The options of one kind were set twice.
    #[error("the options for {resource} are set twice; merge them into one call of `kind`")]
    KindTwice {
        /// The resource: `pods`, `deployments.apps`.
        resource: String,
    },
}

/// An invalid resource name.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid {part} {text:?} in a resource name: use lower-case letters, digits, `-` and `.`{}",
    if text.is_empty() { ", and at least one character" } else { "" }
)]
#[non_exhaustive]
pub struct ResourceError {
    /// Which part: `group`, `version` or `resource`.
    pub part: &'static str,
    /// Its text.
    pub text: String,
}

/// An error from looking up a resource by its name.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// The server has no resource of this name.
    #[error(
        "the server has no resource {name:?}; `kubectl api-resources` lists its resources{}",
        unavailable_groups(unavailable)
    )]
    Unknown {
        /// The name that was looked up.
        name: String,
        /// The groups whose servers do not respond now: the resource may be in one of them.
        unavailable: BTreeSet<String>,
    },
    /// The resource cannot be listed and watched.
    #[error("cannot watch {resource}: it supports only {}", verbs.join(", "))]
    NotWatchable {
        /// The resource: `pods`, `deployments.apps`.
        resource: String,
        /// The verbs it supports.
        verbs: Vec<String>,
    },
    /// [`for_resource`](crate::SharedInformerFactory::for_resource) requested it before, and assumed that it
    /// is namespaced.
    #[error(
        "{resource} are cluster-scoped, but `for_resource` created their informer for single namespaces; \
         call `find` first"
    )]
    TakenAsNamespaced {
        /// The resource: `nodes`.
        resource: String,
    },
    /// The server reported an invalid resource name.
    #[error(transparent)]
    Resource(#[from] ResourceError),
    /// The discovery request failed.
    #[error("cannot discover the resources of the server: {0}")]
    Discovery(Box<kube::Error>),
    /// The discovery request timed out.
    #[error("the discovery of the server's resources timed out after {after:?}")]
    Timeout {
        /// The time limit.
        after: Duration,
    },
}

informer_core::__debug_is_the_message!(FactoryBuildError, ResourceError, LookupError);

fn unavailable_groups(groups: &BTreeSet<String>) -> String {
    let names: Vec<&str> = groups.iter().map(String::as_str).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!(" (these groups do not respond now: {})", names.join(", ")),
    }
}

/// Validates a resource name. Its parts become parts of a URL path, so nothing else may pass.
pub(super) fn check_resource(group: &str, version: &str, plural: &str) -> Result<(), ResourceError> {
    let is_valid = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte))
            && !text.split('.').any(str::is_empty)
    };
    let parts = [("group", group), ("version", version), ("resource", plural)];
    for (part, text) in parts {
        let may_be_empty = part == "group" && text.is_empty();
        if !may_be_empty && (text.len() > 253 || !is_valid(text)) {
            return Err(ResourceError {
                part,
                text: text.to_owned(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(group: &str, version: &str, plural: &str, expected: Option<&str>) {
        let part = check_resource(group, version, plural)
            .err()
            .map(|error| error.part);
        assert_eq!(part, expected, "{group}/{version}/{plural}");
    }

    #[test]
    fn names_that_are_unsafe_in_a_path_are_rejected() {
        check("", "v1", "pods", None);
        check("cert-manager.io", "v1alpha2", "certificate-requests", None);
        check("apps/v1", "v1", "deployments", Some("group"));
        check("..", "v1", "deployments", Some("group"));
        check("apps", "", "deployments", Some("version"));
        check("apps", "v1", "", Some("resource"));
        check("apps", "v1", "deployments/status", Some("resource"));
        check("apps", "v1", "Deployment", Some("resource"));
        check("apps", "v1", &"x".repeat(300), Some("resource"));
    }
}
