//! `cargo xtask tidy`: the rules of this workspace that no compiler checks.

mod hygiene;
mod lexed;
mod links;
mod longest;
mod manifests;
mod parity;
mod ranks;
mod reliability;
mod tree;

use std::fmt;
use std::path::PathBuf;

use self::tree::Tree;
use crate::{Result, workspace};

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

/// Prints the longest files and functions, for the eye, then every broken rule; fails if there is one.
pub(crate) fn run() -> Result<()> {
    let tree = Tree::read(workspace::root())?;
    longest::print(&tree);

    let mut problems = hygiene::check(&tree);
    problems.extend(links::check(&tree));
    problems.extend(ranks::check(&tree));
    problems.extend(parity::check(&tree));
    problems.extend(reliability::check(&tree));
    problems.extend(manifests::check(&tree, &workspace::metadata(&["--no-deps"])?));
    problems.sort();
    problems.dedup();
    for problem in &problems {
        println!("{problem}");
    }
    if problems.is_empty() {
        println!("tidy: {} files, nothing to say", tree.files.len());
        return Ok(());
    }
    Err(format!("tidy found {} problems", problems.len()).into())
}
