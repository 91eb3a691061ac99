//! Every row of `docs/parity.md` names a test that exists and that names its origin, or says why the question is moot.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Problem;
use super::lexed::Role;
use super::tree::Tree;

const PARITY: &str = "docs/parity.md";
const SCENARIOS: &str = "tests/scenarios";
const COLUMNS: [&str; 4] = ["upstream", "ours", "status", "test"];

/// Does nothing as long as the file does not exist.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(file) = tree.file(Path::new(PARITY)) else {
        return Vec::new();
    };
    let evidence = Evidence::of(tree);
    check_text(&file.text, &evidence)
        .into_iter()
        .map(|(line, message)| Problem {
            path: PARITY.into(),
            line: Some(line),
            message,
        })
        .collect()
}

/// What a row may name.
pub(super) struct Evidence {
    /// Functions with a test attribute, and what their comments say.
    pub(super) tests: BTreeMap<String, String>,
    /// Paths from the root: scenario scripts, compile-fail cases, sources with documentation tests.
    pub(super) files: BTreeSet<String>,
    /// The text of scenario scripts, by their names.
    pub(super) scenarios: BTreeMap<String, String>,
}

impl Evidence {
    pub(super) fn of(tree: &Tree) -> Self {
        let mut tests: BTreeMap<String, String> = BTreeMap::new();
        for (file, lexed) in tree.rust_files() {
            let lines: Vec<&str> = file.text.lines().collect();
            let of_tests = lexed
                .functions
                .iter()
                .filter(|function| function.role == Role::Test);
            for function in of_tests {
                let comment = comment_above(&lines, function.first_line);
                tests.entry(function.name.clone()).or_default().push_str(&comment);
            }
        }
        let scenario = |path: &Path| {
            Some(
                path.strip_prefix(SCENARIOS)
                    .ok()?
                    .file_stem()?
                    .to_string_lossy()
                    .into_owned(),
            )
        };
        Self {
            tests,
            scenarios: tree
                .files
                .iter()
                .filter_map(|file| Some((scenario(&file.path)?, file.text.clone())))
                .collect(),
            files: tree
                .files
                .iter()
                .map(|file| file.path.to_string_lossy().replace('\\', "/"))
                .collect(),
        }
    }

    /// `name` may be a path of modules; only its last part is looked up.
    fn has(&self, name: &str) -> bool {
        let function = name.rsplit("::").next().unwrap_or(name);
        self.tests.contains_key(function)
            || self.files.contains(name)
            || self.files.contains(&format!("tests/scenarios/{name}"))
            || self.files.contains(&format!("tests/scenarios/{name}.txt"))
    }

    /// Whether a test or scenario says that it stands for this test of client-go.
    fn comes_from(&self, name: &str, upstream: &str) -> bool {
        let function = name.rsplit("::").next().unwrap_or(name);
        let texts = [self.tests.get(function), self.scenarios.get(name)];
        texts
            .into_iter()
            .flatten()
            .any(|text| words(text).any(|word| word == upstream))
    }
}

/// The comment and the attributes above a line.
fn comment_above(lines: &[&str], line: usize) -> String {
    let above = lines.iter().take(line.saturating_sub(1)).rev();
    let belongs = |line: &&&str| {
        let line = line.trim_start();
        line.starts_with("///") || line.starts_with("#[")
    };
    let comment: Vec<&str> = above.take_while(belongs).copied().collect();
    comment.join("\n")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
}

/// Whether a word is the name of a Go test.
fn is_upstream_test(word: &str) -> bool {
    let rest = word.strip_prefix("Test");
    rest.is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_uppercase()))
}

fn check_text(text: &str, evidence: &Evidence) -> Vec<(usize, String)> {
    let mut problems = Vec::new();
    let mut rows = 0;
    let mut in_table = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if !line.starts_with('|') {
            in_table = false;
            continue;
        }
        let cells = cells(line);
        let is_header = !std::mem::replace(&mut in_table, true);
        if is_header {
            if !cells.iter().map(|cell| cell.to_lowercase()).eq(COLUMNS) {
                problems.push((
                    index + 1,
                    format!("the columns of a table here are {}", COLUMNS.join(" | ")),
                ));
            }
        } else if !is_ruler(&cells) {
            rows += 1;
            problems.extend(
                check_row(&cells, evidence)
                    .into_iter()
                    .map(|problem| (index + 1, problem)),
            );
        }
    }
    if rows == 0 {
        problems.push((1, "no row in any table".to_owned()));
    }
    problems
}

fn check_row(cells: &[String], evidence: &Evidence) -> Vec<String> {
    let [upstream, ours, status, test] = cells else {
        return vec![format!("{} columns instead of {}", cells.len(), COLUMNS.len())];
    };
    let mut problems: Vec<String> = COLUMNS
        .iter()
        .zip([upstream, ours, status])
        .filter(|(_, cell)| cell.is_empty())
        .map(|(column, _)| format!("`{column}` is empty"))
        .collect();
    problems.extend(check_tests(test, evidence));
    problems.extend(check_origins(upstream, test, evidence));
    problems
}

/// A test of client-go that none of the named tests refers to: then the row says more than its tests show.
fn check_origins(upstream: &str, test: &str, evidence: &Evidence) -> Vec<String> {
    let names = backticked(test);
    if test.starts_with("moot:") || names.iter().all(|name| evidence.files.contains(*name)) {
        return Vec::new();
    }
    let origins = words(upstream).filter(|word| is_upstream_test(word));
    origins
        .filter(|origin| !names.iter().any(|name| evidence.comes_from(name, origin)))
        .map(|origin| {
            format!(
                "no test named here says `Upstream: {origin}` above it: does one assert what that asserts?"
            )
        })
        .collect()
}

/// What is wrong with a cell that names tests, or says after `moot:` why there is none.
pub(super) fn check_tests(test: &str, evidence: &Evidence) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some(reason) = test.strip_prefix("moot:") {
        if reason.trim().is_empty() {
            problems.push("`moot:` without a reason".to_owned());
        }
        return problems;
    }
    let names = backticked(test);
    if names.is_empty() {
        problems.push("names neither a test in backticks nor `moot:` and a reason".to_owned());
    }
    let unknown = names.into_iter().filter(|name| !evidence.has(name));
    problems.extend(unknown.map(|name| format!("no test, scenario or file is called `{name}`")));
    problems
}

/// The cells of a row. A `|` inside backticks or after a backslash does not end a cell.
pub(super) fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let (mut in_code, mut escaped) = (false, false);
    for char in line.trim_matches('|').chars() {
        let splits = char == '|' && !in_code && !escaped;
        in_code ^= char == '`';
        escaped = char == '\\';
        if splits {
            cells.push(String::new());
        } else if let Some(cell) = cells.last_mut() {
            cell.push(char);
        }
    }
    cells.into_iter().map(|cell| cell.trim().to_owned()).collect()
}

pub(super) fn is_ruler(cells: &[String]) -> bool {
    cells
        .iter()
        .all(|cell| !cell.is_empty() && cell.chars().all(|char| matches!(char, '-' | ':')))
}

fn backticked(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_rows(rows: &str, expected: &[&str]) {
        let evidence = Evidence {
            tests: [(
                "relist_deletes".to_owned(),
                "/// Upstream: TestRelist.".to_owned(),
            )]
            .into(),
            scenarios: [("relist".to_owned(), "# Upstream: TestScenario.".to_owned())].into(),
            files: [
                "tests/scenarios/relist.txt".to_owned(),
                "informer-core/src/key.rs".to_owned(),
            ]
            .into(),
        };
        let text = format!("# Parity\n\n| upstream | ours | status | test |\n|---|---|:-:|---|\n{rows}");
        let problems: Vec<String> = check_text(&text, &evidence)
            .into_iter()
            .map(|(line, message)| format!("{line}: {message}"))
            .collect();
        assert_eq!(problems, expected);
    }

    #[test]
    fn tests_scenarios_and_files_are_evidence() {
        check_rows(
            "| `A` | `B` | same | `store::tests::relist_deletes`, `relist` |",
            &[],
        );
        check_rows(
            "| `A` | `B` | same | `tests/scenarios/relist.txt`, `informer-core/src/key.rs` |",
            &[],
        );
    }

    #[test]
    fn a_name_that_does_not_exist_is_reported_with_its_line() {
        check_rows(
            "| `A` | `B` | same | `relist_deletes`, `gone` |",
            &["5: no test, scenario or file is called `gone`"],
        );
    }

    #[test]
    fn a_test_of_client_go_is_named_by_one_of_ours() {
        check_rows("| TestRelist | `B` | same | `relist_deletes` |", &[]);
        check_rows(
            "| TestRelist, TestScenario | `B` | same | `relist_deletes`, `relist` |",
            &[],
        );
        check_rows("| TestOther | `B` | same | moot: it has no other |", &[]);
        check_rows(
            "| `Testing`, TestOther | `B` | same | `informer-core/src/key.rs` |",
            &[],
        );
        check_rows(
            "| TestRelist, TestRelistAgain | `B` | same | `relist_deletes` |",
            &[
                "5: no test named here says `Upstream: TestRelistAgain` above it: does one assert what that asserts?",
            ],
        );
    }

    #[test]
    fn moot_needs_a_reason() {
        check_rows("| `A` | - | moot | moot: the type system forbids it |", &[]);
        check_rows("| `A` | - | moot | moot: |", &["5: `moot:` without a reason"]);
    }

    #[test]
    fn a_row_without_test_or_reason_is_reported() {
        check_rows(
            "| `A` | `B` | same | later |",
            &["5: names neither a test in backticks nor `moot:` and a reason"],
        );
        check_rows("| `A` | `B` | | `relist` |", &["5: `status` is empty"]);
        check_rows("| `A` | `B` |", &["5: 2 columns instead of 4"]);
    }

    #[test]
    fn a_bar_in_code_does_not_end_a_cell() {
        check_rows("| `a|b` | `B` | same | `relist` |", &[]);
    }

    #[test]
    fn a_page_without_rows_is_reported() {
        check_rows("", &["1: no row in any table"]);
    }

    #[test]
    fn a_table_with_other_columns_is_reported() {
        check_rows(
            "| `A` | `B` | same | `relist` |\n\n| a | b |\n",
            &["7: the columns of a table here are upstream | ours | status | test"],
        );
    }
}
