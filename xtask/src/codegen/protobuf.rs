//! `cargo xtask codegen --protobuf`: writes the table of protobuf fields, and random objects of each release
//! for the tests. Needs Go and its module proxy.
//!
//! The Go program in `informer-gen/protobuf-dump` prints the types of the release it is linked with, so it is
//! built once for each release.

use std::path::{Path, PathBuf};
use std::process::Command;

use informer_gen::inventory::protobuf::{self, join};
use informer_gen::inventory::{NEWEST, OLDEST, Release, Resource};

use crate::{Result, process, workspace};

/// The table.
pub(super) const TABLE: &str = "informer-gen/inventory/protobuf.txt";

/// The folder of the random objects that the equality tests compare, a file for each release.
const CORPUS: &str = "informers/protobuf/tests/equality";
const OBJECTS_PER_KIND: &str = "3";

const PROGRAM: &str = "informer-gen/protobuf-dump";
const MODULES: [&str; 5] = [
    "api",
    "apiextensions-apiserver",
    "apimachinery",
    "client-go",
    "kube-aggregator",
];

/// Writes the table.
pub(super) fn write(resources: &[Resource]) -> Result<()> {
    let mut dumps = Vec::new();
    for minor in OLDEST.minor..=NEWEST.minor {
        let release = Release { minor };
        let program = program_of(release)?;
        dumps.push((release, go(&program, &["run", ".", "fields"])?));
        let objects = go(&program, &["run", ".", "corpus", OBJECTS_PER_KIND])?;
        let corpus = workspace::root().join(format!("{CORPUS}/corpus-{release}.txt"));
        std::fs::write(corpus, objects)?;
    }
    let table = join::join(&workspace::sources_of("k8s-openapi")?, resources, &dumps)?;
    for kind in &table.json_only {
        println!("read as JSON: {} ({})", kind.path, kind.reason);
    }
    let (kinds, messages) = (table.kinds.len(), table.messages.len());
    std::fs::write(workspace::root().join(TABLE), protobuf::render(&table))?;
    println!("wrote {TABLE}: {kinds} kinds, {messages} messages");
    Ok(())
}

/// Returns a folder below `target` with the Go program for one release.
fn program_of(release: Release) -> Result<PathBuf> {
    let root = workspace::root();
    let folder = root.join(format!("target/protobuf-dump/{release}"));
    std::fs::create_dir_all(&folder)?;
    for entry in std::fs::read_dir(root.join(PROGRAM))? {
        let path = entry?.path();
        if let (Some("go"), Some(name)) = (path.extension().and_then(|name| name.to_str()), path.file_name())
        {
            std::fs::copy(&path, folder.join(name))?;
        }
    }
    if !folder.join("go.sum").exists() {
        let _ = std::fs::remove_file(folder.join("go.mod"));
        go(&folder, &["mod", "init", "informers/protobuf-dump"])?;
        let modules = MODULES.map(|module| format!("k8s.io/{module}@v0.{}", release.minor));
        let arguments: Vec<&str> = ["get"]
            .into_iter()
            .chain(modules.iter().map(String::as_str))
            .collect();
        go(&folder, &arguments)?;
        go(&folder, &["mod", "tidy"])?;
    }
    Ok(folder)
}

/// Runs Go and returns its standard output.
fn go(folder: &Path, arguments: &[&str]) -> Result<String> {
    process::read(Command::new("go").args(arguments).current_dir(folder))
}
