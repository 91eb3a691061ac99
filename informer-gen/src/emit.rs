//! Generates the typed layer: the text of every file from the rows of the inventory.
//!
//! Only type aliases and one-line accessors are generated. Larger functions would be compiled for each of a
//! hundred kinds in every build, even if a program does not use the kind.
//!
//! ```
//! let files = informer_gen::emit::emit(informer_gen::inventory::builtin())?;
//! let core = &files["informers/src/generated/core.rs"];
//! assert!(core.contains("pub fn pods(&self) -> PodInformer { self.0.kind() }"));
//! # Ok::<(), informer_gen::emit::EmitError>(())
//! ```

mod about;
mod checks;
mod features;
mod gate;
mod informers;
mod listers;
mod plan;
mod protobuf;
mod source;

#[cfg(test)]
#[path = "emit_tests.rs"]
mod tests;

use std::collections::BTreeMap;

use proc_macro2::TokenStream;

pub use self::features::{FEATURES_BEGIN, FEATURES_END, Member};
use crate::inventory::{NEWEST, OLDEST, Resource};

/// Folders in which every file is generated. The caller deletes them before it writes the files.
pub const FOLDERS: [&str; 4] = [
    "informers/protobuf/src/generated",
    "informers/src/generated",
    "listers/src/generated",
    "tests/it/generated",
];

/// Error of [`emit`]. It generates everything or nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmitError {
    /// A kind has no valid accessor name.
    #[error(
        "{api_version} {kind}: no accessor name, because the plural `{plural}` is not the words of the kind \
         with another ending; the rule is in informer-gen/src/names.rs"
    )]
    Accessor {
        /// The kind's group and version.
        api_version: String,
        /// The kind.
        kind: String,
        /// The plural that does not fit.
        plural: String,
    },
    /// A kind's type is not at the expected path.
    #[error(
        "{api_version} {kind}: its path `{path}` does not end in its group's module, its version and its name"
    )]
    Path {
        /// The kind's group and version.
        api_version: String,
        /// The kind.
        kind: String,
        /// The path in the table.
        path: String,
    },
    /// Two items would have the same name.
    #[error("clash in `{place}`: {what} `{one}` and `{other}`")]
    Clash {
        /// The module.
        place: String,
        /// What they share.
        what: String,
        /// The first one.
        one: String,
        /// The second one.
        other: String,
    },
    /// A new group has no description.
    #[error(
        "the group `{group}` has no description; add a line to `ABOUT` in informer-gen/src/emit/about.rs"
    )]
    NoWords {
        /// The group's module.
        group: String,
    },
    /// The generated text is not valid Rust: a bug of the generator.
    #[error("the generated text of {path} is not valid Rust")]
    Syntax {
        /// The file.
        path: String,
        /// The message of the parser.
        source: syn::Error,
    },
}

/// The text of every generated file, by its path from the root of the workspace.
///
/// # Errors
/// If a name is invalid or used twice, or a group has no description: see [`EmitError`].
pub fn emit(resources: &[Resource]) -> Result<BTreeMap<String, String>, EmitError> {
    let groups = plan::plan(resources)?;
    let mut trees: Vec<(String, TokenStream)> = vec![
        ("informers/src/generated.rs".to_owned(), informers::root(&groups)),
        ("listers/src/generated.rs".to_owned(), listers::root(&groups)),
        (
            "tests/it/generated/every_kind.rs".to_owned(),
            checks::every_kind(&groups),
        ),
        ("tests/it/generated/pins.rs".to_owned(), checks::pins(&groups)),
    ];
    for group in &groups {
        let module = &group.module;
        trees.push((
            format!("informers/src/generated/{module}.rs"),
            informers::group(group),
        ));
        trees.push((
            format!("listers/src/generated/{module}.rs"),
            listers::group(group),
        ));
    }
    let mut files = BTreeMap::new();
    for (path, tokens) in trees {
        let text = source::print(source::MARKER, &path, tokens)?;
        files.insert(path, text);
    }
    for member in ["informers", "listers", "tests/it"] {
        files.insert(format!("{member}/build.rs"), build_script());
    }
    Ok(files)
}

/// The text of every generated file of informer-protobuf, by its path from the root of the workspace.
///
/// # Errors
/// As [`emit`].
pub fn emit_protobuf(
    resources: &[Resource],
    table: &crate::inventory::protobuf::Table,
) -> Result<BTreeMap<String, String>, EmitError> {
    let groups = plan::plan(resources)?;
    let parts = protobuf::files(&groups, table);
    let mut trees = vec![
        (
            "informers/protobuf/src/generated.rs".to_owned(),
            protobuf::root(&parts),
        ),
        (
            "informers/protobuf/tests/equality/kinds.rs".to_owned(),
            protobuf::kinds(&parts),
        ),
    ];
    for part in &parts {
        let path = format!("informers/protobuf/src/generated/{}.rs", part.module);
        trees.push((path, protobuf::file(part)));
    }
    let mut files = BTreeMap::new();
    for (path, tokens) in trees {
        let text = source::print(source::PROTOBUF_MARKER, &path, tokens)?;
        files.insert(path, text);
    }
    files.insert("informers/protobuf/build.rs".to_owned(), build_script());
    Ok(files)
}

/// The generated part of a manifest: the lines from [`FEATURES_BEGIN`] to [`FEATURES_END`].
///
/// # Errors
/// As [`emit`].
pub fn features(resources: &[Resource], member: Member) -> Result<String, EmitError> {
    Ok(features::features(&plan::plan(resources)?, member))
}

/// The build script of every crate with release conditions. A text, because it has comments and does not
/// depend on the table.
fn build_script() -> String {
    let text = include_str!("emit/build_script.txt")
        .replace("{oldest}", &OLDEST.minor.to_string())
        .replace("{newest}", &NEWEST.minor.to_string());
    format!("{}{text}", source::MARKER)
}
