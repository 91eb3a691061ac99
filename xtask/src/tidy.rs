//! `cargo xtask tidy`: the rules of this workspace that no compiler checks.

mod evidence;
mod files;
mod links;
mod manifests;
mod ranks;

use std::fmt;
use std::path::PathBuf;

use crate::tree::Tree;
use crate::{Result, workspace};

/// How many of the longest files are listed.
const SHOWN: usize = 10;

/// One broken rule, at one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Problem {
    /// Relative to the root of the workspace.
    path: PathBuf,
    /// Counted from 1; `None` where the whole file is meant.
    line: Option<usize>,
    message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path.display(), self.message),
            None => write!(f, "{}: {}", self.path.display(), self.message),
        }
    }
}

/// Prints the longest files, then every broken rule; fails if one is broken.
pub(crate) fn run() -> Result<()> {
    let tree = Tree::read(workspace::root())?;
    print_longest(&tree);

    let mut problems = files::check(&tree);
    problems.extend(links::check(&tree));
    problems.extend(ranks::check(&tree));
    problems.extend(evidence::check(&tree));
    problems.extend(manifests::check(&tree, &workspace::metadata(&["--no-deps"])?));
    problems.sort();
    problems.dedup();
    for problem in &problems {
        println!("{problem}");
    }
    if problems.is_empty() {
        println!("tidy: {} files, no problems", tree.files.len());
        return Ok(());
    }
    Err(format!("tidy found {} problems", problems.len()).into())
}

/// No limit is enforced: a long file is a hint that it may be two.
fn print_longest(tree: &Tree) {
    let written = tree.rust_files().filter(|file| !file.is_generated());
    let mut rows: Vec<_> = written
        .map(|file| (file.text.lines().count(), file.path.display()))
        .collect();
    rows.sort_by_key(|(lines, _)| std::cmp::Reverse(*lines));
    println!("longest files, in lines:");
    for (lines, path) in rows.iter().take(SHOWN) {
        println!("  {lines:>5}  {path}");
    }
}
