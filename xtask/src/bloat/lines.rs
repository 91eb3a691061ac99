//! Counts the lines of generated source per kind.

use std::fmt;

use informer_gen::emit;
use informer_gen::inventory::{OLDEST, Resource, Scope, Watchable, builtin};

use crate::{Result, workspace};

/// The crates whose generated sources users compile.
const COUNTED: [&str; 2] = ["informers/src/generated", "listers/src/generated"];

/// The numbers of the whole table.
pub(super) struct Lines {
    kinds: usize,
    /// All lines, including the modules of groups and versions.
    all: usize,
    /// The lines of the kinds alone.
    own: usize,
    pub(super) largest: Need,
}

/// The lines of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) lines: usize,
    pub(super) kind: String,
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kinds,
            all,
            own,
            largest,
        } = self;
        write!(
            f,
            "source: {all} generated lines, {own} of them for {kinds} kinds ({} each, at most {} for {})",
            own.div_ceil(*kinds),
            largest.lines,
            largest.kind
        )
    }
}

pub(super) fn measure() -> Result<Lines> {
    let mut needs = Vec::new();
    for row in builtin().iter().filter(|row| row.watchable == Watchable::Yes) {
        needs.push(Need {
            lines: needed(row)?,
            kind: format!("{} {}", row.api_version(), row.kind),
        });
    }
    let largest = needs
        .iter()
        .max_by_key(|need| need.lines)
        .ok_or("the table has no kinds")?;
    Ok(Lines {
        kinds: needs.len(),
        all: checked_in()?,
        own: needs.iter().map(|need| need.lines).sum(),
        largest: largest.clone(),
    })
}

/// The lines that the kind adds to a version which exists already in every release.
fn needed(row: &Resource) -> Result<usize> {
    let (types, _) = row.path.rsplit_once("::").ok_or("a path without a module")?;
    let neighbour = Resource {
        kind: "Neighbour".to_owned(),
        plural: "neighbours".to_owned(),
        path: format!("{types}::Neighbour"),
        scope: Scope::Namespaced,
        since: OLDEST,
        until: None,
        ..row.clone()
    };
    let alone = generated(std::slice::from_ref(&neighbour))?;
    Ok(generated(&[row.clone(), neighbour])?.saturating_sub(alone))
}

/// The number of lines generated for the rows.
fn generated(rows: &[Resource]) -> Result<usize> {
    let files = emit::emit(rows)?;
    let counted = files.iter().filter(|(path, _)| is_counted(path));
    Ok(counted.map(|(_, text)| text.lines().count()).sum())
}

/// The number of lines that are checked in.
fn checked_in() -> Result<usize> {
    let mut lines = 0;
    for path in emit::emit(builtin())?.keys().filter(|path| is_counted(path)) {
        lines += std::fs::read_to_string(workspace::root().join(path))?
            .lines()
            .count();
    }
    Ok(lines)
}

fn is_counted(path: &str) -> bool {
    COUNTED.iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_needed(api_version: &str, kind: &str, expected: usize) {
        let row = builtin()
            .iter()
            .find(|row| row.api_version() == api_version && row.kind == kind)
            .expect("a kind of the table");
        assert_eq!(needed(row).unwrap(), expected, "{kind}");
    }

    #[test]
    fn a_kind_needs_what_it_adds_to_its_version() {
        check_needed("v1", "Pod", 14);
        check_needed("v1", "Node", 7);
    }

    #[test]
    fn a_condition_on_releases_counts() {
        check_needed("certificates.k8s.io/v1alpha1", "PodCertificateRequest", 20);
    }
}
