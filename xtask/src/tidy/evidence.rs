//! Tables in `docs/parity.md`, `docs/reliability.md` and `SECURITY.md` name tests that exist, or say why no
//! test is needed.
//!
//! A table whose last column is `test` is checked; other tables are not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Problem;
use crate::tree::Tree;

const PAGES: [&str; 3] = ["docs/parity.md", "docs/reliability.md", "SECURITY.md"];
const SCENARIOS: &str = "tests/scenarios";
const COLUMN: &str = "test";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let evidence = Evidence::of(tree);
    let mut problems = Vec::new();
    for page in PAGES.map(Path::new) {
        let text = tree.file(page).map_or("", |file| file.text.as_str());
        let found = check_page(text, &evidence).into_iter();
        problems.extend(found.map(|(line, message)| Problem {
            path: page.to_owned(),
            line: Some(line),
            message,
        }));
    }
    problems
}

/// What a row may name.
#[derive(Default)]
struct Evidence {
    /// Test functions by name, and scenario scripts by file name, with the comment that may name their
    /// origin.
    tests: BTreeMap<String, String>,
    /// Paths from the root, such as sources with documentation tests.
    files: BTreeSet<String>,
}

impl Evidence {
    fn of(tree: &Tree) -> Self {
        let mut evidence = Self::default();
        for file in tree.rust_files() {
            evidence.add_tests(&file.text);
        }
        for file in &tree.files {
            if let (true, Some(name)) = (file.path.starts_with(SCENARIOS), file.path.file_stem()) {
                let name = name.to_string_lossy().into_owned();
                evidence.tests.insert(name, file.text.clone());
            }
            let path = file.path.to_string_lossy().replace('\\', "/");
            evidence.files.insert(path);
        }
        evidence
    }

    /// Adds every function below a test attribute, with the comment and the attributes above it.
    fn add_tests(&mut self, source: &str) {
        let mut above = String::new();
        for line in source.lines().map(str::trim) {
            if line.starts_with("///") || line.starts_with("#[") {
                above.push_str(line);
                above.push('\n');
                continue;
            }
            if let (true, Some(name)) = (has_test_attribute(&above), function(line)) {
                self.tests.entry(name.to_owned()).or_default().push_str(&above);
            }
            above.clear();
        }
    }

    /// The comment of a test; `name` may be a path of modules, of which only the last part counts.
    fn test(&self, name: &str) -> Option<&String> {
        self.tests.get(name.rsplit("::").next().unwrap_or(name))
    }

    /// What is wrong with a row.
    fn check(&self, row: &[String]) -> Vec<String> {
        let (upstream, cell) = (row[0].as_str(), row[row.len() - 1].as_str());
        if let Some(reason) = cell.strip_prefix("moot:") {
            let missing = reason.trim().is_empty();
            return missing
                .then(|| "`moot:` without a reason".to_owned())
                .into_iter()
                .collect();
        }
        let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        if names.is_empty() {
            return vec!["names neither a test in backticks nor `moot:` and a reason".to_owned()];
        }
        let exists = |name: &&str| self.test(name).is_some() || self.files.contains(*name);
        let mut problems: Vec<String> = names
            .iter()
            .filter(|name| !exists(name))
            .map(|name| format!("no test, scenario or file is called `{name}`"))
            .collect();
        // A file of documentation tests has no test that could name its origin.
        if !names.iter().all(|name| self.files.contains(*name)) {
            let comments: Vec<&String> = names.iter().filter_map(|name| self.test(name)).collect();
            let origins = words(upstream).filter(|word| is_upstream_test(word));
            let missing =
                origins.filter(|origin| !comments.iter().any(|text| words(text).any(|w| w == *origin)));
            problems.extend(missing.map(|origin| {
                format!("no test named here says `Upstream: {origin}`: does one of them assert the same?")
            }));
        }
        problems
    }
}

/// Whether one of the lines is `#[test]`, `#[tokio::test(..)]` or the like. `#[cfg(test)]` is none.
fn has_test_attribute(above: &str) -> bool {
    above
        .lines()
        .filter_map(|line| line.strip_prefix("#["))
        .map(|attribute| attribute.split(['(', ']']).next().unwrap_or_default())
        .any(|path| path == "test" || path.ends_with("::test"))
}

/// The name in `fn name(`.
fn function(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("fn ")?;
    rest.split(['(', '<']).next()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
}

/// Whether a word is the name of a Go test.
fn is_upstream_test(word: &str) -> bool {
    let rest = word.strip_prefix("Test");
    rest.is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_uppercase()))
}

/// The position of a line.
enum Place {
    Prose,
    /// In a table of evidence with this many columns.
    Evidence(usize),
    OtherTable,
}

fn check_page(text: &str, evidence: &Evidence) -> Vec<(usize, String)> {
    let mut problems = Vec::new();
    let (mut place, mut rows) = (Place::Prose, 0);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if !line.starts_with('|') {
            place = Place::Prose;
            continue;
        }
        let cells = cells(line);
        match place {
            Place::Prose if cells[cells.len() - 1].eq_ignore_ascii_case(COLUMN) => {
                place = Place::Evidence(cells.len());
            }
            Place::Prose => place = Place::OtherTable,
            Place::Evidence(columns) if !is_ruler(&cells) => {
                rows += 1;
                let found = match cells.len() {
                    count if count == columns => evidence.check(&cells),
                    count => vec![format!("{count} columns instead of {columns}")],
                };
                problems.extend(found.into_iter().map(|problem| (index + 1, problem)));
            }
            Place::Evidence(_) | Place::OtherTable => {}
        }
    }
    if rows == 0 {
        problems.push((1, format!("no row in any table whose last column is `{COLUMN}`")));
    }
    problems
}

/// The cells of a row. A `|` inside backticks or after a backslash does not end a cell.
fn cells(line: &str) -> Vec<String> {
    let mut cells = Vec::new();
    let mut cell = String::new();
    let (mut in_code, mut escaped) = (false, false);
    for char in line.trim_matches('|').chars() {
        if char == '|' && !in_code && !escaped {
            cells.push(std::mem::take(&mut cell));
        } else {
            cell.push(char);
        }
        in_code ^= char == '`';
        escaped = char == '\\';
    }
    cells.push(cell);
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

fn is_ruler(cells: &[String]) -> bool {
    cells
        .iter()
        .all(|cell| cell.chars().all(|char| matches!(char, '-' | ':')))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "/// Upstream: TestRelist.\n#[tokio::test(start_paused = true)]\n\
        async fn relist_deletes() {\n\n#[cfg(test)]\nfn helper() {}\n";

    fn check_rows(rows: &str, expected: &[&str]) {
        let mut evidence = Evidence::default();
        evidence.add_tests(SOURCE);
        evidence
            .tests
            .insert("relist".to_owned(), "# Upstream: TestScenario.".to_owned());
        evidence.files.insert("informer-core/src/key.rs".to_owned());
        let text = format!("| date | seeds |\n|---|---|\n\n| upstream | Test |\n|---|:-:|\n{rows}");
        let problems = check_page(&text, &evidence);
        let problems: Vec<String> = problems
            .into_iter()
            .map(|(line, message)| format!("{line}: {message}"))
            .collect();
        assert_eq!(problems, expected);
    }

    #[test]
    fn tests_scenarios_and_files_are_evidence() {
        check_rows("| `A` | `store::tests::relist_deletes`, `relist` |", &[]);
        check_rows("| `a|b`, TestOther | `informer-core/src/key.rs` |", &[]);
    }

    #[test]
    fn a_name_that_does_not_exist_is_reported_with_its_line() {
        check_rows(
            "| A | `relist_deletes`, `gone` |",
            &["6: no test, scenario or file is called `gone`"],
        );
        check_rows(
            "| A | `helper` |",
            &["6: no test, scenario or file is called `helper`"],
        );
    }

    #[test]
    fn a_test_of_client_go_is_named_by_one_of_ours() {
        check_rows("| TestRelist, TestScenario | `relist_deletes`, `relist` |", &[]);
        check_rows("| TestOther | moot: no counterpart |", &[]);
        check_rows(
            "| TestRelist, TestRelistAgain | `relist_deletes` |",
            &["6: no test named here says `Upstream: TestRelistAgain`: does one of them assert the same?"],
        );
    }

    #[test]
    fn a_row_without_test_or_reason_is_reported() {
        check_rows("| A | moot: |", &["6: `moot:` without a reason"]);
        check_rows(
            "| A | later |",
            &["6: names neither a test in backticks nor `moot:` and a reason"],
        );
        check_rows("| A | B | `relist` |", &["6: 3 columns instead of 2"]);
        check_rows("", &["1: no row in any table whose last column is `test`"]);
    }
}
