//! Objects decoded into generated types and encoded again: nothing is lost and nothing is added.

use std::fmt::Debug;

use informer_custom::example_com::v1::open::Open;
use informer_custom::example_com::v1::widget::{
    Widget, WidgetSpec, WidgetSpecMode, WidgetSpecPart, WidgetSpecPartColour,
};
use informer_custom::example_com::v1alpha1::loose::Loose;
use informer_custom::example_com::v1beta1::nullable::{Nullable, NullableSpecAlwaysObjectMode};
use informer_custom::odd_names_example_com::v1::OddIty;
use informers::crd::Condition;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::Resource;
use kube::core::object::{HasSpec, HasStatus};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Returns an object of a kind with type, name and these fields.
fn object<K: Resource<DynamicType = ()>>(fields: Value) -> Value {
    let mut object =
        json!({ "apiVersion": K::api_version(&()), "kind": K::kind(&()), "metadata": { "name": "a" } });
    let fields = fields.as_object().expect("fields are an object").clone();
    object.as_object_mut().expect("it is an object").extend(fields);
    object
}

fn read<K: Resource<DynamicType = ()> + DeserializeOwned>(fields: Value) -> K {
    serde_json::from_value(object::<K>(fields)).expect("the object can be decoded")
}

/// Checks that an object is encoded as it was decoded, from a JSON value and from text.
fn check<K>(fields: Value) -> K
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Serialize + Clone + Debug + PartialEq,
{
    check_becomes(fields.clone(), fields)
}

/// Checks that an object is encoded as `expected`, and that decoding that gives the same object.
fn check_becomes<K>(fields: Value, expected: Value) -> K
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Serialize + Clone + Debug + PartialEq,
{
    let read: K = read(fields);
    let written = serde_json::to_value(&read).expect("the object can be encoded");
    assert_eq!(written, object::<K>(expected));
    let text = serde_json::to_string(&read).expect("the object can be encoded");
    let again: K = serde_json::from_str(&text).expect("the encoded object can be decoded");
    assert_eq!(again, read);
    read
}

/// The spec of a widget with the required fields only.
fn minimal_widget() -> Value {
    json!({ "class": "small", "replicas": 2, "parts": [], "limits": {}, "mode": "Rolling", "port": 80 })
}

fn widget(more: Value) -> Value {
    let mut spec = minimal_widget();
    let more = more.as_object().expect("fields are an object").clone();
    spec.as_object_mut().expect("it is an object").extend(more);
    json!({ "spec": spec })
}

/// A widget with every field.
fn full_widget() -> Value {
    let condition = json!({
        "lastTransitionTime": "2026-01-02T03:04:05Z", "message": "", "observedGeneration": 3,
        "reason": "Done",
        "status": "True", "type": "Ready",
    });
    let own = json!({
        "lastTransitionTime": "2026-01-02T03:04:05Z", "message": "m", "reason": "r", "severity": "high",
        "status": "False", "type": "Ready",
    });
    let mut fields = widget(json!({
        "generation": 9_007_199_254_740_993_i64,
        "count": -1,
        "unsigned": 4_294_967_295_u32,
        "ratio": 0.5,
        "weight": 0.1,
        "enabled": false,
        "data": "aGVsbG8=",
        "since": "2026-01-02T03:04:05Z",
        "precisely": "2026-01-02T03:04:05.123456Z",
        "until": "2026-12-31T23:59:59Z",
        "uuid": "not checked here",
        "port": "http",
        "otherPort": 8080,
        "memory": "1Gi",
        "limits": { "cpu": "500m" },
        "podIP": "10.0.0.1",
        "clusterIPs": ["10.0.0.1", "::1"],
        "nodeSelector": { "disk": "ssd" },
        "parts": [{ "name": "wheel", "colour": "red" }, { "name": "axle" }],
        "matrix": [[1.0, 2.5], []],
        "byName": { "a": [{ "size": 1 }, {}], "b": [] },
        "template": { "metadata": { "labels": { "a": "b" } }, "spec": { "image": "i" } },
        "mode": "TCP",
        "level": 2,
        "mixed": "auto",
        "ruled": { "a": "x" },
    }));
    fields["status"] =
        json!({ "replicas": 1, "selector": "a=b", "conditions": [condition], "ownConditions": [own] });
    fields
}

#[test]
fn every_field_of_a_widget_survives() {
    let widget: Widget = check(full_widget());
    let spec = widget.spec();
    assert_eq!(spec.mode, WidgetSpecMode::Tcp);
    assert_eq!(spec.port, IntOrString::String("http".to_owned()));
    assert_eq!(
        spec.data.as_ref().map(|data| data.0.as_slice()),
        Some(b"hello".as_slice())
    );
    assert_eq!(spec.parts[0].colour, Some(WidgetSpecPartColour::Red));
    let conditions: &Vec<Condition> = widget
        .status()
        .and_then(|status| status.conditions.as_ref())
        .unwrap();
    assert_eq!(conditions[0].observed_generation, Some(3));
}

#[test]
fn a_value_of_an_enum_that_is_not_in_the_schema_survives() {
    for (value, expected) in [
        ("", WidgetSpecMode::Empty),
        ("Rolling", WidgetSpecMode::Rolling),
        ("rolling", WidgetSpecMode::Rolling2),
        ("!=", WidgetSpecMode::NotEqual),
        ("1.2", WidgetSpecMode::V1_2),
        ("self", WidgetSpecMode::Self_),
        (
            "FromTheFuture",
            WidgetSpecMode::Unrecognized("FromTheFuture".to_owned()),
        ),
    ] {
        let widget: Widget = check(widget(json!({ "mode": value })));
        assert_eq!(widget.spec.mode, expected);
    }
}

#[test]
fn a_quantity_is_encoded_in_the_form_in_which_it_was_decoded() {
    let limits = json!({ "cpu": 3, "memory": 17_179_869_184_i64, "disk": "3", "gpu": "" });
    let widget: Widget = check(widget(json!({ "limits": limits, "memory": 0.5 })));
    let text = |name: &str| Quantity::from(widget.spec.limits[name].clone()).0;
    assert_eq!(
        ["cpu", "memory", "disk"].map(text),
        ["3", "17179869184", "3"].map(str::to_owned)
    );
    assert_ne!(widget.spec.limits["cpu"], widget.spec.limits["disk"]);
    assert_eq!(widget.spec.limits["disk"], "3".into());
}

#[test]
fn a_number_is_encoded_unchanged() {
    for number in ["3", "3.0", "0.1", "16777217", "9007199254740993", "-1.5e-7"] {
        let number: Value = serde_json::from_str(number).unwrap();
        let more = json!({ "ratio": number, "weight": number, "matrix": [[number]] });
        let widget: Widget = check(widget(more));
        let weight = widget.spec.weight.as_ref().and_then(|weight| weight.as_f64());
        assert_eq!(weight, number.as_f64());
    }
}

#[test]
fn an_empty_list_is_not_the_same_as_none() {
    check::<Widget>(widget(json!({ "clusterIPs": [], "nodeSelector": {} })));
    check::<Widget>(widget(json!({})));
}

#[test]
fn a_required_field_that_is_missing_or_null_is_the_default_and_not_encoded() {
    let nulls = json!({ "class": null, "replicas": null, "parts": null, "limits": null, "mode": null,
        "port": null, "since": null });
    for spec in [json!({}), nulls] {
        let widget: Widget = check_becomes(json!({ "spec": spec }), json!({ "spec": {} }));
        assert_eq!(widget.spec, WidgetSpec::default());
        assert_eq!(
            (widget.spec.replicas.as_option(), *widget.spec.replicas),
            (None, 0)
        );
        assert_eq!(widget.spec.mode, WidgetSpecMode::Empty);
    }
    for fields in [json!({}), json!({ "spec": null, "status": null })] {
        let widget: Widget = check_becomes(fields, json!({}));
        assert!(widget.spec.is_absent());
    }
    let widget: Widget = serde_json::from_value(json!({})).unwrap();
    assert_eq!(widget, Widget::default());
}

#[test]
fn a_condition_has_only_the_fields_that_it_was_decoded_with() {
    let conditions = json!([{}, { "type": "Ready" }, { "lastTransitionTime": null, "reason": null }]);
    let read: Vec<Condition> = serde_json::from_value(conditions).unwrap();
    let written = serde_json::to_value(&read).unwrap();
    assert_eq!(written, json!([{}, { "type": "Ready" }, {}]));
    assert_eq!(read[1].clone().into_meta(), None);
    let time = "2026-01-01T00:00:00Z";
    let whole = json!({ "lastTransitionTime": time, "message": "", "reason": "Up", "status": "True",
        "type": "Ready" });
    let whole: meta::Condition = serde_json::from_value(whole).unwrap();
    assert_eq!(Condition::from(whole.clone()).into_meta(), Some(whole));
}

#[test]
fn a_missing_field_is_encoded_once_it_was_changed() {
    let mut widget: Widget = read(json!({ "spec": { "class": "small" } }));
    *widget.spec.replicas = 0;
    widget.spec.mode = WidgetSpecMode::OnDelete.into();
    widget.spec.parts.clear();
    let written = serde_json::to_value(&widget).unwrap();
    let spec = json!({ "class": "small", "replicas": 0, "mode": "OnDelete", "parts": [] });
    assert_eq!(written["spec"], spec);
    assert_eq!(widget.spec.replicas.as_option(), Some(&0));

    let mut widget: Widget = read(json!({}));
    widget.spec_mut().class = "small".to_owned().into();
    let written = serde_json::to_value(&widget).unwrap();
    assert_eq!(written["spec"], json!({ "class": "small" }));
}

/// The paths of all properties.
fn properties(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
                found.push(path.clone());
                properties(field, &path, found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                properties(item, &format!("{path}/{index}"), found);
            }
        }
        _ => {}
    }
}

/// The object without a property.
fn without(mut value: Value, path: &str) -> Option<Value> {
    let (above, name) = path.rsplit_once('/')?;
    let name = name.replace("~1", "/").replace("~0", "~");
    value.pointer_mut(above)?.as_object_mut()?.remove(&name)?;
    Some(value)
}

/// Removes every property, and every pair of them, required or not.
fn check_without_properties<K>(fields: &Value)
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Serialize + Clone + Debug + PartialEq,
{
    let mut paths = Vec::new();
    properties(fields, "", &mut paths);
    assert!(paths.len() > 5, "{paths:?}");
    for (index, one) in paths.iter().enumerate() {
        let Some(fields) = without(fields.clone(), one) else {
            continue;
        };
        check::<K>(fields.clone());
        for other in paths.iter().skip(index + 1) {
            if let Some(fields) = without(fields.clone(), other) {
                check::<K>(fields);
            }
        }
    }
}

#[test]
fn an_object_without_any_of_its_fields_is_encoded_as_it_was_decoded() {
    check_without_properties::<Widget>(&full_widget());
    check_without_properties::<Nullable>(&nullable(json!({
        "nullableItems": ["a", null], "defaultedNullable": null, "defaultedObject": { "size": 1 },
    })));
    check_without_properties::<Nullable>(&nullable(json!({ "nullable": "n", "nullableAny": [1] })));
    let partly = json!({ "known": "k", "rest": "r", "unknown": { "deep": true } });
    check_without_properties::<Loose>(&json!({
        "beside": { "the": "spec" },
        "spec": { "anything": [1], "requiredObject": { "x": 1 }, "anyMap": { "a": 1 }, "partly": partly },
    }));
}

#[test]
fn fields_that_are_not_in_the_schema_are_dropped_as_by_the_server() {
    check_becomes::<Widget>(widget(json!({ "unknown": { "deep": [1] } })), widget(json!({})));
}

#[test]
fn a_new_object_is_encoded_with_the_fields_that_were_set() {
    let parts = vec![WidgetSpecPart {
        name: "wheel".to_owned().into(),
        ..WidgetSpecPart::default()
    }];
    let widget = Widget::new(
        "a",
        WidgetSpec {
            class: "small".to_owned().into(),
            replicas: 2.into(),
            parts: parts.into(),
            mode: WidgetSpecMode::OnDelete.into(),
            ..WidgetSpec::default()
        },
    );
    let spec = json!({
        "class": "small", "replicas": 2, "parts": [{ "name": "wheel" }], "mode": "OnDelete",
    });
    assert_eq!(
        serde_json::to_value(&widget).unwrap(),
        object::<Widget>(json!({ "spec": spec }))
    );
}

#[test]
fn unknown_properties_survive_where_the_schema_preserves_them() {
    let inside =
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p", "labels": { "a": "b" } } });
    let mut pod = inside.clone();
    pod["spec"] = json!({ "containers": [{ "name": "c" }] });
    let mut sized = inside;
    sized["spec"] = json!({ "size": 1, "more": { "of": ["it"] } });
    let fields = json!({
        "beside": { "the": "spec" },
        "spec": {
            "anything": [1, "two", { "three": 3.5 }],
            "anyObject": { "a": { "b": null } },
            "requiredObject": { "x": 1 },
            "nothingSaid": { "pruned": "by the server" },
            "anyMap": { "a": 1, "b": "c" },
            "mapOfAnything": { "a": null, "b": [] },
            "list": [1, null, {}],
            "partly": { "known": "k", "rest": "r", "unknown": { "deep": true } },
            "resource": pod,
            "resourceWithSpec": sized,
            "schema": {
                "type": "object",
                "$ref": "#/x",
                "properties": { "a": { "type": "object", "properties": { "b": { "type": "array",
                "items": {} } } } },
                "items": { "type": "object", "properties": { "c": {} } },
            },
        },
    });
    let loose: Loose = check(fields);
    assert_eq!(loose.rest.keys().collect::<Vec<_>>(), ["beside"]);
    let spec = loose.spec.unwrap();
    assert_eq!(spec.partly.unwrap().rest_2["unknown"], json!({ "deep": true }));
    assert_eq!(
        spec.resource_with_spec.unwrap().metadata.unwrap().name.as_deref(),
        Some("p")
    );
}

#[test]
fn a_required_value_that_is_missing_stays_missing() {
    check::<Loose>(json!({ "spec": {} }));
    check::<Loose>(json!({}));
}

#[test]
fn an_object_without_a_schema_survives() {
    let open: Open = check(json!({ "spec": { "a": [1] }, "status": { "b": null }, "data": "x" }));
    assert_eq!(open.rest.len(), 3);
    assert_eq!(
        serde_json::to_value(Open::new("a")).unwrap(),
        object::<Open>(json!({}))
    );
}

/// A `Nullable` with all required fields.
fn nullable(more: Value) -> Value {
    let mut spec = json!({
        "always": "a", "alwaysList": [], "alwaysMap": {}, "alwaysObject": { "name": "n", "mode": "On" },
        "alwaysTime": "2026-01-02T03:04:05Z", "nullable": null, "nullableAny": null,
    });
    let more = more.as_object().expect("fields are an object").clone();
    spec.as_object_mut().expect("it is an object").extend(more);
    json!({ "spec": spec })
}

#[test]
fn null_survives_where_it_is_a_distinct_value() {
    check::<Nullable>(nullable(json!({})));
    check::<Nullable>(nullable(json!({ "nullable": "n", "nullableAny": { "a": null } })));
    check::<Nullable>(nullable(
        json!({ "nullableItems": ["a", null], "nullableValues": { "a": null, "b": 1 } }),
    ));
    check::<Nullable>(nullable(json!({ "optionalNullableAny": null })));
}

#[test]
fn null_and_missing_differ_where_the_server_has_a_default() {
    let left_out: Nullable = check(nullable(json!({})));
    let null: Nullable = check(nullable(json!({ "defaultedNullable": null })));
    let set: Nullable = check(nullable(json!({ "defaultedNullable": "x" })));
    let value = |object: Nullable| object.spec.and_then(|spec| spec.defaulted_nullable);
    assert_eq!(
        [left_out, null, set].map(value),
        [None, Some(None), Some(Some("x".to_owned()))]
    );
}

#[test]
fn null_is_missing_where_the_schema_does_not_distinguish_them() {
    let nulls = json!({ "optional": null, "optionalNullable": null, "optionalList": null,
        "defaultedToNull": null, "nullableMode": null });
    check_becomes::<Nullable>(nullable(nulls), nullable(json!({})));
}

#[test]
fn a_field_with_a_default_may_be_omitted() {
    let object: Nullable = check(nullable(json!({ "defaultedObject": {} })));
    let spec = object.spec.unwrap();
    assert_eq!(
        (spec.defaulted, spec.defaulted_object.unwrap().size),
        (None, None)
    );
    check::<Nullable>(nullable(
        json!({ "defaulted": 3, "defaultedObject": { "size": 1 } }),
    ));
}

#[test]
fn a_missing_required_enum_value_is_unrecognized() {
    let object: Nullable = check(nullable(json!({ "alwaysObject": {} })));
    let spec = object.spec.unwrap();
    assert_eq!(
        spec.always_object.mode,
        NullableSpecAlwaysObjectMode::Unrecognized(String::new())
    );
}

#[test]
fn odd_names_are_decoded_and_encoded_unchanged() {
    let names = [
        "type",
        "ref",
        "self",
        "Self",
        "crate",
        "super",
        "async",
        "gen",
        "try",
        "$ref",
        "foo-bar",
        "fooBar",
        "foo_bar",
        "foo.bar/baz",
        "3d",
        "ünï",
        "名前",
        "",
        "$",
        "URL",
        "Time",
        "present",
        "quo\"te",
        "tick`s",
        "x-kubernetes-preserve-unknown-fields-but-only-as-the-name-of-a-property-that-is-long",
    ];
    let mut spec: serde_json::Map<String, Value> = names
        .iter()
        .map(|name| ((*name).to_owned(), json!(format!("of {name}"))))
        .collect();
    spec.insert("caseless".to_owned(), json!({ "a": "x" }));
    spec.insert("Caseless".to_owned(), json!({ "b": "y" }));
    spec.insert("deep".to_owned(), json!({ "er": { "a": "x" } }));
    spec.insert("deepEr".to_owned(), json!({ "b": "y" }));
    let long = json!({ "requiredDuringSchedulingIgnoredDuringExecution": { "a": { "name": "n", "mode": "A" },
        "b": { "mode": "a" } } });
    spec.insert(
        "preferredDuringSchedulingIgnoredDuringExecution".to_owned(),
        json!([long]),
    );
    let odd: OddIty = check(json!({ "Metadata": "m", "informer": { "name": "i" }, "spec": spec }));
    assert_eq!(odd.spec.type_.as_deref(), Some("of type"));
    assert_eq!(odd.spec.ünï.as_deref(), Some("of ünï"));
    assert_eq!(odd.spec.foo_bar.as_deref(), Some("of fooBar"));
}

#[test]
fn a_kind_has_its_group_version_and_plural() {
    assert_eq!(Widget::kind(&()), "Widget");
    assert_eq!(Widget::group(&()), "example.com");
    assert_eq!(Widget::version(&()), "v1");
    assert_eq!(Widget::api_version(&()), "example.com/v1");
    assert_eq!(Widget::plural(&()), "widgets");
    assert_eq!(
        Widget::url_path(&(), Some("ns")),
        "/apis/example.com/v1/namespaces/ns/widgets"
    );
    assert_eq!(OddIty::kind(&()), "odd-ity");
    let reference: ObjectReference = Widget::new("a", WidgetSpec::default()).object_ref(&());
    assert_eq!(reference.name.as_deref(), Some("a"));
}
