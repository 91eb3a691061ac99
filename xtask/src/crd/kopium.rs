//! `informer-gen crd` beside kopium: the figures of one run of both on the same definitions.
//!
//! kopium generates one version per run and reads one definition, so each file of the corpus is split. Both
//! programs run with their default options, one after the other.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::measure::{Size, Times};
use super::proof::{kind, write};
use crate::workspace::{self, cargo};
use crate::{Result, artifact, process};

/// The environment variable that names the program, if it is not in the path.
const VARIABLE: &str = "KOPIUM";

/// The release whose figures the documentation has.
const RELEASE: &str = "0.24.1";

/// The definitions, relative to the root of the workspace.
const CORPUS: &str = "tests/corpus";

/// What one program generated for all projects.
#[derive(Default)]
struct Figures {
    versions: usize,
    size: Size,
    time: Duration,
    compiled: usize,
    check: Duration,
}

/// Runs both programs on the corpus, and prints a Markdown table. With [`Times::Check`], it also compiles the
/// generated code of each project.
pub(crate) fn compare_kopium(times: Times) -> Result<()> {
    let kopium = std::env::var(VARIABLE).unwrap_or_else(|_| "kopium".to_owned());
    let version = installed(&kopium)?;
    let package = ["--package", "informer-gen-cli", "--no-default-features"];
    let build = [&["build", "--release"][..], &package[..]].concat();
    let program = artifact::build("informer-gen/cli", "informer-gen", &build)?;
    let place = workspace::target()?.join("crd-kopium");
    let _absent = std::fs::remove_dir_all(&place);
    let (mut theirs, mut ours) = (Figures::default(), Figures::default());
    let (mut definitions, mut versions) = (0, 0);
    let projects = projects()?;
    for path in &projects {
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let list: Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
        let items = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        definitions += items.len();
        versions += items.iter().flat_map(names_of_versions).count();
        let folder = place.join("kopium").join(&name);
        theirs.generate_by_kopium(&kopium, items, &folder)?;
        ours.generate(&program, path, &place.join("informer-gen").join(&name))?;
    }
    if times == Times::Check {
        check_all(&place, &projects, &mut theirs, &mut ours)?;
    }
    let projects = projects.len();
    println!("\n{definitions} definitions of {projects} projects, {versions} served versions\n");
    print!("{}", table(&version, &theirs, &ours, versions, projects, times));
    Ok(())
}

/// The version of kopium, as it prints it.
fn installed(kopium: &str) -> Result<String> {
    let missing = |error: String| {
        format!(
            "cannot run `{kopium} --version`: {error}; install it with `cargo install kopium --locked \
             --version {RELEASE}`, or set {VARIABLE} to the path of the program"
        )
    };
    let output = Command::new(kopium)
        .arg("--version")
        .output()
        .map_err(|error| missing(error.to_string()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(missing(output.status.to_string()).into()),
    }
}

/// The files of the corpus, sorted.
fn projects() -> Result<Vec<PathBuf>> {
    let folder = workspace::root().join(CORPUS);
    let mut paths = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<PathBuf>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    Ok(paths)
}

fn names_of_versions(definition: &Value) -> impl Iterator<Item = &str> {
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    versions.filter_map(|version| version["name"].as_str())
}

impl Figures {
    /// Writes a crate with a module for each version of each definition.
    fn generate_by_kopium(&mut self, kopium: &str, definitions: &[Value], folder: &Path) -> Result<()> {
        let mut modules = String::new();
        for (number, definition) in definitions.iter().enumerate() {
            let input = folder.join("definition.json");
            write(&input, &definition.to_string())?;
            for version in names_of_versions(definition) {
                let start = Instant::now();
                let mut command = Command::new(kopium);
                command.arg("-f").arg(&input).args(["--api-version", version]);
                let output = command.output()?;
                self.time += start.elapsed();
                if !output.status.success() {
                    let name = &definition["metadata"]["name"];
                    let error = String::from_utf8_lossy(&output.stderr);
                    println!("kopium fails on {name} {version}: {}", error.trim());
                    continue;
                }
                let text = String::from_utf8(output.stdout)?;
                self.versions += 1;
                self.size.add(&text);
                let module = format!("m{number}_{version}");
                write(&folder.join(format!("src/{module}.rs")), &text)?;
                modules += &format!("pub mod {module};\n");
            }
        }
        write(&folder.join("src/lib.rs"), &modules)
    }

    /// Writes the crate of a project with this workspace's program.
    fn generate(&mut self, program: &Path, definitions: &Path, folder: &Path) -> Result<()> {
        // Without the marker of generated files, the program keeps it.
        write(&folder.join("Cargo.toml"), "")?;
        let mut command = Command::new(program);
        command.arg("crd").arg("-f").arg(definitions);
        command.args(["--crate", "generated", "--out"]).arg(folder);
        let start = Instant::now();
        let output = process::read(&mut command)?;
        self.time += start.elapsed();
        self.versions += output.lines().filter_map(kind).count();
        self.size.add_folder(&folder.join("src"))
    }
}

/// Checks each crate once, after their dependencies, which are the same for all.
fn check_all(place: &Path, projects: &[PathBuf], theirs: &mut Figures, ours: &mut Figures) -> Result<()> {
    let mut folders = vec![place.join("dependencies")];
    write(&place.join("dependencies/src/lib.rs"), "")?;
    for name in projects.iter().filter_map(|path| path.file_stem()) {
        folders.extend(["kopium", "informer-gen"].map(|program| place.join(program).join(name)));
    }
    let packages: Vec<String> = (0..folders.len())
        .map(|number| format!("check-{number}"))
        .collect();
    let mut members = String::new();
    for (folder, package) in folders.iter().zip(&packages) {
        write(&folder.join("Cargo.toml"), &manifest(package))?;
        members += &format!("{folder:?}, ");
    }
    write(
        &place.join("Cargo.toml"),
        &format!("[workspace]\nresolver = \"3\"\nmembers = [{members}]\n"),
    )?;
    std::fs::copy(workspace::root().join("Cargo.lock"), place.join("Cargo.lock"))?;
    for (number, (folder, package)) in folders.iter().zip(&packages).enumerate() {
        let start = Instant::now();
        let compiles = check(place, package)?;
        let time = start.elapsed();
        let name = folder.strip_prefix(place).unwrap_or(folder).display();
        println!(
            "{name}: {:.1} s{}",
            time.as_secs_f64(),
            if compiles { "" } else { ", fails" }
        );
        let figures = match number {
            0 if compiles => continue,
            0 => return Err("the dependencies of generated code do not build".into()),
            number if number % 2 == 1 => &mut *theirs,
            _ => &mut *ours,
        };
        figures.check += time;
        figures.compiled += usize::from(compiles);
    }
    Ok(())
}

/// Whether a package compiles; it prints the errors, and no warnings.
fn check(place: &Path, package: &str) -> Result<bool> {
    let mut command = cargo();
    command.args(["check", "--quiet", "--offline", "--package", package]);
    command.arg("--manifest-path").arg(place.join("Cargo.toml"));
    command
        .env("CARGO_INCREMENTAL", "0")
        .env("RUSTFLAGS", "--cap-lints=allow");
    command.env("CARGO_TARGET_DIR", place.with_file_name("crd-kopium-target"));
    Ok(command.stdout(Stdio::null()).status()?.success())
}

/// A manifest with the dependencies of both kinds of code.
fn manifest(package: &str) -> String {
    let informers = workspace::root().join("informers");
    format!(
        "[package]\nname = \"{package}\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n\
         [dependencies]\ninformers = {{ path = {informers:?} }}\n\
         k8s-openapi = {{ version = \"0.29\", default-features = false, features = [\"std\"] }}\n\
         kube = {{ version = \"5\", default-features = false, features = [\"derive\"] }}\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\nserde_json = \"1\"\n"
    )
}

fn table(
    version: &str,
    theirs: &Figures,
    ours: &Figures,
    versions: usize,
    projects: usize,
    times: Times,
) -> String {
    let mut text = format!("| | {version} | `informer-gen crd` |\n|---|---|---|\n");
    let mut row = |what: &str, of: &dyn Fn(&Figures) -> String| {
        text += &format!("| {what} | {} | {} |\n", of(theirs), of(ours));
    };
    row("versions that generate", &|one| {
        format!("{} of {versions}", one.versions)
    });
    row("lines", &|one| thousands(one.size.lines));
    row("types", &|one| thousands(one.size.types));
    row("longest name of a type", &|one| one.size.longest.to_string());
    row("time to generate", &|one| {
        format!("{:.1} s", one.time.as_secs_f64())
    });
    if times == Times::Check {
        row("projects that compile", &|one| {
            format!("{} of {projects}", one.compiled)
        });
        row("`cargo check` without dependencies", &|one| {
            format!("{:.0} s", one.check.as_secs_f64())
        });
    }
    text
}

/// A number with commas: `12,345`.
fn thousands(number: usize) -> String {
    match number / 1_000 {
        0 => number.to_string(),
        more => format!("{},{:03}", thousands(more), number % 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_the_figures_of_both_programs() {
        let figures = |lines: usize, compiled: usize| Figures {
            versions: 3,
            size: Size {
                lines,
                types: 7,
                longest: 80,
                ..Size::default()
            },
            time: Duration::from_millis(1_500),
            compiled,
            check: Duration::from_secs(61),
        };
        let of = |times| table("kopium 1", &figures(1_234_005, 1), &figures(999, 2), 4, 2, times);
        let short = "| | kopium 1 | `informer-gen crd` |\n|---|---|---|\n\
                     | versions that generate | 3 of 4 | 3 of 4 |\n| lines | 1,234,005 | 999 |\n\
                     | types | 7 | 7 |\n| longest name of a type | 80 | 80 |\n\
                     | time to generate | 1.5 s | 1.5 s |\n";
        let long = "| projects that compile | 1 of 2 | 2 of 2 |\n\
                    | `cargo check` without dependencies | 61 s | 61 s |\n";
        assert_eq!(of(Times::None), short);
        assert_eq!(of(Times::Check), format!("{short}{long}"));
    }

    #[test]
    fn a_program_that_is_not_installed_is_named_with_how_to_install_it() {
        let error = installed("no-such-program")
            .expect_err("it does not exist")
            .to_string();
        assert!(
            error.contains("cargo install kopium --locked --version"),
            "{error}"
        );
    }
}
