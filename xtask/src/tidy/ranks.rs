//! Modules of informer-core have ranks, and a lower one never names a higher one: data flows one way.
//!
//! A path counts when non-test code says `crate::x` or reaches the root by `super`, in a `use` or in an expression.
//! Names that `lib.rs` re-exports count as the module they come from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proc_macro2::{Delimiter, TokenTree};

use super::Problem;
use super::lexed::{Lexed, attribute, children, is_brace, is_ident, is_punct, line};
use super::tree::Tree;

/// From the bottom up. A new module of informer-core gets its place here.
const RANKS: [&[&str]; 6] = [
    &[
        "object",
        "key",
        "printable",
        "scope",
        "resource_version",
        "error",
        "sync",
        "mutant",
        "selector",
    ],
    &["source", "client", "delta", "store", "handler", "status"],
    &["reflector", "processor", "audit"],
    &["committer"],
    &["informer"],
    &["registry"],
];

const SOURCES: &str = "informer-core/src";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut crate_root = None;
    let mut modules = Vec::new();
    for (file, lexed) in tree.rust_files() {
        let Ok(below) = file.path.strip_prefix(SOURCES) else {
            continue;
        };
        if below == Path::new("lib.rs") {
            crate_root = Some((file.path.as_path(), lexed));
        } else {
            modules.push(Module {
                path: &file.path,
                name: module_name(below),
                lexed,
            });
        }
    }
    let Some((lib, root)) = crate_root else {
        return Vec::new();
    };
    check_modules(lib, root, &modules)
}

/// A file of the crate, other than `lib.rs`.
struct Module<'a> {
    path: &'a Path,
    /// `reflector/watch.rs` is `["reflector", "watch"]`, and `reflector_tests.rs` is `["reflector", "tests"]`: tests and
    /// loom models of a module stand in a file beside it.
    name: Vec<String>,
    lexed: &'a Lexed,
}

fn module_name(below: &Path) -> Vec<String> {
    let mut name: Vec<String> = below
        .with_extension("")
        .iter()
        .map(|segment| segment.to_string_lossy().into_owned())
        .collect();
    if let Some(last) = name.pop() {
        match last.rsplit_once('_') {
            Some((module, tests @ ("tests" | "model"))) => name.extend([module.to_owned(), tests.to_owned()]),
            _ => name.push(last),
        }
    }
    name
}

fn check_modules(lib: &Path, root: &Lexed, modules: &[Module<'_>]) -> Vec<Problem> {
    let mut tests = BTreeSet::new();
    let mut references = Vec::new();
    let reexports = reexports(root);
    find_test_modules(&root.tokens, &[], &mut tests);
    for module in modules {
        find_test_modules(&module.lexed.tokens, &module.name, &mut tests);
    }
    for module in modules {
        let is_test = (1..=module.name.len()).any(|length| tests.contains(&module.name[..length]));
        if !is_test {
            let mut names = Vec::new();
            find_references(&module.lexed.tokens, module.name.len(), &mut names);
            references.push((module, names));
        }
    }

    let mut problems = Vec::new();
    for (module, names) in references {
        let Some(own) = rank(&module.name[0]) else {
            let message = format!(
                "the module `{}` has no rank; give it one in xtask/src/tidy/ranks.rs",
                module.name[0]
            );
            problems.push(Problem {
                path: lib.to_owned(),
                line: None,
                message,
            });
            continue;
        };
        for Reference { name, line } in names {
            let target = reexports.get(&name).unwrap_or(&name);
            let Some(other) = rank(target).filter(|&other| other > own) else {
                continue;
            };
            let message = format!(
                "`{}` (rank {own}) names `{target}` (rank {other}); a lower rank never imports a higher one",
                module.name[0]
            );
            problems.push(Problem {
                path: module.path.to_owned(),
                line: Some(line),
                message,
            });
        }
    }
    problems
}

fn rank(module: &str) -> Option<usize> {
    RANKS.iter().position(|modules| modules.contains(&module))
}

/// The public names of the crate's root and the modules they come from: `pub use key::{ObjectKey, ..}`.
fn reexports(root: &Lexed) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for statement in root.tokens.split(|token| is_punct(token, ';')) {
        let Some(start) = statement.iter().position(|token| is_ident(token, "use")) else {
            continue;
        };
        let mut idents = Vec::new();
        flat_idents(&statement[start + 1..], &mut idents);
        let mut idents = idents
            .into_iter()
            .filter(|name| name != "self" && name != "crate");
        let Some(module) = idents.next() else { continue };
        names.extend(idents.map(|name| (name, module.clone())));
    }
    names
}

fn flat_idents(tokens: &[TokenTree], found: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => found.push(ident.to_string()),
            TokenTree::Group(group) => flat_idents(&children(group), found),
            _ => {}
        }
    }
}

/// A name of the crate's root that a file uses.
struct Reference {
    name: String,
    line: usize,
}

/// Collects what the tokens, `depth` modules below the root, name there; what only tests compile is left out.
fn find_references(tokens: &[TokenTree], depth: usize, found: &mut Vec<Reference>) {
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        let rest = &tokens[index..];
        if is_test_only(rest) {
            index += item_length(rest);
            continue;
        }
        let supers = rest
            .chunks(3)
            .take_while(|chunk| is_ident(&chunk[0], "super") && is_path(&chunk[1..]))
            .count();
        if is_ident(token, "crate") && is_path(&rest[1..]) {
            root_names(&rest[3..], found);
            index += 3;
        } else if supers > 0 {
            if supers == depth {
                root_names(&rest[3 * supers..], found);
            }
            index += 3 * supers;
        } else if is_ident(token, "mod") && rest.get(2).is_some_and(is_brace) {
            if let Some(TokenTree::Group(body)) = rest.get(2) {
                find_references(&children(body), depth + 1, found);
            }
            index += 3;
        } else {
            if let TokenTree::Group(group) = token {
                find_references(&children(group), depth, found);
            }
            index += 1;
        }
    }
}

/// The names right below the root: one in `crate::name`, several in `crate::{name, other::thing}`.
fn root_names(after_root: &[TokenTree], found: &mut Vec<Reference>) {
    match after_root.first() {
        Some(TokenTree::Ident(name)) => {
            found.push(Reference {
                name: name.to_string(),
                line: name.span().start().line,
            });
        }
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
            for entry in children(group).split(|token| is_punct(token, ',')) {
                if let Some(first) = entry.first() {
                    found.push(Reference {
                        name: first.to_string(),
                        line: line(first),
                    });
                }
            }
        }
        _ => {}
    }
}

fn is_path(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [first, second, ..] if is_punct(first, ':') && is_punct(second, ':'))
}

/// Whether the tokens begin with `#[cfg(test)]` or `#[cfg(all(test, ..))]`.
fn is_test_only(tokens: &[TokenTree]) -> bool {
    attribute(tokens).is_some_and(|attribute| {
        let text: String = attribute.to_string().split_whitespace().collect();
        text == "cfg(test)" || text.starts_with("cfg(all(test,")
    })
}

/// How many tokens the item at the start takes, its attributes included.
fn item_length(tokens: &[TokenTree]) -> usize {
    let end = tokens
        .iter()
        .position(|token| is_brace(token) || is_punct(token, ';'));
    end.map_or(tokens.len(), |end| end + 1)
}

/// Collects `#[cfg(test)] mod name;`: the file behind it holds tests only.
fn find_test_modules(tokens: &[TokenTree], parent: &[String], found: &mut BTreeSet<Vec<String>>) {
    for index in 0..tokens.len() {
        let rest = &tokens[index..];
        if !is_test_only(rest) {
            continue;
        }
        let item = &rest[..item_length(rest)];
        if let [.., keyword, TokenTree::Ident(name), end] = item
            && is_ident(keyword, "mod")
            && is_punct(end, ';')
        {
            found.insert([parent, &[name.to_string()]].concat());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks one file against what it should be told, with a root that re-exports `SharedInformer`.
    fn check_file(path: &str, text: &str, expected: &[&str]) {
        check_files(&[(path, text)], expected);
    }

    fn check_files(files: &[(&str, &str)], expected: &[&str]) {
        let root = Lexed::new("mod informer;\npub use informer::{SharedInformer, Builder as B};").unwrap();
        let lexed: Vec<Lexed> = files.iter().map(|(_, text)| Lexed::new(text).unwrap()).collect();
        let modules: Vec<Module<'_>> = files
            .iter()
            .zip(&lexed)
            .map(|((path, _), lexed)| Module {
                path: Path::new(path),
                name: module_name(Path::new(path)),
                lexed,
            })
            .collect();
        let problems = check_modules(Path::new("lib.rs"), &root, &modules);
        let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_lower_rank_may_be_imported() {
        check_file(
            "reflector.rs",
            "use crate::delta::Queue;\nuse crate::{key::ObjectKey, store};",
            &[],
        );
        check_file("reflector.rs", "use crate::processor::Listener;", &[]);
    }

    #[test]
    fn a_higher_rank_is_reported_with_file_line_and_ranks() {
        let expected = [
            "reflector/watch.rs:2: `reflector` (rank 2) names `committer` (rank 3); \
             a lower rank never imports a higher one",
        ];
        check_file(
            "reflector/watch.rs",
            "//! Watch.\nuse crate::committer::Committer;",
            &expected,
        );
        check_file(
            "reflector/watch.rs",
            "//! Watch.\nuse crate::{key::Key, committer};",
            &expected,
        );
        check_file(
            "reflector/watch.rs",
            "//! Watch.\nfn f() { crate::committer::run() }",
            &expected,
        );
        check_file(
            "reflector/watch.rs",
            "//! Watch.\nuse super::super::committer::Committer;",
            &expected,
        );
        check_file(
            "reflector/watch.rs",
            "mod inner {\nuse super::super::super::committer::Committer; }",
            &expected,
        );
    }

    #[test]
    fn a_name_re_exported_by_the_root_counts_as_its_module() {
        let expected =
            ["key.rs:1: `key` (rank 0) names `informer` (rank 4); a lower rank never imports a higher one"];
        check_file("key.rs", "use crate::SharedInformer;", &expected);
        check_file("key.rs", "use crate::{B};", &expected);
    }

    #[test]
    fn siblings_comments_and_strings_do_not_count() {
        check_file("reflector/watch.rs", "use super::controller_like::X;", &[]);
        check_file(
            "key.rs",
            "/// See [`crate::informer`].\nconst X: &str = \"crate::informer::Y\";",
            &[],
        );
        check_file("key.rs", "pub(crate) fn informer() {}", &[]);
    }

    #[test]
    fn tests_may_name_anything() {
        check_file(
            "key.rs",
            "#[cfg(test)]\nmod tests { use crate::informer::X; }",
            &[],
        );
        check_file("key.rs", "#[cfg(test)]\nuse crate::informer::X;\nfn f() {}", &[]);
        check_files(
            &[
                ("key.rs", "#[cfg(test)]\nmod tests;"),
                ("key_tests.rs", "use crate::informer::X;"),
                ("store.rs", "#[cfg(test)]\nmod tests;"),
                ("store/tests/keys.rs", "use crate::informer::X;"),
            ],
            &[],
        );
    }

    #[test]
    fn code_after_a_test_item_still_counts() {
        check_file(
            "key.rs",
            "#[cfg(test)]\nmod tests {}\nuse crate::delta::X;",
            &["key.rs:3: `key` (rank 0) names `delta` (rank 1); a lower rank never imports a higher one"],
        );
    }

    #[test]
    fn a_module_without_a_rank_is_reported() {
        check_file(
            "shiny.rs",
            "use crate::key::X;",
            &["lib.rs: the module `shiny` has no rank; give it one in xtask/src/tidy/ranks.rs"],
        );
    }
}
