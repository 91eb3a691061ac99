//! Golden tests of the code generated from the definitions in `crd/*.yaml`.
//!
//! The generated crate is `tests/custom`, whose tests compile and use it. `UPDATE=1 cargo test -p
//! informer-gen --features crd --test crd` rewrites the crate, `crd/clash.rs` and `crd/clash.txt`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot continue fails, and a skipped one prints that"
)]

#[path = "crd/options.rs"]
mod options;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use informer_gen::crd::definition::{Definition, Schema, Subschema};
use informer_gen::crd::types::{SchemaProblem, type_name, types};
use informer_gen::crd::{self, Docs, Reading, Root, TreeOptions};
use serde_json::{Value, json};

/// The definitions of the crate in `tests/custom`. Together they use every schema feature.
const DEFINITIONS: [&str; 6] = ["described", "loose", "names", "nullable", "open", "widget"];
/// Kinds named like an item that generated code uses.
const CLASHES: [&str; 13] = [
    "BTreeMap",
    "Box",
    "Clone",
    "Default",
    "ObjectMeta",
    "Option",
    "Required",
    "Result",
    "Serialize",
    "String",
    "Time",
    "Value",
    "Vec",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crd")
}

/// Reads the text of a definition.
fn yaml(name: &str) -> String {
    std::fs::read_to_string(folder().join(format!("{name}.yaml"))).expect("the definition exists")
}

fn definition(name: &str) -> Definition {
    serde_saphyr::from_str(&yaml(name)).expect("the definition is valid")
}

/// Compares generated text with a file, or writes the file if `UPDATE` is set.
fn check_golden(path: &Path, text: &str) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().expect("the path has a folder"))
            .expect("the folder can be created");
        std::fs::write(path, text).expect("the file can be written");
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    let line = text
        .lines()
        .zip(expected.lines())
        .take_while(|(one, other)| one == other)
        .count();
    assert!(
        text == expected,
        "{} differs at line {}: {:?}, not {:?}; UPDATE=1 rewrites it",
        path.display(),
        line + 1,
        text.lines().nth(line),
        expected.lines().nth(line),
    );
}

/// Checks that rustfmt, with its default settings, changes nothing.
fn check_layout(name: &str, text: &str) {
    // Run in a folder without the settings of this workspace.
    let rustfmt = Command::new("rustfmt")
        .args(["--check", "--edition", "2024"])
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut rustfmt) = rustfmt else {
        eprintln!("skipped the layout of {name}: rustfmt is not installed");
        return;
    };
    let mut stdin = rustfmt.stdin.take().expect("stdin is piped");
    std::io::Write::write_all(&mut stdin, text.as_bytes()).expect("rustfmt reads");
    drop(stdin);
    let output = rustfmt.wait_with_output().expect("rustfmt ends");
    let difference = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && difference.is_empty(),
        "{name}:\n{difference}"
    );
}

/// Returns every file below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .expect("the folder exists")
        .map(|entry| entry.expect("the entry can be read").path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => files_below(&path),
            false => vec![path],
        })
        .collect()
}

#[test]
fn the_definitions_give_the_crate_in_tests_custom() {
    let mut reading = Reading::default();
    for name in DEFINITIONS {
        // The path as a user in `tests/custom` gives it; the record of the crate contains it.
        let path = format!("../../informer-gen/tests/crd/{name}.yaml");
        reading.extend(crd::read(&path, &yaml(name)).unwrap());
        let definition = definition(name);
        let text = types(&definition, &definition.versions[0]).unwrap();
        check_layout(name, &text);
    }
    let options = TreeOptions {
        root: Root::Crate("informer-custom".to_owned()),
        // Every kind of description, for rustdoc to check.
        docs: Docs::Full,
        ..TreeOptions::default()
    };
    let mut tree = crd::tree(&reading.found, &options).unwrap();
    // The workspace has its own manifest for this crate.
    tree.files.remove("Cargo.toml");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/custom");
    for (path, text) in &tree.files {
        check_golden(&root.join(path), text);
    }
    let expected: BTreeSet<PathBuf> = tree.files.keys().map(|path| root.join(path)).collect();
    let present: BTreeSet<PathBuf> = files_below(&root.join("src")).into_iter().collect();
    assert_eq!(present, expected, "a file is left over");
}

/// Generates the types of the definition `clash` for a kind of this name.
fn clash(kind: &str) -> String {
    let mut definition = definition("clash");
    definition.kind = kind.to_owned();
    types(&definition, &definition.versions[0]).unwrap()
}

/// The lines that are in `text` and not in `other`.
fn lines_only_in<'a>(text: &'a str, other: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines()
        .filter(|line| !other.lines().any(|other| other == *line))
}

/// `clash.rs` is the module of a kind without a clash. `clash.txt` has, for each kind with one, the lines of
/// that module after the name is replaced (`-`), and the lines generated instead (`+`).
#[test]
fn a_kind_may_be_called_like_anything_in_rust_but_a_keyword() {
    let plain = clash("Clash");
    check_golden(&folder().join("clash.rs"), &plain);
    check_layout("Clash", &plain);
    let mut table = String::new();
    for kind in CLASHES {
        let text = clash(kind);
        check_layout(kind, &text);
        let renamed = plain.replace("Clash", kind);
        writeln!(table, "kind {kind}").unwrap();
        for line in lines_only_in(&renamed, &text) {
            writeln!(table, "-{line}").unwrap();
        }
        for line in lines_only_in(&text, &renamed) {
            writeln!(table, "+{line}").unwrap();
        }
    }
    check_golden(&folder().join("clash.txt"), &table);
}

#[test]
fn the_same_definition_always_gives_the_same_text() {
    let definition = definition("names");
    let texts: Vec<String> = (0..3)
        .map(|_| types(&definition, &definition.versions[0]).unwrap())
        .collect();
    assert!(texts.iter().all(|text| *text == texts[0]));
}

/// Returns a definition with this schema of `spec`.
fn with_spec(spec: Value) -> Definition {
    let schema = json!({ "type": "object", "properties": { "spec": spec } });
    with_schema("Foo", Some(schema))
}

fn with_schema(kind: &str, schema: Option<Value>) -> Definition {
    let schema = schema.map(|schema| json!({ "openAPIV3Schema": schema }));
    let version = json!({ "name": "v1", "served": true, "storage": true, "schema": schema });
    let names = json!({ "kind": kind, "plural": "foos" });
    let spec = json!({ "group": "example.com", "names": names, "scope": "Cluster", "versions": [version] });
    serde_json::from_value(json!({ "spec": spec })).expect("the definition is valid")
}

/// The compiler refuses such characters in comments and strings.
#[test]
fn characters_that_change_the_text_direction_are_escaped() {
    let directions = [
        '\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202e}', '\u{2066}', '\u{2069}',
    ];
    for direction in directions {
        let odd = format!("a{direction}b");
        let property = json!({ "type": "string", "enum": [odd], "default": odd, "description": odd });
        let nested = json!({ "type": "object", "properties": { odd.as_str(): property } });
        let definition = with_spec(json!({ "type": "object", "properties": { odd.as_str(): nested } }));
        let text = types(&definition, &definition.versions[0]).unwrap();
        assert!(!text.contains(direction), "{direction:?} is in:\n{text}");
        assert!(text.contains(&format!("rename = {odd:?}")), "{text}");
    }
}

/// A null default is not a default: the server does not set the field, so a required field stays required.
#[test]
fn a_default_of_null_is_not_a_default() {
    let text = |property: &str, default: Option<Option<Value>>| {
        let spec =
            json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "string" } } });
        let mut definition = with_spec(spec);
        let root = definition.versions[0].schema.as_mut().unwrap();
        let spec = root.properties.get_mut("spec").unwrap();
        *spec.properties.get_mut("a").unwrap() = serde_saphyr::from_str(property).unwrap();
        if let Some(default) = default {
            spec.properties.get_mut("a").unwrap().default = default;
        }
        types(&definition, &definition.versions[0]).unwrap()
    };
    for nullable in ["", "nullable: true\n"] {
        let without = text(&format!("type: string\n{nullable}"), None);
        assert!(!without.contains("Left out"), "{without}");
        for null in ["default: null\n", "default: ~\n", "default:\n"] {
            assert_eq!(text(&format!("type: string\n{nullable}{null}"), None), without);
        }
        let by_hand = text(&format!("type: string\n{nullable}"), Some(Some(Value::Null)));
        assert_eq!(by_hand, without);
        let with = text(&format!("type: string\n{nullable}default: x\n"), None);
        assert!(with != without && with.contains("Left out"), "{with}");
    }
}

fn problem(definition: &Definition) -> SchemaProblem {
    let error = types(definition, &definition.versions[0]).unwrap_err();
    let start = format!("example.com/v1 {}: ", definition.kind);
    assert!(error.to_string().starts_with(&start), "{error}");
    *error.problem
}

fn check_problem(spec: Value, expected: SchemaProblem) {
    assert_eq!(problem(&with_spec(spec)), expected);
}

#[test]
fn errors_of_schemas_that_are_not_structural_contain_the_path() {
    let below = |schema: Value| {
        let items = json!({ "type": "object", "properties": { "b": schema } });
        json!({ "type": "object", "properties": { "a": { "type": "array", "items": items } } })
    };
    let path = "spec.a[].b".to_owned();
    check_problem(below(json!({})), SchemaProblem::NoType { path: path.clone() });
    check_problem(
        below(json!({ "type": "text" })),
        SchemaProblem::UnknownType {
            path: path.clone(),
            found: "text".to_owned(),
        },
    );
    check_problem(
        below(json!({ "$ref": "#/definitions/x" })),
        SchemaProblem::Reference {
            path: path.clone(),
            reference: "#/definitions/x".to_owned(),
        },
    );
    check_problem(
        below(json!({ "type": "array" })),
        SchemaProblem::NoItems { path: path.clone() },
    );
    check_problem(
        below(json!({ "type": "array", "items": [{ "type": "string" }] })),
        SchemaProblem::NoItems { path: path.clone() },
    );
    let property = json!({ "c": { "type": "string" } });
    check_problem(
        below(
            json!({ "type": "object", "properties": property, "additionalProperties": { "type": "string" } }),
        ),
        SchemaProblem::PropertiesOfAMap { path },
    );
}

#[test]
fn the_error_of_a_version_without_a_schema_suggests_types() {
    let error = problem(&with_schema("Foo", None));
    assert_eq!(error, SchemaProblem::NoSchema);
    assert!(error.to_string().contains("--types path::to::mod"), "{error}");
}

#[test]
fn the_error_of_a_kind_that_is_not_a_type_suggests_types() {
    for kind in ["Self", "self", "", "9Lives", "Ünï"] {
        let error = problem(&with_schema(kind, Some(json!({ "type": "object" }))));
        assert!(matches!(error, SchemaProblem::KindName { .. }), "{kind}: {error}");
        assert!(error.to_string().contains("--types path::to::mod"), "{error}");
    }
    assert_eq!(type_name("odd-ity").as_deref(), Some("OddIty"));
}

#[test]
fn a_root_schema_must_be_an_object() {
    let error = problem(&with_schema("Foo", Some(json!({ "type": "string" }))));
    assert_eq!(
        error,
        SchemaProblem::NotAnObject {
            found: "string".to_owned()
        }
    );
}

#[test]
fn depth_and_size_are_limited_with_an_error() {
    let mut definition = with_spec(json!({ "type": "string" }));
    let mut spec = Schema {
        type_: Some("string".to_owned()),
        ..Schema::default()
    };
    for _ in 0..100 {
        spec = Schema {
            type_: Some("array".to_owned()),
            items: Some(Subschema::Schema(Box::new(spec))),
            ..Schema::default()
        };
    }
    let root = definition.versions[0].schema.as_mut().unwrap();
    root.properties.insert("spec".to_owned(), spec);
    let SchemaProblem::TooDeep { path, limit } = problem(&definition) else {
        panic!("100 levels are too many");
    };
    assert_eq!(path, format!("spec{}", "[]".repeat(limit)));

    let leaf = Schema {
        type_: Some("string".to_owned()),
        ..Schema::default()
    };
    let properties = (0..60_000).map(|number| (format!("p{number:05}"), leaf.clone()));
    definition.versions[0].schema.as_mut().unwrap().properties = properties.collect();
    assert!(
        matches!(problem(&definition), SchemaProblem::TooLarge { path, limit: 50_000 } if path == "p50000")
    );
}
