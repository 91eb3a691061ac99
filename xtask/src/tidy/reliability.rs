//! Every guarantee and every bug in the tables of `docs/reliability.md` names a test that exists, or says why there can be none.

use std::path::Path;

use super::Problem;
use super::parity::{Evidence, cells, check_tests, is_ruler};
use super::tree::Tree;

const RELIABILITY: &str = "docs/reliability.md";
/// A table whose last column has this name is a table of evidence; the others are not looked at.
const COLUMN: &str = "test";

/// Does nothing as long as the file does not exist.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(file) = tree.file(Path::new(RELIABILITY)) else {
        return Vec::new();
    };
    check_text(&file.text, &Evidence::of(tree))
        .into_iter()
        .map(|(line, message)| Problem {
            path: RELIABILITY.into(),
            line: Some(line),
            message,
        })
        .collect()
}

/// Where a line is.
#[derive(Clone, Copy)]
enum Place {
    Prose,
    /// In a table of evidence with so many columns.
    Evidence(usize),
    OtherTable,
}

fn check_text(text: &str, evidence: &Evidence) -> Vec<(usize, String)> {
    let mut problems = Vec::new();
    let (mut place, mut rows) = (Place::Prose, 0);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if !line.starts_with('|') {
            place = Place::Prose;
            continue;
        }
        let cells = cells(line);
        let last = cells.last().map_or("", String::as_str);
        match place {
            Place::Prose if last.eq_ignore_ascii_case(COLUMN) => place = Place::Evidence(cells.len()),
            Place::Prose => place = Place::OtherTable,
            Place::Evidence(columns) if !is_ruler(&cells) => {
                rows += 1;
                let found = match cells.len() {
                    count if count == columns => check_tests(last, evidence),
                    count => vec![format!("{count} columns instead of {columns}")],
                };
                problems.extend(found.into_iter().map(|problem| (index + 1, problem)));
            }
            Place::Evidence(_) | Place::OtherTable => {}
        }
    }
    if rows == 0 {
        problems.push((
            1,
            format!("no row in any table that ends with a column `{COLUMN}`"),
        ));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_page(page: &str, expected: &[&str]) {
        let evidence = Evidence {
            tests: [("relist_deletes".to_owned(), String::new())].into(),
            scenarios: Default::default(),
            files: ["tests/scenarios/relist.txt".to_owned()].into(),
        };
        let problems: Vec<String> = check_text(page, &evidence)
            .into_iter()
            .map(|(line, message)| format!("{line}: {message}"))
            .collect();
        assert_eq!(problems, expected);
    }

    #[test]
    fn rows_of_evidence_name_tests_or_a_reason() {
        check_page(
            "| bug | test |\n|---|---|\n| a | `relist_deletes` |\n| b | moot: no such thing |",
            &[],
        );
        check_page(
            "| bug | seen | test |\n|---|---|---|\n| a | b | `gone` |\n| a | b | later |\n| a | `relist` |",
            &[
                "3: no test, scenario or file is called `gone`",
                "4: names neither a test in backticks nor `moot:` and a reason",
                "5: 2 columns instead of 3",
            ],
        );
    }

    #[test]
    fn other_tables_are_left_alone_and_some_evidence_is_needed() {
        check_page(
            "| date | seeds |\n|---|---|\n| today | 7 |\n\n| bug | Test |\n|---|---|\n| a | `relist` |",
            &[],
        );
        check_page(
            "| date | seeds |\n|---|---|\n| today | 7 |",
            &["1: no row in any table that ends with a column `test`"],
        );
    }
}
