//! A whole tree in one file: every module is inside the one that declares it.

use std::collections::BTreeMap;

use super::{MARKER, Tree};

/// The text of one file with all modules of a tree whose root is a module.
///
/// The file can be declared with `mod` or taken in with `include!`. It has no record, so it cannot be
/// compared with a cluster.
#[must_use]
pub fn single_file(tree: &Tree) -> String {
    let root = tree.files.get("mod.rs").map(String::as_str).unwrap_or_default();
    nested(&tree.files, root, "")
}

/// The text of a module with those that it declares inside. `folder` is where their files are.
fn nested(files: &BTreeMap<String, String>, text: &str, folder: &str) -> String {
    let mut nested_text = String::with_capacity(text.len());
    for line in text.lines() {
        let name = declared(line);
        let child = name.and_then(|name| Some((name, files.get(&format!("{folder}{name}.rs"))?)));
        let Some((name, child)) = child else {
            nested_text.push_str(line);
            nested_text.push('\n');
            continue;
        };
        nested_text.push_str(line.trim_end_matches(';'));
        nested_text.push_str(" {\n");
        let inside = nested(files, child, &format!("{folder}{name}/"));
        // The declaration has documentation, and clippy allows only one kind of it.
        let is_kept = |line: &&str| !line.contains(MARKER) && !line.starts_with("//!");
        let lines = inside.lines().filter(is_kept).skip_while(|line| line.is_empty());
        // Generated text has no literal of several lines, so that indenting changes nothing.
        for line in lines {
            let indent = if line.is_empty() { "" } else { "    " };
            nested_text.push_str(&format!("{indent}{line}\n"));
        }
        nested_text.push_str("}\n");
    }
    nested_text
}

/// The module that a line declares without its text.
fn declared(line: &str) -> Option<&str> {
    line.strip_prefix("pub mod ")?.strip_suffix(';')
}
