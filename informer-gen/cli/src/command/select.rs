//! Selects definitions by the names and groups on the command line.

use std::collections::BTreeSet;

use informer_gen::crd::{Found, Reading};

use crate::Error;
use crate::args::Crd;

/// One name on the command line.
pub(super) struct Name<'a> {
    /// `foos.example.com`.
    pub(super) definition: &'a str,
    /// A selected version.
    version: Option<&'a str>,
}

/// The names on the command line.
pub(super) fn names(arguments: &Crd) -> Vec<Name<'_>> {
    let names = arguments.names.iter().map(|name| match name.split_once('/') {
        Some((definition, version)) => Name {
            definition,
            version: Some(version),
        },
        None => Name {
            definition: name,
            version: None,
        },
    });
    names.collect()
}

/// Removes definitions that were not selected from `reading`; fails if a selected one is missing, or if none
/// is left.
pub(super) fn select(reading: &mut Reading, arguments: &Crd, origin: &str) -> Result<(), Error> {
    let origin = origin.to_owned();
    let wanted = names(arguments);
    let known: BTreeSet<String> = reading
        .found
        .iter()
        .map(|found| found.definition.name())
        .collect();
    let groups: BTreeSet<String> = reading
        .found
        .iter()
        .map(|found| found.definition.group.clone())
        .collect();
    if let Some(name) = wanted.iter().find(|name| !known.contains(name.definition)) {
        return Err(Error::UnknownName {
            name: name.definition.to_owned(),
            origin,
            known: known.into_iter().collect(),
        });
    }
    if known.is_empty() && arguments.group.is_empty() {
        return Err(Error::NoDefinition {
            origin,
            passed_over: reading.passed_over,
            not_objects: reading.not_objects,
        });
    }
    if let Some(group) = arguments.group.iter().find(|&group| !groups.contains(group)) {
        return Err(Error::UnknownGroup {
            group: group.clone(),
            origin,
            known: groups.into_iter().collect(),
        });
    }
    reading.found.retain(|found| {
        let name = found.definition.name();
        let is_named = wanted.is_empty() || wanted.iter().any(|wanted| wanted.definition == name);
        is_named && (arguments.group.is_empty() || arguments.group.contains(&found.definition.group))
    });
    for found in &mut reading.found {
        keep_versions(found, &wanted)?;
    }
    match reading.found.is_empty() {
        true => Err(Error::NothingSelected),
        false => Ok(()),
    }
}

/// Removes versions of a definition that were not selected. Without a selected version, all are kept.
fn keep_versions(found: &mut Found, wanted: &[Name<'_>]) -> Result<(), Error> {
    let name = found.definition.name();
    let of_this = wanted.iter().filter(|wanted| wanted.definition == name);
    let versions: Option<Vec<&str>> = of_this.map(|wanted| wanted.version).collect();
    let Some(versions) = versions.filter(|versions| !versions.is_empty()) else {
        return Ok(());
    };
    let served = found.definition.versions.iter().filter(|version| version.served);
    let known: Vec<String> = served.map(|version| version.name.clone()).collect();
    let is_known = |version: &str| known.iter().any(|known| known == version);
    if let Some(version) = versions.iter().find(|version| !is_known(version)) {
        return Err(Error::UnknownVersion {
            name,
            version: (*version).to_owned(),
            known,
        });
    }
    found.keep_versions(&versions);
    Ok(())
}
