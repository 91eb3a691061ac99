//! `cargo xtask errors`: lists every error message of the workspace, to read them side by side.

use crate::tree::{File, Tree};
use crate::{Result, workspace};

const ATTRIBUTE: &str = "#[error(";

/// Prints the argument of each `#[error(..)]` with its file and line.
pub(crate) fn run() -> Result<()> {
    let tree = Tree::read(workspace::root())?;
    for file in tree.rust_files() {
        for (line, message) in messages(file) {
            println!("{}:{line}: {message}", file.path.display());
        }
    }
    Ok(())
}

/// The arguments of `#[error(..)]`, each in one line. Messages that are passed on (`transparent`) are left
/// out.
fn messages(file: &File) -> Vec<(usize, String)> {
    let mut messages = Vec::new();
    for (start, _) in file.text.match_indices(ATTRIBUTE) {
        let before = &file.text[..start];
        let is_code = before
            .rsplit('\n')
            .next()
            .is_some_and(|indent| indent.trim().is_empty());
        let rest = &file.text[start + ATTRIBUTE.len()..];
        let argument = rest.split_once(")]\n").map_or(rest, |(argument, _)| argument);
        if is_code && argument != "transparent" {
            let line = before.matches('\n').count() + 1;
            messages.push((line, argument.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_listed_with_their_lines() {
        let text = "enum E {\n    #[error(\"cannot read {0}\")]\n    Read(String),\n\
            #[error(transparent)]\n    Other(X),\n\
            #[error(\n        \"cannot {}\",\n        0\n    )]\n    Last,\n}\n// #[error(\"no\")]\n";
        assert_eq!(
            messages(&File::new("a.rs", text)),
            [
                (2, "\"cannot read {0}\"".to_owned()),
                (6, "\"cannot {}\", 0".to_owned())
            ]
        );
    }
}
