//! Rules about manifests: lints are inherited, and no dependency is unused.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Problem;
use crate::tree::Tree;

/// Checks every member; `metadata` is the output of `cargo metadata --no-deps`.
pub(super) fn check(tree: &Tree, metadata: &Value) -> Vec<Problem> {
    let packages: Vec<Package> = array(&metadata["packages"])
        .filter_map(|json| Package::new(json, &tree.root))
        .collect();
    let mut problems: Vec<Problem> = packages
        .iter()
        .flat_map(|package| check_package(tree, package, &packages))
        .collect();
    problems.extend(check_workspace(tree, &packages));
    problems
}

/// The part of a package's metadata that the rules look at.
struct Package {
    name: String,
    /// Relative to the root.
    manifest: PathBuf,
    dependencies: Vec<Dependency>,
    /// Dependencies that the sources need not name, as listed in the manifest. cargo-machete reads the same
    /// list.
    ignored: BTreeSet<String>,
}

struct Dependency {
    /// As in the manifest of the dependency.
    name: String,
    /// As in the source: renamed, and with `_` for `-`.
    ident: String,
}

impl Package {
    fn new(json: &Value, root: &Path) -> Option<Self> {
        let manifest = Path::new(json["manifest_path"].as_str()?)
            .strip_prefix(root)
            .ok()?
            .to_owned();
        let dependency = |json: &Value| {
            let name = json["name"].as_str()?;
            Some(Dependency {
                name: name.to_owned(),
                ident: json["rename"].as_str().unwrap_or(name).replace('-', "_"),
            })
        };
        Some(Self {
            name: json["name"].as_str()?.to_owned(),
            manifest,
            dependencies: array(&json["dependencies"]).filter_map(dependency).collect(),
            ignored: array(&json["metadata"]["cargo-machete"]["ignored"])
                .filter_map(|name| Some(name.as_str()?.to_owned()))
                .collect(),
        })
    }

    fn folder(&self) -> &Path {
        self.manifest.parent().unwrap_or(Path::new(""))
    }
}

fn array(json: &Value) -> impl Iterator<Item = &Value> {
    json.as_array().into_iter().flatten()
}

fn check_package(tree: &Tree, package: &Package, all: &[Package]) -> Vec<Problem> {
    let mut messages = Vec::new();
    let manifest = tree.file(&package.manifest).map_or("", |file| file.text.as_str());
    if !inherits_lints(manifest) {
        messages
            .push("does not inherit the lints of the workspace (`[lints]`, `workspace = true`)".to_owned());
    }
    for dependency in &package.dependencies {
        let is_named = || sources(tree, package, all).any(|text| has_word(text, &dependency.ident));
        if !package.ignored.contains(&dependency.name) && !is_named() {
            messages.push(format!(
                "no source of `{}` names the dependency `{}`; remove it, or list it under \
                 `[package.metadata.cargo-machete] ignored` with a reason",
                package.name, dependency.name
            ));
        }
    }
    messages
        .into_iter()
        .map(|message| Problem {
            path: package.manifest.clone(),
            line: None,
            message,
        })
        .collect()
}

/// The texts of a package's Rust files, without those of packages nested in its folder.
fn sources<'a>(tree: &'a Tree, package: &'a Package, all: &'a [Package]) -> impl Iterator<Item = &'a str> {
    let is_nested = |path: &Path| {
        all.iter().any(|other| {
            other.folder() != package.folder()
                && other.folder().starts_with(package.folder())
                && path.starts_with(other.folder())
        })
    };
    tree.rust_files()
        .filter(move |file| file.path.starts_with(package.folder()) && !is_nested(&file.path))
        .map(|file| file.text.as_str())
}

/// Whether `text` contains `word` as a whole identifier.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    text.match_indices(word).any(|(start, _)| {
        !text[..start].ends_with(is_part) && !text[start + word.len()..].starts_with(is_part)
    })
}

fn inherits_lints(manifest: &str) -> bool {
    let mut lines = manifest
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != "[lints]")
        .skip(1);
    lines.find(|line| !line.is_empty() && !line.starts_with('#')) == Some("workspace = true")
}

/// Names in `[workspace.dependencies]` that no member uses.
fn check_workspace(tree: &Tree, packages: &[Package]) -> Vec<Problem> {
    let path = Path::new("Cargo.toml");
    let manifest = tree.file(path).map_or("", |file| file.text.as_str());
    let used: BTreeSet<&str> = packages
        .iter()
        .flat_map(|package| &package.dependencies)
        .map(|dependency| dependency.name.as_str())
        .collect();
    // Every member is listed, so that others can depend on it; a member that none depends on is fine.
    let members: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    workspace_dependencies(manifest)
        .filter(|(_, name)| !used.contains(name) && !members.contains(name))
        .map(|(line, name)| Problem {
            path: path.to_owned(),
            line: Some(line),
            message: format!("no member uses the dependency `{name}`"),
        })
        .collect()
}

/// The keys of `[workspace.dependencies]` with their lines.
fn workspace_dependencies(manifest: &str) -> impl Iterator<Item = (usize, &str)> {
    manifest
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .skip_while(|(_, line)| *line != "[workspace.dependencies]")
        .skip(1)
        .take_while(|(_, line)| !line.starts_with('['))
        .filter(|(_, line)| !line.starts_with('#'))
        .filter_map(|(number, line)| Some((number, line.split_once('=')?.0.trim())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tree::File;

    const LINTS: &str = "[lints]\nworkspace = true\n";

    fn check_member(manifest: &str, source: &str, dependency: Value, expected: &[&str]) {
        let files = vec![
            File::new("one/Cargo.toml", manifest),
            File::new("one/src/lib.rs", source),
        ];
        let tree = Tree {
            root: "/w".into(),
            files,
        };
        let package = json!({
            "name": "one",
            "manifest_path": "/w/one/Cargo.toml",
            "dependencies": [dependency],
            "metadata": null,
        });
        let problems = check(&tree, &json!({ "packages": [package] }));
        let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_correct_member_has_no_problems() {
        check_member(
            LINTS,
            "use tokio_util::sync;",
            json!({ "name": "tokio-util", "req": "^0.7" }),
            &[],
        );
    }

    #[test]
    fn a_member_that_sets_its_own_lints_is_reported() {
        check_member(
            "[lints.rust]\n",
            "use serde;",
            json!({ "name": "serde", "req": "^1" }),
            &["one/Cargo.toml: does not inherit the lints of the workspace (`[lints]`, `workspace = true`)"],
        );
    }

    #[test]
    fn a_dependency_no_source_names_is_reported() {
        check_member(
            LINTS,
            "use serde_json;",
            json!({ "name": "serde", "req": "^1" }),
            &[
                "one/Cargo.toml: no source of `one` names the dependency `serde`; \
                 remove it, or list it under \
               `[package.metadata.cargo-machete] ignored` with a reason",
            ],
        );
    }

    #[test]
    fn a_workspace_dependency_nobody_uses_is_reported_with_its_line() {
        let tree = Tree {
            root: "/w".into(),
            files: vec![File::new(
                "Cargo.toml",
                "[workspace.dependencies]\nserde = \"1\"\n[profile.dev]\nx = 1\n",
            )],
        };
        let problems = check_workspace(&tree, &[]);
        assert_eq!(
            problems[0].to_string(),
            "Cargo.toml:2: no member uses the dependency `serde`"
        );
        assert_eq!(problems.len(), 1);
    }
}
