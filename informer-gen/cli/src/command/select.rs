//! Keeps what the names and groups on the command line ask for.

use std::collections::BTreeSet;

use informer_gen::crd::Reading;

use crate::Error;
use crate::args::Crd;

/// Leaves in `reading` what was asked for; an error if something was asked for that is not there, or if nothing is.
pub(super) fn select(reading: &mut Reading, arguments: &Crd, origin: &str) -> Result<(), Error> {
    let origin = origin.to_owned();
    let names: BTreeSet<String> = reading
        .found
        .iter()
        .map(|found| found.definition.name())
        .collect();
    let groups: BTreeSet<String> = reading
        .found
        .iter()
        .map(|found| found.definition.group.clone())
        .collect();
    if let Some(name) = arguments.names.iter().find(|&name| !names.contains(name)) {
        return Err(Error::UnknownName {
            name: name.clone(),
            origin,
            known: names.into_iter().collect(),
        });
    }
    if names.is_empty() && arguments.group.is_empty() {
        return Err(Error::NoDefinition {
            origin,
            passed_over: reading.passed_over,
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
        let is_named = arguments.names.is_empty() || arguments.names.contains(&found.definition.name());
        is_named && (arguments.group.is_empty() || arguments.group.contains(&found.definition.group))
    });
    match reading.found.is_empty() {
        true => Err(Error::NothingSelected),
        false => Ok(()),
    }
}
