//! What a saved cache belongs to. A file is used only if all of it is equal.

use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::format::Refused;
use crate::printable::Printable;
use crate::scope::Scope;

/// The longest part of a file's name that is taken from a resource or a namespace.
const PART: usize = 100;

/// What a saved cache belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Identity {
    /// Empty until it is known: see [`of_cluster`](Self::of_cluster).
    pub(crate) cluster: String,
    /// `deployments.apps`, with the type if it is a projection.
    pub(crate) resource: String,
    /// `apps/v1`; empty for a custom source.
    pub(crate) api_version: String,
    /// The Rust type of the objects.
    pub(crate) kind: String,
    pub(crate) scope: String,
    /// Selectors, further parameters, and whether managed fields are kept.
    pub(crate) selection: String,
    /// The program, or the revision it gives.
    pub(crate) revision: String,
}

impl Identity {
    pub(crate) fn of_cluster(&self, cluster: String) -> Self {
        Self {
            cluster,
            ..self.clone()
        }
    }

    pub(crate) fn of_scope(&self, scope: &Scope) -> Self {
        Self {
            scope: scope.to_string(),
            ..self.clone()
        }
    }

    /// Compares the identity in a file (`self`) with that of the informer.
    pub(super) fn check(&self, present: &Self) -> Result<(), Refused> {
        let parts = [
            ("cluster", &self.cluster, &present.cluster),
            ("resource", &self.resource, &present.resource),
            ("version of the API", &self.api_version, &present.api_version),
            ("type", &self.kind, &present.kind),
            ("scope", &self.scope, &present.scope),
            ("selection", &self.selection, &present.selection),
            ("revision of the program", &self.revision, &present.revision),
        ];
        match parts.into_iter().find(|(_, saved, present)| saved != present) {
            None => Ok(()),
            Some((what, saved, present)) => Err(Refused::Foreign {
                what,
                saved: Printable::name(saved).to_string(),
                present: Printable::name(present).to_string(),
            }),
        }
    }

    /// One file per resource, type and scope. The names in it are readable; the number makes it unique, also
    /// where two names are written the same.
    pub(super) fn file_name(&self) -> String {
        let mut sum = flate2::Crc::new();
        for part in [&self.resource, &self.api_version, &self.kind, &self.scope] {
            sum.update(part.as_bytes());
            sum.update(&[0]);
        }
        let (resource, scope) = (plain(&self.resource), plain(&self.scope));
        format!("{resource}.{scope}.{:08x}.warm", sum.sum())
    }

    /// The default of [`revision`](Self::revision): size and modification time of the running program.
    pub(crate) fn of_program() -> String {
        let program = std::env::current_exe().and_then(std::fs::metadata);
        let Ok(program) = program else {
            return "unknown program".to_owned();
        };
        let modified = program.modified().ok();
        let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        format!(
            "program of {} bytes, modified at {:?}",
            program.len(),
            modified.unwrap_or_default()
        )
    }
}

/// A text as part of a file's name.
fn plain(text: &str) -> String {
    let plain = |character: char| match character.is_ascii_alphanumeric() || "-.".contains(character) {
        true => character,
        false => '_',
    };
    text.chars().take(PART).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(resource: &str, scope: &str) -> Identity {
        Identity {
            resource: resource.to_owned(),
            scope: scope.to_owned(),
            ..Identity::default()
        }
    }

    #[test]
    fn a_file_is_named_after_its_contents_and_stays_in_its_directory() {
        let name = identity("deployments.apps", "namespace web").file_name();
        assert!(name.starts_with("deployments.apps.namespace_web."), "{name}");
        let name = identity("../../etc/passwd (X)", "all namespaces").file_name();
        assert!(!name.contains(['/', '(', ' ']), "{name}");
        let long = identity(&"x".repeat(1_000), "all namespaces").file_name();
        assert!(long.len() < 255, "{long}");
    }

    #[test]
    fn names_that_are_written_the_same_have_two_files() {
        let (one, two) = (identity("a b", ""), identity("a_b", ""));
        assert_ne!(one.file_name(), two.file_name());
    }

    #[test]
    fn every_part_of_the_identity_counts() {
        let present = identity("pods", "all namespaces");
        assert!(present.check(&present).is_ok());
        let changes: [fn(&mut Identity); 7] = [
            |saved| saved.cluster.push('x'),
            |saved| saved.resource.push('x'),
            |saved| saved.api_version.push('x'),
            |saved| saved.kind.push('x'),
            |saved| saved.scope.push('x'),
            |saved| saved.selection.push('x'),
            |saved| saved.revision.push('x'),
        ];
        for change in changes {
            let mut saved = present.clone();
            change(&mut saved);
            assert!(saved.check(&present).is_err(), "{saved:?}");
        }
    }
}
