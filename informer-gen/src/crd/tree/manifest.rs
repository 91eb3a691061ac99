//! The manifest of a generated crate.

use super::plan::{Group, KindTypes};
use super::{MARKER, TreeError};

/// Whether cargo takes this as the name of a crate. Names of more than 64 characters are refused by registries.
#[must_use]
pub fn is_crate_name(name: &str) -> bool {
    let is_letter =
        |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-' || char == '_';
    let ident = name.replace('-', "_");
    (1..=64).contains(&name.len())
        && name.chars().all(is_letter)
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && !matches!(ident.as_str(), "test" | "core" | "std" | "alloc" | "proc_macro")
        && syn::parse_str::<syn::Ident>(&ident).is_ok()
}

/// The text of `Cargo.toml`. What it asks of our own crates is what their API is compatible with, so that it changes only when
/// that does.
pub(super) fn manifest(name: &str, groups: &[Group<'_>]) -> Result<String, TreeError> {
    if !is_crate_name(name) {
        return Err(TreeError::CrateName {
            name: name.to_owned(),
        });
    }
    let names: Vec<&str> = groups.iter().map(|group| group.name).collect();
    let names = names.join(", ");
    let kinds = groups
        .iter()
        .flat_map(|group| &group.versions)
        .flat_map(|version| &version.kinds);
    let needs_serde_json = kinds.into_iter().any(|kind| {
        matches!(
            kind.types,
            KindTypes::Generated {
                needs_serde_json: true,
                ..
            }
        )
    });
    let serde_json = match needs_serde_json {
        true => "serde_json = \"1\"\n",
        false => "",
    };
    let informers = concat!(
        env!("CARGO_PKG_VERSION_MAJOR"),
        ".",
        env!("CARGO_PKG_VERSION_MINOR")
    );
    Ok(format!(
        "# {MARKER}. Remove this line to make the file yours: then it is never written again.

[package]
name = \"{name}\"
description = \"Typed informers, listers and types of custom resources: {names}.\"
version = \"0.1.0\"
edition = \"2024\"
publish = false

# The program that uses this crate chooses the Kubernetes version, by a feature of k8s-openapi such as `v1_37`.
[dependencies]
informers = \"{informers}\"
k8s-openapi = {{ version = \"0.29\", default-features = false, features = [\"std\"] }}
kube = {{ version = \"5\", default-features = false }}
serde = {{ version = \"1\", features = [\"derive\"] }}
{serde_json}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_has_a_name_that_cargo_takes() {
        for good in ["example", "example-client", "a_b2"] {
            assert!(is_crate_name(good), "{good}");
        }
        for bad in [
            "",
            "Example",
            "1st",
            "a b",
            "../a",
            "a/b",
            "type",
            "core",
            "-a",
            "ä",
            &"a".repeat(65),
        ] {
            assert!(!is_crate_name(bad), "{bad}");
        }
    }
}
