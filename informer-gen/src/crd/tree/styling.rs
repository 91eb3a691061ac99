//! Applies the options of types to the files of a tree.

use std::collections::BTreeMap;

use super::options::{Extra, Style};
use super::plan::Plan;
use super::{TreeError, TreeOptions, builders, dress, extras, indexes, source};
use crate::crd::read::Found;

/// Applies the options of types to the text.
pub(super) fn style(
    files: &mut BTreeMap<String, String>,
    plan: &Plan<'_>,
    found: &[Found],
    options: &TreeOptions,
    inside: impl Fn(&str) -> String,
) -> Result<(), TreeError> {
    let style = &options.style;
    if *style == Style::default() {
        return Ok(());
    }
    let Plan { groups, library } = plan;
    let mut prelude = String::new();
    for group in groups {
        if extras::is_wanted(style) {
            let module = extras::MODULE;
            let declared = format!("\n/// The definitions as JSON.\npub mod {module};\n");
            *files.entry(inside(&format!("{}.rs", group.module))).or_default() += &declared;
            let text = source::marked(&extras::module(group, found, style));
            files.insert(inside(&format!("{}/{module}.rs", group.module)), text);
        }
        for version in &group.versions {
            let path = format!("{}/{}", group.module, version.module);
            for kind in &version.kinds {
                if let Some(text) = files.get_mut(&inside(&format!("{path}/{}.rs", kind.module))) {
                    *text += &extras::implementations(kind, version, library, style);
                }
                if let Some(text) = indexes::trait_of(kind, version, library, &style.indexes)? {
                    *files.entry(inside(&format!("{path}.rs"))).or_default() += &text;
                    let (group, version, name) = (&group.module, &version.module, kind.alias("Indexes"));
                    prelude += &format!("    pub use super::{group}::{version}::{name} as _;\n");
                }
            }
        }
    }
    if let Some(text) = files.get_mut(&inside("shared.rs")) {
        *text += &extras::of_shared(library, style);
    }
    for (path, text) in files.iter_mut().filter(|(_, text)| source::is_of_types(text)) {
        *text = dress::dress(text, style);
        if style.extras.contains(&Extra::Builders) {
            let file = syn::parse_file(text).map_err(|source| TreeError::Syntax {
                path: path.clone(),
                source,
            })?;
            *text += &builders::builders(&file, options.docs);
        }
    }
    for root in ["mod.rs", "lib.rs"] {
        if let Some(text) = files.get_mut(&inside(root)) {
            let start = "pub mod prelude {\n";
            *text = text.replacen(start, &format!("{start}{prelude}"), 1);
        }
    }
    Ok(())
}
