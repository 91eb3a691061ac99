//! `--check --cluster`: compares a cluster with the record of the generated code.
//!
//! It compares fields instead of files: a changed description is no reason to fail, and the code may have
//! been generated from files that were never applied to the cluster.

use informer_gen::crd::Record;

use super::{record_path, select};
use crate::args::Crd;
use crate::{Console, Error};

/// Prints the differences; fails if there are any.
pub(super) fn check(arguments: &Crd, console: &mut Console<'_>) -> Result<(), Error> {
    let mut before = recorded(arguments)?;
    keep(&mut before, arguments)?;
    let names: Vec<String> = before
        .definitions
        .iter()
        .map(|definition| definition.name.clone())
        .collect();
    let now = of_cluster(&names)?;
    let drift = before.drift(&now);
    if drift.is_empty() {
        writeln!(
            console.output,
            "the cluster matches the generated code: {}",
            names.join(", ")
        )?;
        return Ok(());
    }
    for drift in &drift {
        writeln!(console.output, "{drift}")?;
    }
    Err(Error::Differs {
        what: match drift.len() {
            1 => "the cluster differs from the generated code in 1 place".to_owned(),
            count => format!("the cluster differs from the generated code in {count} places"),
        },
        command: "the same command without --check".to_owned(),
    })
}

fn recorded(arguments: &Crd) -> Result<Record, Error> {
    let path = record_path(arguments);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(source) => return Err(Error::NoRecord { path, source }),
    };
    Record::parse(&text).map_err(|problem| Error::Record { path, problem })
}

/// Removes definitions that were not selected from the record. A version in a name makes no difference,
/// because the record contains only generated versions.
fn keep(record: &mut Record, arguments: &Crd) -> Result<(), Error> {
    let origin = record_path(arguments).display().to_string();
    let known: Vec<String> = record
        .definitions
        .iter()
        .map(|definition| definition.name.clone())
        .collect();
    let group = |name: &str| name.split_once('.').map_or("", |(_, group)| group).to_owned();
    let names: Vec<&str> = select::names(arguments)
        .iter()
        .map(|name| name.definition)
        .collect();
    let is_known = |name: &str| known.iter().any(|known| known == name);
    if let Some(name) = names.iter().find(|name| !is_known(name)) {
        let name = (*name).to_owned();
        return Err(Error::UnknownName { name, origin, known });
    }
    let is_known = |wanted: &str| known.iter().any(|name| group(name) == wanted);
    if let Some(wanted) = arguments.group.iter().find(|wanted| !is_known(wanted)) {
        let group = wanted.clone();
        return Err(Error::UnknownGroup { group, origin, known });
    }
    record.definitions.retain(|definition| {
        let is_named = names.is_empty() || names.contains(&definition.name.as_str());
        is_named && (arguments.group.is_empty() || arguments.group.contains(&group(&definition.name)))
    });
    match record.definitions.is_empty() {
        true => Err(Error::NothingSelected),
        false => Ok(()),
    }
}

#[cfg(feature = "cluster")]
fn of_cluster(names: &[String]) -> Result<Record, Error> {
    let reading = crate::cluster::read(crate::cluster::Wanted::Named(names))?;
    Ok(informer_gen::crd::record_of(&reading.found)?)
}

#[cfg(not(feature = "cluster"))]
fn of_cluster(_names: &[String]) -> Result<Record, Error> {
    Err(Error::WithoutCluster)
}
