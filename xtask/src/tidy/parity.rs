//! Every row of `docs/parity.md` names a test that exists, or says why the question is moot.

use std::collections::BTreeSet;
use std::path::Path;

use super::Problem;
use super::lexed::Role;
use super::tree::Tree;

const PARITY: &str = "docs/parity.md";
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
    /// Functions with a test attribute.
    pub(super) tests: BTreeSet<String>,
    /// Paths from the root: scenario scripts, compile-fail cases, sources with documentation tests.
    pub(super) files: BTreeSet<String>,
}

impl Evidence {
    pub(super) fn of(tree: &Tree) -> Self {
        let functions = tree.rust_files().flat_map(|(_, lexed)| &lexed.functions);
        Self {
            tests: functions
                .filter(|function| function.role == Role::Test)
                .map(|function| function.name.clone())
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
        self.tests.contains(function)
            || self.files.contains(name)
            || self.files.contains(&format!("tests/scenarios/{name}"))
            || self.files.contains(&format!("tests/scenarios/{name}.txt"))
    }
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
    problems
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
            tests: ["relist_deletes".to_owned()].into(),
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
