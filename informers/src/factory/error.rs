//! What can go wrong with a factory, each with what to do about it.

use std::collections::BTreeSet;
use std::time::Duration;

use informer_core::BuildError;

/// Why a factory cannot be made.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum FactoryBuildError {
    /// An option for all kinds is not valid.
    #[error("cannot use an option of the factory: {0}")]
    Defaults(BuildError),
    /// An option for one kind is not valid.
    #[error("cannot use the options for {resource}: {error}")]
    Kind {
        /// The resource: `pods`, `deployments.apps`.
        resource: String,
        /// What is wrong.
        error: BuildError,
    },
    /// A kind that is known at run time only has a name that no resource can have.
    #[error(transparent)]
    Resource(#[from] ResourceError),
    /// One kind was given options twice.
    #[error("{resource} were given options twice; put them into one `kind`")]
    KindTwice {
        /// The resource: `pods`, `deployments.apps`.
        resource: String,
    },
}

/// A name that no resource can have.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{part} {text:?} cannot be part of a resource's name: lower-case letters, digits, `-` and `.` only{}",
    if text.is_empty() { ", and not empty" } else { "" }
)]
#[non_exhaustive]
pub struct ResourceError {
    /// Which part: `group`, `version` or `resource`.
    pub part: &'static str,
    /// Its text.
    pub text: String,
}

/// Why a resource cannot be found by its name.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// The server has nothing of this name.
    #[error(
        "the server has no resource called {name:?}; `kubectl api-resources` shows what it has{}",
        unavailable_groups(unavailable)
    )]
    Unknown {
        /// The name that was looked for.
        name: String,
        /// The groups whose own servers do not answer now: it may be in one of them.
        unavailable: BTreeSet<String>,
    },
    /// It cannot be listed and watched.
    #[error("{resource} can only be asked to {}: there can be no informer for it", verbs.join(", "))]
    NotWatchable {
        /// The resource: `pods`, `deployments.apps`.
        resource: String,
        /// What it can do.
        verbs: Vec<String>,
    },
    /// It was asked for by [`for_resource`](crate::SharedInformerFactory::for_resource) before, which took it to be namespaced.
    #[error(
        "{resource} are cluster-scoped, but `for_resource` has made an informer of them for the factory's namespaces; call `find` first"
    )]
    TakenAsNamespaced {
        /// The resource: `nodes`.
        resource: String,
    },
    /// The server named a resource in a way that cannot be used.
    #[error(transparent)]
    Resource(#[from] ResourceError),
    /// The server did not say what it has.
    #[error("cannot ask the server which resources it has: {0}")]
    Discovery(Box<kube::Error>),
    /// The server took too long.
    #[error("the server did not say within {after:?} which resources it has")]
    Timeout {
        /// How long was waited.
        after: Duration,
    },
}

informer_core::__debug_is_the_message!(FactoryBuildError, ResourceError, LookupError);

fn unavailable_groups(groups: &BTreeSet<String>) -> String {
    let names: Vec<&str> = groups.iter().map(String::as_str).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!(" (these groups do not answer now: {})", names.join(", ")),
    }
}

/// The parts of a resource's name become parts of a path, so nothing else may pass.
pub(super) fn check_resource(group: &str, version: &str, plural: &str) -> Result<(), ResourceError> {
    let is_sound = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte))
            && !text.split('.').any(str::is_empty)
    };
    let parts = [("group", group), ("version", version), ("resource", plural)];
    for (part, text) in parts {
        let may_be_empty = part == "group" && text.is_empty();
        if !may_be_empty && (text.len() > 253 || !is_sound(text)) {
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
    fn names_that_would_leave_their_place_in_a_path_are_refused() {
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
