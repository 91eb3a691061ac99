//! The proof: crates generated from the CRDs of real projects compile, and decode the projects' objects
//! without loss.
//!
//! Each subfolder of the given folder is a project, with `crds/` and `objects/`; those that CI uses are not
//! part of this repository. So is each JSON file, a list of definitions, as in `tests/corpus`: its objects
//! are random ones. The generated crates are built below the target folder, offline and with the lock file of
//! this workspace.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace::{self, cargo};
use crate::{Result, artifact, process};

/// The environment variable that names the folder of the CRDs.
const VARIABLE: &str = "INFORMER_CRDS";

/// The folder of the CRDs, relative to the root of the workspace, if [`VARIABLE`] is not set.
// CI has no variables of its own and finds the CRDs here; without a default it would skip the step.
const DEFAULT: &str = "../shared/crds";

/// The folder of the CRDs: that of the environment, or the default one.
pub(crate) fn folder() -> String {
    std::env::var(VARIABLE).unwrap_or_else(|_| DEFAULT.to_owned())
}

/// Whether the proof ran.
pub(crate) enum Outcome {
    /// The number of decoded objects, as text.
    Ran(String),
    /// No CRDs were found.
    Skipped(String),
}

/// One project and its generated kinds.
struct Project {
    name: String,
    /// The name of the crate in code.
    module: String,
    objects: Objects,
    kinds: Vec<Kind>,
}

/// The objects of a project.
enum Objects {
    /// Manifests in this folder.
    Given(PathBuf),
    /// Random objects of the definitions in this file.
    Random(PathBuf),
}

/// One kind in one version.
pub(super) struct Kind {
    api_version: String,
    kind: String,
    /// Its type, below the crate.
    path: String,
}

/// Generates, compiles and decodes everything in `folder`, a path relative to the root of the workspace.
pub(crate) fn proof(folder: &str) -> Result<Outcome> {
    let folder = workspace::root().join(folder);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        let reason = format!("no CRDs in {}; {VARIABLE} names another folder", folder.display());
        println!("crd --proof: skipped: {reason}");
        return Ok(Outcome::Skipped(reason));
    };
    let mut folders = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<PathBuf>>>()?;
    let is_list = |path: &Path| path.extension().is_some_and(|extension| extension == "json");
    folders.retain(|path| path.join("crds").is_dir() || is_list(path));
    folders.sort();
    if folders.is_empty() {
        let folder = folder.display();
        return Err(format!("{folder} has no subfolder with a folder `crds`, and no JSON file").into());
    }
    let place = workspace::target()?.join("crd-proof");
    let _absent = std::fs::remove_dir_all(&place);
    // With these arguments, `cargo test` has built it already.
    let tests = ["test", "--workspace", "--test", "crd", "--no-run"];
    let program = artifact::build("informer-gen/cli", "informer-gen", &tests)?;
    let projects = folders
        .iter()
        .map(|folder| generate(&program, &place, folder))
        .collect::<Result<Vec<_>>>()?;
    write_decoder(&place, &projects)?;
    let output = process::run_and_read(&mut decoder(&place, &projects))?;
    Ok(Outcome::Ran(output.lines().last().unwrap_or_default().to_owned()))
}

/// Writes the crate of a project, with a manifest that depends on this workspace instead of published crates.
fn generate(program: &Path, place: &Path, folder: &Path) -> Result<Project> {
    let (definitions, objects) = match folder.is_dir() {
        true => (folder.join("crds"), Objects::Given(folder.join("objects"))),
        false => (folder.to_owned(), Objects::Random(folder.to_owned())),
    };
    let name = folder
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let out = place.join(&name);
    write(&out.join("Cargo.toml"), &manifest(&name, &[]))?;
    let mut command = Command::new(program);
    command.arg("crd").arg("-f").arg(definitions);
    command.args(["--crate", &name, "--out"]).arg(&out);
    let output = process::run_and_read(&mut command)?;
    let kinds: Vec<Kind> = output.lines().filter_map(kind).collect();
    if kinds.is_empty() {
        return Err(format!("nothing was generated for {name}").into());
    }
    // Generating twice gives the same text.
    process::run(command.arg("--check"))?;
    Ok(Project {
        module: name.replace('-', "_"),
        objects,
        name,
        kinds,
    })
}

/// Parses the line that the program prints for a kind:
/// `example.com/v1 Foo -> out/src/example_com/v1/foo.rs (2 types)`.
pub(super) fn kind(line: &str) -> Option<Kind> {
    let (what, place) = line.split_once(" -> ")?;
    let (api_version, kind) = what.split_once(' ')?;
    let (path, _) = place.rsplit_once(" (")?;
    let mut modules = path.rsplit('/').skip(1);
    let (version, group) = (modules.next()?, modules.next()?);
    Some(Kind {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        path: format!("{group}::{version}::{kind}"),
    })
}

/// A workspace of the generated crates and a program that decodes objects with them.
fn write_decoder(place: &Path, projects: &[Project]) -> Result<()> {
    let members: Vec<String> = projects
        .iter()
        .map(|project| format!("\"{}\"", project.name))
        .collect();
    // The profile of this workspace, so that its dependencies are not built again.
    let root = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [\"decode\", {}]\n\n\
         [profile.dev]\ndebug = \"line-tables-only\"\n\n\
         [profile.dev.package.\"*\"]\ndebug = false\n",
        members.join(", ")
    );
    write(&place.join("Cargo.toml"), &root)?;
    std::fs::copy(workspace::root().join("Cargo.lock"), place.join("Cargo.lock"))?;
    let testing = workspace::root().join("tests/testing");
    let testing = format!("informer-testing = {{ path = {testing:?} }}\n");
    write(
        &place.join("decode/Cargo.toml"),
        &(manifest("decode", projects) + &testing),
    )?;
    let arms: String = projects
        .iter()
        .flat_map(|project| project.kinds.iter().map(move |kind| arm(project, kind)))
        .collect();
    let program = include_str!("decode.txt").replace("{arms}", &arms);
    write(&place.join("decode/src/main.rs"), &program)
}

fn arm(project: &Project, kind: &Kind) -> String {
    let Kind {
        api_version,
        kind,
        path,
    } = kind;
    format!(
        "        ({api_version:?}, {kind:?}) => pass::<{}::{path}>,\n",
        project.module
    )
}

/// The manifest of a crate with the dependencies of generated crates, and on these projects.
fn manifest(name: &str, projects: &[Project]) -> String {
    let informers = workspace::root().join("informers");
    let projects: String = projects
        .iter()
        .map(|project| format!("{0} = {{ path = \"../{0}\" }}\n", project.name))
        .collect();
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n\
         [dependencies]\n{projects}informers = {{ path = {informers:?} }}\n\
         k8s-openapi = {{ version = \"0.29\", default-features = false, features = [\"std\"] }}\n\
         kube = {{ version = \"5\", default-features = false }}\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\n\
         serde-saphyr = \"2\"\nserde_json = \"1\"\n"
    )
}

fn decoder(place: &Path, projects: &[Project]) -> Command {
    let mut command = cargo();
    command.args(["run", "--offline", "--manifest-path"]);
    command.arg(place.join("Cargo.toml"));
    command.args(["--package", "decode", "--"]);
    command.args(projects.iter().map(|project| match &project.objects {
        Objects::Given(path) | Objects::Random(path) => path,
    }));
    if let Ok(target) = workspace::target() {
        command.env("CARGO_TARGET_DIR", target);
    }
    command
}

/// Writes a file, and creates its folder.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_is_parsed_from_a_line_of_output() {
        let line = "cert-manager.io/v1 Issuer -> a/src/cert_manager_io/v1/issuer.rs (162 types)";
        let found = kind(line).expect("the line describes a kind");
        assert_eq!(
            (found.api_version.as_str(), found.path.as_str()),
            ("cert-manager.io/v1", "cert_manager_io::v1::Issuer")
        );
        assert!(kind("wrote 12 files, 0 unchanged").is_none());
        assert!(kind("shared -> a/src/shared.rs (12 types)").is_none());
    }
}
