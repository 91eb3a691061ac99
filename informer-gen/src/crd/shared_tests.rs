//! Tests of shared types: which types are one, where they are, and their names.

use serde_json::{Value, json};

use super::*;
use crate::crd::read::read;

/// A definition with these schemas of `spec`, by version.
fn definition(kind: &str, versions: &[(&str, Value)]) -> Value {
    let versions = versions.iter().map(|(name, spec)| {
        let schema = json!({ "type": "object", "properties": { "spec": spec } });
        json!({ "name": name, "served": true, "storage": false, "schema": { "openAPIV3Schema": schema } })
    });
    let plural = format!("{}s", kind.to_lowercase());
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.example.com") },
        "spec": {
            "group": "example.com",
            "names": { "kind": kind, "plural": plural },
            "scope": "Cluster",
            "versions": versions.collect::<Vec<_>>(),
        },
    })
}

fn object(properties: Value) -> Value {
    json!({ "type": "object", "properties": properties })
}

fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn text() -> Value {
    json!({ "type": "string" })
}

/// The types of each file: `v1/foo: Foo FooSpec`, and those that it takes from others after `|`.
fn types(definitions: &[Value]) -> Vec<String> {
    let documents = json!({ "apiVersion": "v1", "kind": "List", "items": definitions });
    let found = read("a.json", &documents.to_string())
        .expect("valid definitions")
        .found;
    let tree = tree(&found, &TreeOptions::default()).expect("a tree");
    let names = |text: &str, starts: &[&str]| {
        let lines = text.lines().filter_map(|line| {
            let rest = starts.iter().find_map(|start| line.strip_prefix(start))?;
            Some(rest.trim_end_matches([' ', '{', ';']).to_owned())
        });
        lines.collect::<Vec<_>>().join(" ")
    };
    let types = tree.files.iter().filter_map(|(path, text)| {
        let path = path.strip_suffix(".rs")?;
        let path = path.strip_prefix("example_com/").unwrap_or(path);
        let own = names(text, &["pub struct ", "pub enum "]);
        let others = names(text, &["pub use super::super::super::", "pub use super::super::"]);
        let is_types = path.contains('/') || path == "shared";
        let all = format!("{path}: {own} | {others}");
        is_types.then(|| all.trim_end_matches([' ', '|']).to_owned())
    });
    let mut types: Vec<String> = types.collect();
    types.sort();
    types
}

#[test]
fn equal_types_of_a_kind_are_one_with_the_shortest_path() {
    let part = |description: &str| {
        let name = json!({ "type": "string", "description": description });
        list(object(
            json!({ "name": name, "mode": { "type": "string", "enum": ["A", "B"] } }),
        ))
    };
    let deep = object(json!({ "parts": part("one"), "more": { "type": "string", "enum": ["B", "A"] } }));
    let spec = object(json!({ "deep": deep, "parts": part("other") }));
    assert_eq!(
        types(&[definition("Foo", &[("v1", spec)])]),
        ["v1/foo: Foo FooSpec FooSpecDeep FooSpecDeepMore FooSpecPart"]
    );
}

#[test]
fn a_difference_in_a_field_gives_two_types() {
    let part = |field: Value| object(json!({ "name": field, "size": { "type": "integer" } }));
    let spec = object(json!({ "a": part(text()), "b": part(json!({ "type": "integer" })) }));
    assert_eq!(
        types(&[definition("Foo", &[("v1", spec)])]),
        ["v1/foo: Foo FooSpec FooSpecA FooSpecB"]
    );
}

#[test]
fn versions_take_their_types_from_the_newest() {
    let part = object(json!({ "name": text() }));
    let old = object(json!({ "part": part }));
    let new = object(json!({ "part": part, "size": { "type": "integer" } }));
    assert_eq!(
        types(&[definition(
            "Foo",
            &[("v1alpha1", old.clone()), ("v1beta1", old), ("v1", new)]
        )]),
        [
            "v1/foo: Foo FooSpec FooSpecPart",
            "v1alpha1/foo: Foo | v1beta1::foo::FooSpec",
            "v1beta1/foo: Foo FooSpec | v1::foo::FooSpecPart",
        ]
    );
}

#[test]
fn a_type_of_several_kinds_has_a_short_name_in_the_shared_module() {
    let probe = || object(json!({ "path": text() }));
    let container = || object(json!({ "name": text(), "livenessProbe": probe(), "readinessProbe": probe() }));
    let spec = |more: &str| object(json!({ more: text(), "containers": list(container()) }));
    assert_eq!(
        types(&[
            definition("Foo", &[("v1", spec("a"))]),
            definition("Bar", &[("v1", spec("b"))])
        ]),
        [
            "shared: Container Probe",
            "v1/bar: Bar BarSpec | shared::Container",
            "v1/foo: Foo FooSpec | shared::Container",
        ]
    );
}

/// A vague word, or an enum with one word, needs one more.
#[test]
fn a_shared_name_has_as_many_properties_as_it_needs() {
    let reference = object(json!({ "type": { "type": "string", "enum": ["A"] }, "id": text() }));
    let inner = |name: &str| object(json!({ name: object(json!({ "ref": reference })), "x": text() }));
    let spec = |more: &str| object(json!({ more: text(), "inner": inner("deep") }));
    assert_eq!(
        types(&[
            definition("Foo", &[("v1", spec("a"))]),
            definition("Bar", &[("v1", spec("b"))])
        ])[0],
        "shared: Deep DeepRef Inner RefType"
    );
}

#[test]
fn another_field_renames_nothing() {
    let part = |size: &str| object(json!({ "name": text(), size: { "type": "integer" } }));
    let spec = json!({ "parts": list(part("a")), "wholes": list(part("b")) });
    let mut more = spec.clone();
    more["aaa"] = list(part("c"));
    let [before, after] = [spec, more].map(|spec| types(&[definition("Foo", &[("v1", object(spec))])]));
    assert_eq!(before, ["v1/foo: Foo FooSpec FooSpecPart FooSpecWhole"]);
    assert_eq!(after, ["v1/foo: Foo FooSpec FooSpecAaa FooSpecPart FooSpecWhole"]);
}

#[test]
fn a_singular_that_is_taken_stays_plural() {
    let part = |size: &str| object(json!({ size: { "type": "integer" } }));
    let spec = object(json!({ "part": part("a"), "parts": list(part("b")), "partS": part("c") }));
    assert_eq!(
        types(&[definition("Foo", &[("v1", spec)])]),
        ["v1/foo: Foo FooSpec FooSpecPart FooSpecPartS FooSpecParts"]
    );
}

#[test]
fn a_long_name_loses_properties_after_the_kind() {
    let word = |letter: char| letter.to_string().repeat(30);
    let leaf = |name: &str| object(json!({ name: text() }));
    let third = |name: &str| object(json!({ word('c'): leaf(name) }));
    let spec = object(json!({ word('a'): object(json!({ word('b'): third("x"), word('d'): third("y") })) }));
    let types = types(&[definition("Foo", &[("v1", spec)])]);
    let names: Vec<&str> = types[0].split(' ').skip(1).collect();
    assert!(names.iter().all(|name| name.len() <= 80), "{names:?}");
    let expected = |letter: &str| {
        format!(
            "Foo{}{}",
            letter.to_owned() + &word('b')[1..],
            "C".to_owned() + &word('c')[1..]
        )
    };
    assert!(names.contains(&expected("B").as_str()), "{names:?}");
}

#[test]
fn a_default_is_documented_only_if_all_places_agree() {
    let part = |default: &str| object(json!({ "size": { "type": "string", "default": default } }));
    let count = |one: &str, other: &str| {
        let spec = object(json!({ "a": part(one), "b": part(other) }));
        let found = read("a.json", &definition("Foo", &[("v1", spec)]).to_string())
            .unwrap()
            .found;
        let tree = tree(&found, &TreeOptions::default()).unwrap();
        tree.files["example_com/v1/foo.rs"].matches("Left out").count()
    };
    assert_eq!((count("x", "x"), count("x", "y")), (1, 0));
}
