//! Rules about single files: the first line, blanks at line ends, no path of somebody's machine.

use std::path::Path;

use super::Problem;
use super::tree::{File, Tree};

/// What begins the home folder of a person on Linux and macOS. Split, so that this file does not break its own rule.
const HOMES: [&str; 2] = [concat!("/ho", "me/"), concat!("/Us", "ers/")];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let machine = machine_paths(&tree.root);
    tree.files
        .iter()
        .flat_map(|file| check_file(file, &machine))
        .collect()
}

/// Paths that mean something on this machine only: where the workspace is checked out, the user's home, and cargo's.
fn machine_paths(root: &Path) -> Vec<String> {
    let variables = ["HOME", "CARGO_HOME", "CARGO_TARGET_DIR"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok());
    let mut paths: Vec<String> = variables
        .chain([root.display().to_string()])
        // A home such as `/` would match every path there is.
        .filter(|path| path.len() > 3)
        .map(|path| format!("{}/", path.trim_end_matches('/')))
        .collect();
    paths.extend(HOMES.map(str::to_owned));
    paths
}

fn check_file(file: &File, machine: &[String]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut report = |line: Option<usize>, message: String| {
        problems.push(Problem {
            path: file.path.clone(),
            line,
            message,
        });
    };
    match &file.lexed {
        Some(Ok(_)) if !file.text.starts_with("//!") => {
            report(
                Some(1),
                "the first line must be a `//!` sentence that says what the file is for".to_owned(),
            );
        }
        Some(Err(error)) => report(None, format!("not Rust: {error}")),
        _ => {}
    }
    for (index, line) in file.text.lines().enumerate() {
        let number = Some(index + 1);
        if line.ends_with([' ', '\t']) {
            report(number, "blanks at the end of the line".to_owned());
        }
        if let Some(path) = machine.iter().find(|path| line.contains(path.as_str())) {
            report(number, format!("`{path}` is a path of one machine"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_messages(path: &str, text: &str, expected: &[&str]) {
        let problems = check_file(
            &File::new(path, text),
            &machine_paths(Path::new("/checkout/here")),
        );
        let messages: Vec<String> = problems.iter().map(Problem::to_string).collect();
        assert_eq!(messages, expected);
    }

    #[test]
    fn a_rust_file_begins_with_what_it_is_for() {
        check_messages("a.rs", "//! A.\n", &[]);
        check_messages("a.md", "text\n", &[]);
        check_messages(
            "a.rs",
            "use b;\n",
            &["a.rs:1: the first line must be a `//!` sentence that says what the file is for"],
        );
    }

    #[test]
    fn blanks_at_the_end_of_a_line_are_found() {
        check_messages("a.md", "one\ntwo \n", &["a.md:2: blanks at the end of the line"]);
    }

    #[test]
    fn a_path_of_the_checkout_is_found() {
        check_messages(
            "a.toml",
            "path = \"/checkout/here/b\"\n",
            &["a.toml:1: `/checkout/here/` is a path of one machine"],
        );
    }
}
