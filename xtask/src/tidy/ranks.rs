//! Modules of informer-core have ranks, and a lower one never names a higher one: data flows one way.
//!
//! Every `crate::x` in non-test code counts, in a `use` or an expression. Names that `lib.rs` re-exports
//! count as the module they come from. `super` must not reach the root, so that no other spelling exists.

use std::collections::BTreeMap;
use std::path::Path;

use super::Problem;
use crate::tree::Tree;

/// From the bottom up. A new module of informer-core gets its place here.
const RANKS: [&[&str]; 7] = [
    &[
        "object",
        "key",
        "printable",
        "scope",
        "resource_version",
        "error",
        "sync",
        "mutant",
        "fast_paths",
        "selector",
    ],
    &[
        "source",
        "client",
        "delta",
        "storage",
        "store",
        "handler",
        "status",
        "workqueue",
        "leader",
        "warm",
    ],
    &["reflector", "processor", "audit"],
    &["committer"],
    &["informer"],
    &["registry"],
    &["controller"],
];

const SOURCES: &str = "informer-core/src";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let sources = Path::new(SOURCES);
    let Some(root) = tree.file(&sources.join("lib.rs")) else {
        return Vec::new();
    };
    let reexports = reexports(&root.text);
    let mut problems = Vec::new();
    for file in tree.rust_files().filter(|file| file.path != root.path) {
        let Ok(below) = file.path.strip_prefix(sources) else {
            continue;
        };
        let messages = check_file(below, &file.text, &reexports).into_iter();
        problems.extend(messages.map(|(line, message)| Problem {
            path: file.path.clone(),
            line: Some(line),
            message,
        }));
    }
    problems
}

/// Checks a file at a path below the crate's `src`.
fn check_file(path: &Path, text: &str, reexports: &BTreeMap<String, String>) -> Vec<(usize, String)> {
    let modules = path.with_extension("");
    let modules: Vec<_> = modules.iter().map(|module| module.to_string_lossy()).collect();
    let is_test =
        |module: &str| module == "tests" || module.ends_with("_tests") || module.ends_with("_model");
    if modules.iter().any(|module| is_test(module)) {
        return Vec::new();
    }
    let own = modules[0].as_ref();
    let Some(rank) = rank_of(own) else {
        let message = format!("the module `{own}` has no rank; add it to xtask/src/tidy/ranks.rs");
        return vec![(1, message)];
    };
    let code = code(text);
    let mut problems = Vec::new();
    for (line, name) in references(&code) {
        let target = reexports.get(name).map_or(name, String::as_str);
        let Some(higher) = rank_of(target).filter(|&other| other > rank) else {
            continue;
        };
        let message = format!(
            "`{own}` (rank {rank}) names `{target}` (rank {higher}); a lower rank never names a higher one"
        );
        problems.push((line, message));
    }
    let to_root = "super::".repeat(modules.len());
    for (start, _) in code.match_indices(&to_root) {
        problems.push((
            line_at(&code, start),
            format!("`{to_root}` is the crate's root: write `crate::`"),
        ));
    }
    problems
}

fn rank_of(module: &str) -> Option<usize> {
    RANKS.iter().position(|modules| modules.contains(&module))
}

/// The text without comments and tests, in the same number of lines. Inline tests are at the end of a file.
fn code(text: &str) -> String {
    let mut code = String::new();
    let mut only_for_tests = false;
    for line in text.lines().take_while(|line| *line != "mod tests {") {
        let trimmed = line.trim_start();
        if !only_for_tests && !trimmed.starts_with("//") {
            code.push_str(line);
        }
        code.push('\n');
        only_for_tests = trimmed.starts_with("#[cfg(test)]") || trimmed.starts_with("#[cfg(all(test");
    }
    code
}

/// The names right below `crate::`, with their lines: one in `crate::a`, several in `crate::{a, b::c}`.
fn references(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (start, root) in code.match_indices("crate::") {
        if code[..start].ends_with(|before: char| before == '$' || before == '"' || is_word(before)) {
            continue;
        }
        let path = start + root.len();
        let entries = match code[path..].strip_prefix('{') {
            None => vec![0],
            Some(list) => entries(list).into_iter().map(|entry| entry + 1).collect(),
        };
        for entry in entries {
            let text = code[path + entry..].trim_start();
            found.push((line_at(code, code.len() - text.len()), first_word(text)));
        }
    }
    found
}

/// Where the entries of a list begin, up to the brace that ends it.
fn entries(list: &str) -> Vec<usize> {
    let mut depth = 0;
    let mut entries = vec![0];
    for (index, char) in list.char_indices() {
        match char {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => entries.push(index + 1),
            _ => {}
        }
    }
    entries
}

/// The public names of the crate's root and the modules they come from: `pub use key::{ObjectKey, ..}`.
fn reexports(root: &str) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for statement in code(root).split(';') {
        let Some((_, path)) = statement.split_once("use ") else {
            continue;
        };
        let mut words = path.split(|char| !is_word(char)).filter(|word| !word.is_empty());
        let module = words.next().unwrap_or_default();
        names.extend(words.map(|word| (word.to_owned(), module.to_owned())));
    }
    names
}

fn first_word(text: &str) -> &str {
    let end = text.find(|char| !is_word(char)).unwrap_or(text.len());
    &text[..end]
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

fn line_at(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks one file, with a root that re-exports `SharedInformer`.
    fn check(path: &str, text: &str, expected: &[&str]) {
        let reexports = reexports("mod informer;\npub use informer::{SharedInformer, Builder as B};");
        let problems = check_file(Path::new(path), text, &reexports);
        let lines: Vec<String> = problems
            .iter()
            .map(|(line, message)| format!("{line}: {message}"))
            .collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_lower_rank_may_be_named() {
        check(
            "reflector.rs",
            "use crate::delta::Queue;\nuse crate::{key::Key, store};",
            &[],
        );
        check("reflector.rs", "use crate::processor::Listener;", &[]);
    }

    #[test]
    fn a_higher_rank_is_reported_with_its_line() {
        let path = "reflector/watch.rs";
        let expected =
            ["2: `reflector` (rank 2) names `committer` (rank 3); a lower rank never names a higher one"];
        check(path, "//! Watch.\nuse crate::committer::Committer;", &expected);
        check(
            path,
            "//! Watch.\nuse crate::{key::{Key, X}, committer};",
            &expected,
        );
        check(path, "use crate::{\ncommitter::{X},\nkey};", &expected);
        check(path, "//! Watch.\nfn f() { crate::committer::run() }", &expected);
        check(path, "#[cfg(test)]\nuse crate::committer;", &[]);
        check(path, "#[cfg(test)]\nmod tests {\nuse crate::committer;\n}\n", &[]);
    }

    #[test]
    fn a_path_that_reaches_the_root_by_super_is_reported() {
        let expected = ["1: `super::super::` is the crate's root: write `crate::`"];
        check("reflector/watch.rs", "use super::super::committer::X;", &expected);
        check("reflector/watch.rs", "use super::committer_like::X;", &[]);
    }

    #[test]
    fn a_name_re_exported_by_the_root_counts_as_its_module() {
        let expected = ["1: `key` (rank 0) names `informer` (rank 4); a lower rank never names a higher one"];
        check("key.rs", "use crate::SharedInformer;", &expected);
        check("key.rs", "use crate::{B};", &expected);
    }

    #[test]
    fn comments_strings_and_test_files_do_not_count() {
        check(
            "key.rs",
            "/// See [`crate::informer`].\nconst X: &str = \"crate::informer::Y\";",
            &[],
        );
        check("key_tests.rs", "use crate::informer::X;", &[]);
        check("store/tests/keys.rs", "use crate::informer::X;", &[]);
    }

    #[test]
    fn a_module_without_a_rank_is_reported() {
        let expected = ["1: the module `shiny` has no rank; add it to xtask/src/tidy/ranks.rs"];
        check("shiny.rs", "use crate::key::X;", &expected);
    }
}
