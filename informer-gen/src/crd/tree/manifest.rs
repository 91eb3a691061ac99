//! The manifest of a generated crate.

use super::plan::Group;
use super::{Informers, MARKER, TreeError};

/// The dependencies of a generated crate. Cargo does not allow a crate to depend on its own name.
const DEPENDENCIES: [&str; 5] = ["informers", "k8s_openapi", "kube", "serde", "serde_json"];

/// Whether a generated crate can have this name.
///
/// # Errors
/// If cargo rejects the name, or a dependency of the generated crate has it. Registries reject names of more
/// than 64 characters.
pub fn check_crate_name(name: &str) -> Result<(), TreeError> {
    let is_letter =
        |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-' || char == '_';
    let ident = name.replace('-', "_");
    let is_name = (1..=64).contains(&name.len())
        && name.chars().all(is_letter)
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && !matches!(ident.as_str(), "test" | "core" | "std" | "alloc" | "proc_macro")
        && syn::parse_str::<syn::Ident>(&ident).is_ok();
    let name = name.to_owned();
    match is_name {
        false => Err(TreeError::CrateName { name }),
        true if DEPENDENCIES.contains(&ident.as_str()) => Err(TreeError::CrateOfADependency { name }),
        true => Ok(()),
    }
}

/// The releases of `informers` that generated code is compatible with, for a manifest.
#[must_use]
pub fn informers_version() -> &'static str {
    concat!(
        env!("CARGO_PKG_VERSION_MAJOR"),
        ".",
        env!("CARGO_PKG_VERSION_MINOR")
    )
}

/// The value of the dependency on `informers`.
fn dependency(informers: &Informers) -> Result<String, TreeError> {
    let is_version = |byte: u8| byte.is_ascii_alphanumeric() || b".-+^~=<>,* ".contains(&byte);
    match informers {
        Informers::Compatible => Ok(format!("\"{}\"", informers_version())),
        Informers::Version(version)
            if version.bytes().all(is_version) && version.bytes().any(|byte| byte.is_ascii_digit()) =>
        {
            Ok(format!("\"{version}\""))
        }
        Informers::Version(version) => Err(TreeError::Informers {
            what: "version",
            value: version.clone(),
            example: "0.1",
        }),
        Informers::Path(path) if path.is_empty() || path.contains(char::is_control) => {
            Err(TreeError::Informers {
                what: "path",
                value: path.clone(),
                example: "../informers",
            })
        }
        Informers::Path(path) => {
            let path = path.replace('\\', "\\\\").replace('"', "\\\"");
            Ok(format!("{{ path = \"{path}\" }}"))
        }
    }
}

/// The text of `Cargo.toml`. It requires the compatible versions of our own crates, so that it changes only
/// with breaking releases.
pub(super) fn manifest(name: &str, groups: &[Group<'_>], informers: &Informers) -> Result<String, TreeError> {
    check_crate_name(name)?;
    let names: Vec<&str> = groups.iter().map(|group| group.name).collect();
    let names = names.join(", ");
    let informers = dependency(informers)?;
    Ok(format!(
        "# {MARKER}. Remove this line to make the file yours: then it is never written again.

[package]
name = \"{name}\"
description = \"Typed informers, listers and types of custom resources: {names}.\"
version = \"0.1.0\"
edition = \"2024\"
publish = false

# The program that uses this crate chooses the Kubernetes version, by a feature of k8s-openapi such as
# `v1_37`.
[dependencies]
informers = {informers}
k8s-openapi = {{ version = \"0.29\", default-features = false, features = [\"std\"] }}
kube = {{ version = \"5\", default-features = false }}
serde = {{ version = \"1\", features = [\"derive\"] }}
"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: &str) {
        let found = match check_crate_name(name) {
            Ok(()) => "good",
            Err(TreeError::CrateName { .. }) => "no name",
            Err(TreeError::CrateOfADependency { .. }) => "a dependency",
            Err(error) => panic!("{name}: {error}"),
        };
        assert_eq!(found, expected, "{name}");
    }

    #[test]
    fn a_name_that_cargo_rejects_is_an_error() {
        for good in ["example", "example-client", "a_b2", "kube-client"] {
            check(good, "good");
        }
        let long = "a".repeat(65);
        for bad in [
            "", "Example", "1st", "a b", "../a", "a/b", "type", "core", "-a", "ä", &long,
        ] {
            check(bad, "no name");
        }
    }

    #[test]
    fn a_version_or_path_of_informers_is_written_as_toml() {
        let check = |informers: Informers, expected: Option<&str>| {
            let found = dependency(&informers).ok();
            assert_eq!(found.as_deref(), expected, "{informers:?}");
        };
        let version = |text: &str| Informers::Version(text.to_owned());
        let path = |text: &str| Informers::Path(text.to_owned());
        check(Informers::Compatible, Some("\"0.1\""));
        check(version(">=0.2, <0.4"), Some("\">=0.2, <0.4\""));
        check(path("../informers"), Some("{ path = \"../informers\" }"));
        check(path("C:\\a \"b\""), Some("{ path = \"C:\\\\a \\\"b\\\"\" }"));
        for bad in ["", "\"", "1\n2", "latest"] {
            check(version(bad), None);
        }
        check(path(""), None);
        check(path("a\nb"), None);
    }

    #[test]
    fn the_name_of_a_dependency_is_an_error() {
        for name in [
            "informers",
            "k8s-openapi",
            "k8s_openapi",
            "kube",
            "serde",
            "serde_json",
        ] {
            check(name, "a dependency");
        }
    }
}
