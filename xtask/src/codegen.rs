//! `cargo xtask codegen`: writes the generated files, or checks that they are fresh.
//!
//! The table of kinds and the table of unusual field names are read from the sources of k8s-openapi. The
//! typed layer is generated from the table of kinds: whole folders, a few single files, and the features of
//! the groups in two manifests.

mod manifest;
mod output;
mod protobuf;

use std::path::Path;

use informer_gen::emit::{self, Member};
use informer_gen::inventory::{self, Resource, fields, fields_scan, scan};

use self::output::Output;
use crate::{Result, workspace};

const TABLE: &str = "informer-gen/inventory/resources.txt";
const FIELDS: &str = "informer-gen/inventory/fields.txt";
const MANIFESTS: [(&str, Member); 3] = [
    ("informers/Cargo.toml", Member::Informers),
    ("informers/protobuf/Cargo.toml", Member::Protobuf),
    ("listers/Cargo.toml", Member::Listers),
];

/// Scans k8s-openapi and writes every generated file.
pub(crate) fn write() -> Result<()> {
    let resources = scanned()?;
    let output = everything(&resources)?;
    output.write(workspace::root())?;
    println!("wrote {} files for {} kinds", output.files.len(), resources.len());
    Ok(())
}

/// Writes the table of protobuf fields. Run [`write()`] after it: the generator contains the table.
pub(crate) fn write_protobuf() -> Result<()> {
    protobuf::write(&scanned()?)?;
    println!("run `cargo xtask codegen` to write the decoders");
    Ok(())
}

/// Fails if [`write()`] would change a file, with the list of these files.
pub(crate) fn check() -> Result<()> {
    let resources = scanned()?;
    let table = std::fs::read_to_string(workspace::root().join(TABLE))?;
    // Compared first, because a difference in kinds explains the differences in all other files.
    scan::check_fresh(&table, &resources).map_err(|stale| advise(&format!("{TABLE} is stale: {stale}")))?;
    let output = everything(&resources)?;
    let differences = output.differences(workspace::root())?;
    if differences.is_empty() {
        println!(
            "fresh: {} files for {} kinds",
            output.files.len(),
            resources.len()
        );
        return Ok(());
    }
    let lines: Vec<String> = differences.iter().map(ToString::to_string).collect();
    Err(advise(&format!("generated files are stale:\n  {}", lines.join("\n  "))).into())
}

fn advise(problem: &str) -> String {
    format!("{problem}\n  run `cargo xtask codegen` to write them again")
}

fn scanned() -> Result<Vec<Resource>> {
    Ok(scan::scan(&workspace::sources_of("k8s-openapi")?)?)
}

/// Every generated file.
fn everything(resources: &[Resource]) -> Result<Output> {
    let mut output = generated(workspace::root(), resources)?;
    let rows = fields_scan::scan(&workspace::sources_of("k8s-openapi")?)?;
    output.files.insert(FIELDS.to_owned(), fields::render(&rows));
    Ok(output)
}

/// The files generated from the rows. Only the hand-written parts of the manifests are read from `root`.
fn generated(root: &Path, resources: &[Resource]) -> Result<Output> {
    let mut files = emit::emit(resources)?;
    files.extend(emit::emit_protobuf(resources, inventory::protobuf::builtin())?);
    files.insert(TABLE.to_owned(), inventory::render(resources));
    for (path, member) in MANIFESTS {
        let present = std::fs::read_to_string(root.join(path))?;
        let features = emit::features(resources, member)?;
        let text =
            manifest::with_features(&present, &features).map_err(|problem| format!("{path}: {problem}"))?;
        files.insert(path.to_owned(), text);
    }
    Ok(Output {
        folders: emit::FOLDERS.map(str::to_owned).to_vec(),
        files,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checked_in_table_agrees_with_the_sources_of_k8s_openapi() {
        let scanned = scanned().expect("k8s-openapi is in the dependency graph");
        assert_eq!(scan::check_fresh(inventory::TABLE, &scanned), Ok(()));
    }

    #[test]
    fn the_checked_in_field_names_agree_with_the_sources_of_k8s_openapi() {
        let sources = workspace::sources_of("k8s-openapi").expect("k8s-openapi is in the dependency graph");
        let rows = fields_scan::scan(&sources).expect("its sources can be read");
        assert_eq!(fields::render(&rows), fields::TABLE);
    }

    #[test]
    fn the_workspace_is_built_with_the_newest_release_of_the_table() {
        let config = std::fs::read_to_string(workspace::root().join(".cargo/config.toml")).unwrap();
        let line = format!(
            "K8S_OPENAPI_ENABLED_VERSION = {{ value = \"{}\"",
            inventory::NEWEST
        );
        assert!(
            config.contains(&line),
            "set the version in .cargo/config.toml to {}",
            inventory::NEWEST
        );
    }

    #[test]
    fn the_checked_in_files_are_those_generated_from_the_checked_in_table() {
        let output = generated(workspace::root(), inventory::builtin()).expect("the table can be written");
        let differences = output
            .differences(workspace::root())
            .expect("the files can be read");
        assert!(differences.is_empty(), "{differences:#?}");
    }
}
