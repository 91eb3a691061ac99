//! Finds the unusual field names in k8s-openapi's sources.
//!
//! A type's deserializer there has one arm `"podIP" => Field::Key_pod_ip` for each field. Arms are counted
//! against the variants of `enum Field`, and rows against a known number, so that a change in how k8s-openapi
//! writes its files cannot silently drop names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::fields::UnusualField;
use crate::inventory::known::{KINDS, UNUSUAL_FIELDS};
use crate::inventory::scan::{ScanError, module_path, read_files};
use crate::names::serde_name;

/// Scans the sources of k8s-openapi (the folder with its `Cargo.toml`) and returns the rows of the table,
/// sorted.
///
/// # Errors
/// Anything that is not as expected is an error that names the file or the number: see [`ScanError`].
pub fn scan(k8s_openapi: &Path) -> Result<Vec<UnusualField>, ScanError> {
    let mut names = Names::default();
    for (release, _) in KINDS {
        let root = k8s_openapi.join("src").join(format!("v1_{}", release.minor));
        for (path, text) in read_files(&root)? {
            let wrong = |problem: String| ScanError::Declaration {
                path: path.clone(),
                problem,
            };
            let Some(declared) = fields_of(&text).map_err(wrong)? else {
                continue;
            };
            let type_path = module_path(&root, &path, declared.name).map_err(wrong)?;
            for (field, json) in declared.fields {
                names.add(field, json, &type_path);
            }
        }
    }
    let rows = names.unusual();
    if rows.len() != UNUSUAL_FIELDS {
        return Err(ScanError::Counts {
            wrong: vec![format!(
                "{} unusual field names instead of {UNUSUAL_FIELDS}",
                rows.len()
            )],
        });
    }
    Ok(rows)
}

/// A type with named fields, as its file declares it.
#[derive(Debug, PartialEq, Eq)]
struct Declared<'t> {
    name: &'t str,
    /// The Rust name and the JSON name of each field.
    fields: Vec<(&'t str, &'t str)>,
}

/// The type that a file declares, if it reads its fields by name.
fn fields_of(text: &str) -> Result<Option<Declared<'_>>, String> {
    let lines = || text.lines().map(str::trim);
    let name = lines().find_map(|line| {
        line.strip_prefix("pub struct ")?
            .split([' ', '<', '(', ';'])
            .next()
    });
    let variants: BTreeSet<&str> = lines()
        .filter_map(|line| line.strip_prefix("Key_")?.strip_suffix(','))
        .collect();
    // An enum, such as `WatchEvent`, has no fields to speak of.
    let Some(name) = name.filter(|_| !variants.is_empty()) else {
        return Ok(None);
    };
    let fields: Vec<(&str, &str)> = lines()
        .filter_map(|line| {
            let (json, field) = line.strip_prefix('"')?.split_once("\" => Field::Key_")?;
            Some((field.strip_suffix(',')?, json))
        })
        .collect();
    let arms: BTreeSet<&str> = fields.iter().map(|(field, _)| *field).collect();
    if arms != variants {
        return Err(format!(
            "`enum Field` and the arms that read it differ in {:?}",
            arms.symmetric_difference(&variants).collect::<Vec<_>>()
        ));
    }
    Ok(Some(Declared { name, fields }))
}

/// Every field of every type: its Rust name, its JSON names, and the types that use each.
#[derive(Default)]
struct Names(BTreeMap<String, BTreeMap<String, BTreeSet<String>>>);

impl Names {
    fn add(&mut self, field: &str, json: &str, type_path: &str) {
        let types = self.0.entry(field.to_owned()).or_default();
        types
            .entry(json.to_owned())
            .or_default()
            .insert(type_path.to_owned());
    }

    fn unusual(self) -> Vec<UnusualField> {
        let mut rows = Vec::new();
        for (field, names) in self.0 {
            let all_agree = names.len() == 1;
            let usual = serde_name(&field);
            for (json, types) in names.into_iter().filter(|(json, _)| *json != usual) {
                let row = |only_in| UnusualField {
                    field: field.clone(),
                    json: json.clone(),
                    only_in,
                };
                match all_agree {
                    true => rows.push(row(None)),
                    false => rows.extend(types.into_iter().map(|path| row(Some(path)))),
                }
            }
        }
        rows.sort();
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GADGET: &str = r#"
        pub struct Gadget {
            pub host_ip: String,
        }
        enum Field {
            Key_host_ip,
            Key_name,
            Other,
        }
        match v {
            "hostIP" => Field::Key_host_ip,
            "name" => Field::Key_name,
            _ => Field::Other,
        }
    "#;

    #[test]
    fn the_arms_of_a_deserializer_give_both_names() {
        let expected = Declared {
            name: "Gadget",
            fields: vec![("host_ip", "hostIP"), ("name", "name")],
        };
        assert_eq!(fields_of(GADGET), Ok(Some(expected)));
        assert_eq!(fields_of("pub struct Quantity(String);"), Ok(None));
    }

    #[test]
    fn an_arm_in_an_unknown_shape_is_an_error_that_names_the_field() {
        let text = GADGET.replace("\"name\" =>", "NAME =>");
        let error = fields_of(&text).expect_err("an arm is missing");
        assert!(error.contains("name"), "{error}");
    }

    /// Each item is a field, its JSON name and its type; each expected one a field, its JSON name and the
    /// type or `-`.
    fn check(fields: &[(&str, &str, &str)], expected: &[(&str, &str, &str)]) {
        let mut names = Names::default();
        for (field, json, type_path) in fields {
            names.add(field, json, type_path);
        }
        let found = names.unusual();
        let found: Vec<_> = found
            .iter()
            .map(|row| {
                (
                    row.field.as_str(),
                    row.json.as_str(),
                    row.only_in.as_deref().unwrap_or("-"),
                )
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn only_what_is_not_camel_case_becomes_a_row() {
        check(
            &[("node_name", "nodeName", "A"), ("pod_ip", "podIP", "A")],
            &[("pod_ip", "podIP", "-")],
        );
    }

    #[test]
    fn a_name_on_which_types_disagree_is_kept_by_type() {
        check(
            &[
                ("port", "port", "A"),
                ("port", "Port", "B"),
                ("port", "Port", "C"),
            ],
            &[("port", "Port", "B"), ("port", "Port", "C")],
        );
    }

    #[test]
    fn a_name_in_many_types_is_one_row() {
        check(
            &[("pod_ip", "podIP", "A"), ("pod_ip", "podIP", "B")],
            &[("pod_ip", "podIP", "-")],
        );
    }
}
