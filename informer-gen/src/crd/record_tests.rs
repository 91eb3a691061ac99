//! Tests of records: parsing, and the changes between two of them.

use super::*;
use crate::crd::Drift;

fn field(path: &str, presence: Presence, type_: &str) -> ShapeField {
    ShapeField {
        path: path.to_owned(),
        presence,
        type_: type_.to_owned(),
    }
}

fn record() -> Record {
    let fields = vec![
        field("spec", Presence::Optional, "object"),
        field("spec.a\tb\\n", Presence::Optional, "one of \"A\\n\", \"B\""),
        field("spec.size", Presence::Required, "int32"),
    ];
    Record {
        definitions: vec![RecordedDefinition {
            name: "foos.example.com".to_owned(),
            kind: "Foo".to_owned(),
            scope: Scope::Namespaced,
            left_out: vec!["v0".to_owned()],
            versions: vec![RecordedVersion {
                name: "v1".to_owned(),
                shape: Shape { fields },
            }],
        }],
    }
}

/// Checks the changes that are reported after `change` to the definition.
fn check_drift(change: impl FnOnce(&mut RecordedDefinition), expected: &[&str]) {
    let before = record();
    let mut now = record();
    change(&mut now.definitions[0]);
    let drift: Vec<String> = before.drift(&now).iter().map(Drift::to_string).collect();
    assert_eq!(drift, expected);
}

#[test]
fn a_rendered_record_parses_to_the_same_record() {
    let text = record().render("# first line\n");
    assert_eq!(Record::parse(&text), Ok(record()), "{text}");
}

#[test]
fn a_text_in_another_format_is_an_error_with_its_line() {
    let check = |text: &str, line: usize| {
        let error = Record::parse(text).expect_err(text);
        assert_eq!(error.line, line, "{text}: {error}");
    };
    check("", 1);
    check("# x\nformat 2\n", 2);
    check("# x\nformat 1\nversion v1\n", 3);
    check("# x\nformat 1\n\ndefinition a B Everywhere\n", 4);
    check(
        "# x\nformat 1\ndefinition a B Cluster\nversion v1\n\ta\tmaybe\tb\n",
        5,
    );
}

#[test]
fn no_change_is_reported_if_nothing_changed() {
    check_drift(|_| {}, &[]);
}

#[test]
fn each_change_of_a_field_is_reported() {
    check_drift(
        |definition| {
            let fields = &mut definition.versions[0].shape.fields;
            fields[2] = field("spec.size", Presence::Optional, "int64");
            fields.push(field("spec.zone", Presence::Required, "string"));
            fields.remove(1);
        },
        &[
            "foos.example.com v1: `spec.a\tb\\n` was removed",
            "foos.example.com v1: `spec.size` is int64, it was int32",
            "foos.example.com v1: `spec.size` is optional now",
            "foos.example.com v1: `spec.zone` was added (string, required)",
        ],
    );
}

#[test]
fn a_variant_with_another_value_is_reported() {
    let now = "array of one of \"Replace\", \"replace\"";
    let mut before = record();
    before.definitions[0].versions[0].shape.fields[2].type_ = "array of one of \"replace\"".to_owned();
    let mut after = before.clone();
    after.definitions[0].versions[0].shape.fields[2].type_ = now.to_owned();
    let drift: Vec<String> = before.drift(&after).iter().map(Drift::to_string).collect();
    assert_eq!(
        drift,
        [
            "foos.example.com v1: `spec.size` is array of one of \"Replace\", \"replace\", it was array of \
             one of \"replace\"",
            "foos.example.com v1: `spec.size`: the variant `Replace` is \"Replace\", it was \"replace\"",
        ]
    );
}

#[test]
fn an_added_or_removed_object_is_reported_once() {
    check_drift(
        |definition| {
            let fields = &mut definition.versions[0].shape.fields;
            fields.clear();
            fields.push(field("status", Presence::Optional, "object"));
            fields.push(field("status.phase", Presence::Optional, "string"));
            fields.push(field("statuses[].a", Presence::Optional, "string"));
        },
        &[
            "foos.example.com v1: `spec` was removed",
            "foos.example.com v1: `status` was added (object, optional)",
            "foos.example.com v1: `statuses[].a` was added (string, optional)",
        ],
    );
}

/// Sorted as text, `gone-b` is between `gone` and the fields of `gone`.
#[test]
fn fields_of_a_removed_object_are_found_by_path_segments() {
    let with = |paths: &[&str]| {
        let mut record = record();
        let fields = paths.iter().map(|path| field(path, Presence::Optional, "object"));
        record.definitions[0].versions[0].shape.fields = fields.collect();
        record
    };
    let check = |before: &[&str], now: &[&str], expected: &[&str]| {
        let drift = with(before).drift(&with(now));
        let changes: Vec<&str> = drift.iter().map(|drift| drift.change.as_str()).collect();
        assert_eq!(changes, expected);
    };
    let gone = ["spec.gone", "spec.gone-b", "spec.gone.x", "spec.gone[].y"];
    check(
        &gone,
        &[],
        &["`spec.gone` was removed", "`spec.gone-b` was removed"],
    );
    // A field that was removed while its parent was added is reported.
    check(
        &["spec.a.b"],
        &["spec.a"],
        &["`spec.a` was added (object, optional)", "`spec.a.b` was removed"],
    );
}

#[test]
fn a_version_that_was_left_out_is_not_reported() {
    check_drift(
        |definition| {
            let mut other = definition.versions[0].clone();
            other.name = "v0".to_owned();
            definition.versions.push(other);
        },
        &[],
    );
}

#[test]
fn a_change_of_scope_kind_or_versions_is_reported() {
    check_drift(
        |definition| {
            definition.scope = Scope::Cluster;
            definition.kind = "Fool".to_owned();
            definition.versions[0].name = "v2".to_owned();
        },
        &[
            "foos.example.com: the kind is Fool, it was Foo",
            "foos.example.com: the scope is Cluster, it was Namespaced",
            "foos.example.com v1: no longer served",
            "foos.example.com v2: served, but not generated",
        ],
    );
    check_drift(
        |definition| definition.name = "bars.example.com".to_owned(),
        &[
            "bars.example.com: the definition is not generated",
            "foos.example.com: the definition was removed",
        ],
    );
}
