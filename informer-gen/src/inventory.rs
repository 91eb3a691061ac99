//! Every built-in kind that can be listed, as a table that is checked in.
//!
//! The table, `inventory/resources.txt`, covers each Kubernetes release that k8s-openapi supports. It is
//! written by `cargo xtask codegen` from k8s-openapi's sources, and CI fails when the two disagree.
//!
//! ```
//! use informer_gen::inventory::{builtin, Scope};
//!
//! let pod = builtin().iter().find(|resource| resource.kind == "Pod").expect("every release has pods");
//! assert_eq!((pod.api_version().as_str(), pod.plural.as_str()), ("v1", "pods"));
//! assert_eq!(pod.scope, Scope::Namespaced);
//! ```

pub mod fields;
#[cfg(feature = "scan")]
pub mod fields_scan;
mod known;
pub mod protobuf;
#[cfg(feature = "scan")]
pub mod scan;
mod table;

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

pub use table::{TableError, parse, render};

/// The checked-in table, as text.
pub const TABLE: &str = include_str!("../inventory/resources.txt");

/// Every built-in kind in the checked-in table, sorted by group, version and kind.
///
/// The slice is parsed on the first call and lives as long as the program.
pub fn builtin() -> &'static [Resource] {
    static BUILTIN: LazyLock<Vec<Resource>> =
        LazyLock::new(|| parse(TABLE).expect("a test parses the checked-in table"));
    &BUILTIN
}

/// One kind in one version of its group: a row of the table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resource {
    /// The API group, empty for the core group.
    pub group: String,
    /// The version within the group, such as `v1` or `v1beta1`.
    pub version: String,
    /// The kind as it stands in a manifest, such as `Pod`.
    pub kind: String,
    /// The name in the URL, such as `pods`.
    pub plural: String,
    /// Whether objects live in a namespace.
    pub scope: Scope,
    /// The oldest release of the table that has the kind. It may be older than the table reaches back.
    pub since: Release,
    /// The last release that has the kind, or `None` while the newest release of the table still has it.
    pub until: Option<Release>,
    /// The path of the type below the root of k8s-openapi, such as `api::core::v1::Pod`.
    pub path: String,
    /// Whether the API server answers a WATCH for it.
    pub watchable: Watchable,
}

impl Resource {
    /// The `apiVersion` of a manifest: `v1` in the core group, `group/version` elsewhere.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Whether the kind exists in `release`. Meaningful only for releases between [`OLDEST`] and [`NEWEST`].
    pub fn exists_in(&self, release: Release) -> bool {
        self.since <= release && self.until.is_none_or(|until| release <= until)
    }
}

/// Whether objects of a kind live in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Each object belongs to one namespace.
    Namespaced,
    /// Objects belong to the cluster.
    Cluster,
}

/// Whether the API server answers a WATCH for a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Watchable {
    /// LIST and WATCH both work.
    Yes,
    /// Only LIST works, so there can be no informer. `ComponentStatus`, computed on each request, is the only
    /// one.
    ListOnly,
}

/// The oldest Kubernetes release in the table.
pub const OLDEST: Release = known::KINDS[0].0;
/// The newest Kubernetes release in the table.
pub const NEWEST: Release = known::KINDS[known::KINDS.len() - 1].0;

/// A Kubernetes minor release; prints and parses as `1.37`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// The number after `1.`.
    pub minor: u8,
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.minor)
    }
}

/// The text is not of the form `1.37`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a Kubernetes release such as `1.37`")]
pub struct ParseReleaseError(String);

impl FromStr for Release {
    type Err = ParseReleaseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.strip_prefix("1.")
            .and_then(|minor| minor.parse().ok())
            .map(|minor| Self { minor })
            .ok_or_else(|| ParseReleaseError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count_in(release: Release) -> usize {
        builtin()
            .iter()
            .filter(|resource| resource.exists_in(release))
            .count()
    }

    #[test]
    fn each_release_has_the_known_number_of_kinds() {
        let counts = known::KINDS.map(|(release, _)| (release, count_in(release)));
        assert_eq!(counts, known::KINDS);
    }

    #[test]
    fn the_known_releases_have_no_gaps() {
        let minors: Vec<u8> = known::KINDS.iter().map(|(release, _)| release.minor).collect();
        assert_eq!(minors, Vec::from_iter(OLDEST.minor..=NEWEST.minor));
    }

    #[test]
    fn the_union_and_the_common_part_have_the_known_sizes() {
        let in_all = |resource: &&Resource| resource.since == OLDEST && resource.until.is_none();
        assert_eq!(
            (builtin().len(), builtin().iter().filter(in_all).count()),
            (known::KINDS_IN_ANY, known::KINDS_IN_EVERY)
        );
    }

    #[test]
    fn only_component_status_cannot_be_watched() {
        let list_only: Vec<&str> = builtin()
            .iter()
            .filter(|resource| resource.watchable == Watchable::ListOnly)
            .map(|resource| resource.kind.as_str())
            .collect();
        assert_eq!(list_only, ["ComponentStatus"]);
    }

    #[test]
    fn a_kind_that_came_and_went_exists_only_in_between() {
        let workload = builtin()
            .iter()
            .find(|resource| resource.kind == "Workload" && resource.version == "v1alpha1")
            .expect("1.35 has it");
        let present: Vec<u8> = (OLDEST.minor..=NEWEST.minor)
            .filter(|&minor| workload.exists_in(Release { minor }))
            .collect();
        assert_eq!(present, [35]);
    }
}
