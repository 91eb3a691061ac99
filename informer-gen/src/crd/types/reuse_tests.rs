//! Tests of the choice of types of k8s-openapi.

use serde_json::{Value, json};

use crate::crd::definition::Definition;
use crate::crd::types::library::{Address, Library, Source};
use crate::crd::types::model;
use crate::crd::{Docs, Reuse, TreeError};
use crate::inventory::{NEWEST, OLDEST, Release};

fn definition(spec: Value) -> Definition {
    let schema =
        json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": spec } } });
    let version =
        json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } });
    let names = json!({ "kind": "Foo", "plural": "foos" });
    let spec = json!({ "group": "example.com", "names": names, "scope": "Cluster", "versions": [version] });
    serde_json::from_value(json!({ "spec": spec })).unwrap()
}

fn text(spec: Value, reuse: &Reuse) -> Result<String, TreeError> {
    let definition = definition(spec);
    let version = &definition.versions[0];
    let source = Source {
        definition: &definition,
        version,
        address: Address::default(),
        model: model(&definition, version, reuse.conditions()).unwrap(),
    };
    Ok(Library::new(vec![source], Docs::None, reuse)?.print(0))
}

/// Checks the type of a field of this name and schema.
#[track_caller]
fn check(field: &str, schema: &Value, expected: &str) {
    let text = text(json!({ field: schema }), &Reuse::default()).unwrap();
    let line = text.lines().find(|line| line.trim_end().ends_with(expected));
    assert!(line.is_some(), "no `{expected}` in:\n{text}");
}

fn toleration() -> Value {
    let text = json!({ "type": "string" });
    let properties = json!({ "effect": text, "key": text, "operator": text, "value": text,
        "tolerationSeconds": { "type": "integer", "format": "int64" } });
    json!({ "type": "object", "properties": properties })
}

fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

#[test]
fn an_equal_type_is_used_whatever_is_required() {
    check("tolerations", &list(toleration()), "Option<Vec<Toleration>>,");
    check("anything", &list(toleration()), "Option<Vec<Toleration>>,");
    let mut required = toleration();
    required["required"] = json!(["key"]);
    check("tolerations", &list(required), "Option<Vec<Toleration>>,");
}

#[test]
fn a_subset_is_used_if_the_property_says_so() {
    let mut less = toleration();
    let properties = less["properties"].as_object_mut().unwrap();
    properties.remove("tolerationSeconds");
    check("tolerations", &list(less.clone()), "Option<Vec<Toleration>>,");
    check("expressions", &list(less), "Option<Vec<FooSpecExpression>>,");
    let text = json!({ "type": "string" });
    let pair = json!({ "type": "object", "properties": { "name": text, "namespace": text } });
    check("secretRef", &pair, "Option<SecretReference>,");
    check("other", &pair, "Option<FooSpecOther>,");
}

#[test]
fn a_difference_prevents_the_use() {
    let changed = |change: fn(&mut Value)| {
        let mut schema = toleration();
        change(&mut schema);
        check("tolerations", &list(schema), "Option<Vec<FooSpecToleration>>,");
    };
    changed(|schema| schema["properties"]["more"] = json!({ "type": "string" }));
    changed(|schema| schema["properties"]["key"] = json!({ "type": "integer" }));
    changed(|schema| schema["properties"]["tolerationSeconds"]["format"] = json!("int32"));
    changed(|schema| schema["properties"]["effect"]["enum"] = json!(["NoExecute"]));
    changed(|schema| schema["x-kubernetes-preserve-unknown-fields"] = json!(true));
    changed(|schema| {
        schema["properties"]["key"] = json!({ "type": "string", "nullable": true, "default": "x" });
    });
}

#[test]
fn a_type_with_a_required_field_or_a_quantity_is_not_used() {
    let text = json!({ "type": "string" });
    let image = json!({ "type": "object", "required": ["ip"],
        "properties": { "hostnames": list(text.clone()), "ip": text } });
    check("hostAliases", &list(image), "Option<Vec<FooSpecHostAlias>>,");
    let quantity = json!({ "x-kubernetes-int-or-string": true, "pattern": "[KMGTPE]i" });
    let empty_dir = json!({ "type": "object", "properties": { "medium": text, "sizeLimit": quantity } });
    check("emptyDir", &empty_dir, "Option<FooSpecEmptyDir>,");
}

#[test]
fn every_use_can_be_turned_off() {
    let spec = || json!({ "tolerations": list(toleration()) });
    let own = |except: &str| Reuse::Types {
        kubernetes: OLDEST,
        except: vec![except.to_owned()],
    };
    for reuse in [Reuse::Never, own("Toleration")] {
        assert!(
            text(spec(), &reuse)
                .unwrap()
                .contains("pub struct FooSpecToleration {")
        );
    }
    assert!(
        !text(spec(), &own("SecretReference"))
            .unwrap()
            .contains("pub struct FooSpecToleration {")
    );
    let error = text(spec(), &own("Container")).unwrap_err();
    assert!(error.to_string().contains("`Container`"), "{error}");
}

/// Fields of `PodSpec`'s parts came with releases; the table decides, so the test looks for one.
#[test]
fn a_field_that_the_release_does_not_have_prevents_the_use() {
    let messages = &crate::inventory::protobuf::builtin().messages;
    for message in messages {
        let (Some(old), Some(new)) = (super::known(message, OLDEST), super::known(message, NEWEST)) else {
            continue;
        };
        for (json, _) in new
            .fields
            .iter()
            .filter(|(json, _)| !old.fields.contains_key(*json))
        {
            let row = message.fields.iter().find(|row| row.json == **json).unwrap();
            assert!(!row.releases.contains(&OLDEST.minor), "{} {json}", message.path);
        }
    }
    let count = |release: Release| {
        messages
            .iter()
            .filter_map(|message| super::known(message, release))
            .count()
    };
    assert!(
        count(NEWEST) >= count(OLDEST) && count(OLDEST) > 20,
        "{} {}",
        count(OLDEST),
        count(NEWEST)
    );
}

fn selector() -> Value {
    let text = json!({ "type": "string" });
    let requirement = json!({ "type": "object", "required": ["key", "operator"],
        "properties": { "key": text, "operator": text, "values": list(text.clone()) } });
    let labels = json!({ "type": "object", "additionalProperties": text });
    json!({ "type": "object",
        "properties": { "matchExpressions": list(requirement), "matchLabels": labels } })
}

#[test]
fn parts_of_most_definitions_are_those_of_informers() {
    check("labelSelector", &selector(), "Option<LabelSelector>,");
    let text = json!({ "type": "string" });
    let name = json!({ "type": "object", "properties": { "name": text } });
    check(
        "pullSecrets",
        &list(name.clone()),
        "Option<Vec<LocalObjectReference>>,",
    );
    check("owner", &name, "Option<FooSpecOwner>,");
    let key = json!({ "type": "object", "required": ["key"],
        "properties": { "key": text, "name": text, "optional": { "type": "boolean" } } });
    check("password", &key, "Option<KeySelector>,");
}

#[test]
fn the_parts_of_informers_can_be_turned_off() {
    let text_of = |reuse: &Reuse| {
        let conditions = json!({ "type": "object", "required": ["status", "type"],
            "properties": { "status": { "type": "string" }, "type": { "type": "string" } } });
        text(
            json!({ "selector": selector(), "conditions": list(conditions) }),
            reuse,
        )
        .unwrap()
    };
    let without = |name: &str| Reuse::Types {
        kubernetes: OLDEST,
        except: vec![name.to_owned()],
    };
    let all = text_of(&Reuse::default());
    assert!(
        all.contains("Option<LabelSelector>") && all.contains("Option<Vec<Condition>>"),
        "{all}"
    );
    let own = text_of(&without("LabelSelector"));
    assert!(
        own.contains("Option<FooSpecSelector>") && own.contains("Option<Vec<Condition>>"),
        "{own}"
    );
    let own = text_of(&without("Condition"));
    assert!(own.contains("Option<Vec<FooSpecCondition>>"), "{own}");
    let none = text_of(&Reuse::Never);
    assert!(
        !none.contains("informers::crd::{Cond") && none.contains("FooSpecSelectorMatchExpression"),
        "{none}"
    );
}
