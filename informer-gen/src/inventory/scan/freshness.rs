//! Compares the checked-in table with the scanned kinds.

use std::collections::BTreeMap;

use crate::inventory::Resource;
use crate::inventory::table::{self, TableError, sort_key};

/// Error of [`check_fresh`]: the checked-in table is stale.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StaleTable {
    /// The table cannot be read.
    #[error("the table cannot be read")]
    Unreadable(#[from] TableError),
    /// Rows differ. Each list holds `apiVersion Kind`.
    #[error(
        "rows differ from k8s-openapi; not in its sources: {unknown:?}; not in the table: {missing:?}; \
         changed: {changed:?}"
    )]
    Rows {
        /// In the table, but not a kind of k8s-openapi.
        unknown: Vec<String>,
        /// A kind of k8s-openapi, but not in the table.
        missing: Vec<String>,
        /// In both, with different cells.
        changed: Vec<String>,
    },
    /// The rows are equal, but the text was edited.
    #[error("the rows agree with k8s-openapi, but line {line} differs from the generated text")]
    Text {
        /// The first line that differs, counted from 1.
        line: usize,
    },
}

/// Checks that `text` is, to the byte, the table of `scanned`.
///
/// # Errors
/// If the table differs. The error names the rows that differ, or else the first line.
pub fn check_fresh(text: &str, scanned: &[Resource]) -> Result<(), StaleTable> {
    let fresh = table::render(scanned);
    if text == fresh {
        return Ok(());
    }
    let present = table::parse(text)?;
    let (in_table, in_sources) = (by_key(&present), by_key(scanned));
    let unknown = names(&in_table, |key, _| !in_sources.contains_key(key));
    let missing = names(&in_sources, |key, _| !in_table.contains_key(key));
    let changed = names(&in_table, |key, row| {
        in_sources.get(key).is_some_and(|other| *other != row)
    });
    if unknown.is_empty() && missing.is_empty() && changed.is_empty() {
        let same = text
            .lines()
            .zip(fresh.lines())
            .take_while(|(old, new)| old == new)
            .count();
        return Err(StaleTable::Text { line: same + 1 });
    }
    Err(StaleTable::Rows {
        unknown,
        missing,
        changed,
    })
}

type Key<'a> = (&'a str, &'a str, &'a str);
type Rows<'a> = BTreeMap<Key<'a>, &'a Resource>;

fn by_key(resources: &[Resource]) -> Rows<'_> {
    resources
        .iter()
        .map(|resource| (sort_key(resource), resource))
        .collect()
}

fn names(rows: &Rows<'_>, is_wanted: impl Fn(&Key<'_>, &Resource) -> bool) -> Vec<String> {
    rows.iter()
        .filter(|(key, row)| is_wanted(key, row))
        .map(|(_, row)| format!("{} {}", row.api_version(), row.kind))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::{TABLE, builtin};

    fn check_stale(text: &str, expected: &str) {
        let stale = check_fresh(text, builtin()).expect_err("the text was changed");
        assert!(stale.to_string().contains(expected), "{stale}");
    }

    #[test]
    fn the_checked_in_table_is_as_the_generator_writes_it() {
        assert_eq!(check_fresh(TABLE, builtin()), Ok(()));
    }

    #[test]
    fn a_row_for_a_kind_that_k8s_openapi_lacks_is_named() {
        let row = "zoo.example.com v1 Zebra zebras namespaced 1.33 - list-watch api::zoo::v1::Zebra\n";
        check_stale(
            &format!("{TABLE}{row}"),
            r#"not in its sources: ["zoo.example.com/v1 Zebra"]"#,
        );
    }

    #[test]
    fn a_kind_that_was_left_out_is_named() {
        let without: String = TABLE
            .lines()
            .filter(|line| !line.contains(" Pod "))
            .map(|line| format!("{line}\n"))
            .collect();
        check_stale(&without, r#"not in the table: ["v1 Pod"]"#);
    }

    #[test]
    fn a_cell_edited_by_hand_is_named() {
        check_stale(&TABLE.replace(" pods ", " podz "), r#"changed: ["v1 Pod"]"#);
    }

    #[test]
    fn an_edited_comment_is_found_by_its_line() {
        check_stale(
            &TABLE.replacen("Do not edit", "Please edit", 1),
            "line 1 differs from the generated text",
        );
    }
}
