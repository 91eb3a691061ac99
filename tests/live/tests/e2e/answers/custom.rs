//! A custom resource, from its definition to the end of it.

use serde_json::{Value, json};

use super::namespace;
use super::player::{MERGE, Request, STRATEGIC, Step};

const WIDGETS: &str = "/apis/answers.example.com/v1/namespaces/custom/widgets";

/// A custom resource with a schema and a status.
pub(super) fn steps() -> Vec<Step> {
    let schema = json!({ "type": "object", "properties": {
        "spec": { "type": "object", "required": ["size"], "properties": {
            "size": { "type": "integer" }, "color": { "type": "string", "default": "red" },
        } },
        "status": { "type": "object", "properties": { "ready": { "type": "boolean" } } },
    } });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.answers.example.com" },
        "spec": {
            "group": "answers.example.com", "scope": "Namespaced",
            "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema },
                "subresources": { "status": {} },
            }],
        },
    });
    let widget = |metadata: Value, spec: Value| {
        json!({ "apiVersion": "answers.example.com/v1",
        "kind": "Widget", "metadata": metadata, "spec": spec })
    };
    let named = || json!({ "name": "one" });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let one = format!("{WIDGETS}/one");
    vec![
        namespace("custom"),
        Request::get("list before the definition", WIDGETS).into(),
        Request::post("define", definitions, definition)
            .by("table")
            .into(),
        Request::get("list after the definition", WIDGETS).until(200),
        Request::post(
            "create a widget without a field that has a default",
            format!("{WIDGETS}?dryRun=All"),
            widget(named(), json!({ "size": 1 })),
        )
        .by("table")
        .into(),
        Request::post(
            "create a widget",
            WIDGETS,
            widget(named(), json!({ "size": 1, "color": "red" })),
        )
        .by("table")
        .keep("version", "/metadata/resourceVersion")
        .keep("uid", "/metadata/uid")
        .into(),
        Request::post(
            "create a widget that exists",
            WIDGETS,
            widget(named(), json!({ "size": 1 })),
        )
        .into(),
        Request::post(
            "create a widget without its type",
            WIDGETS,
            json!({ "metadata": { "name": "x" } }),
        )
        .into(),
        Request::get("read a widget", &*one).into(),
        Request::put(
            "replace a widget without a version",
            &*one,
            widget(named(), json!({ "size": 2 })),
        )
        .into(),
        Request::put(
            "replace a widget by the same",
            &*one,
            widget(
                json!({ "name": "one", "resourceVersion": "${version}" }),
                json!({ "size": 1, "color": "red" }),
            ),
        )
        .by("table")
        .into(),
        Request::put(
            "replace a widget",
            &*one,
            widget(
                json!({ "name": "one", "resourceVersion": "${version}" }),
                json!({ "size": 2, "color": "red" }),
            ),
        )
        .by("table")
        .into(),
        Request::put(
            "replace an old widget",
            &*one,
            widget(
                json!({ "name": "one", "resourceVersion": "${version}" }),
                json!({ "size": 3, "color": "red" }),
            ),
        )
        .into(),
        Request::put(
            "replace another UID of a widget",
            &*one,
            widget(
                json!({ "name": "one", "uid": "other", "resourceVersion": "${version}" }),
                json!({ "size": 3, "color": "red" }),
            ),
        )
        .into(),
        Request::patch("patch a widget", &*one, MERGE, json!({ "spec": { "size": 4 } }))
            .by("table")
            .into(),
        Request::patch(
            "patch a widget strategically",
            &*one,
            STRATEGIC,
            json!({ "spec": { "size": 5 } }),
        )
        .into(),
        Request::patch(
            "patch the status of a widget",
            format!("{one}/status"),
            MERGE,
            json!({ "spec": { "size": 9 }, "status": { "ready": true } }),
        )
        .by("table")
        .into(),
        Request::patch(
            "patch the status of a widget outside of its endpoint",
            &*one,
            MERGE,
            json!({ "status": { "ready": false } }),
        )
        .by("table")
        .into(),
        Request::get("list widgets", WIDGETS).into(),
        Request::get(
            "list widgets by a bad field",
            format!("{WIDGETS}?fieldSelector=spec.size%3D4"),
        )
        .into(),
        Request::get(
            "watch widgets",
            format!("{WIDGETS}?watch=1&resourceVersion=${{version}}&timeoutSeconds=1"),
        )
        .into(),
        Request::get("read a missing widget", format!("{WIDGETS}/missing")).into(),
        Request::delete("delete a widget", &*one).into(),
        Request::delete("delete a missing widget", &*one).into(),
        Request::delete(
            "delete the definition",
            format!("{definitions}/widgets.answers.example.com"),
        )
        .into(),
        Request::get("list after the definition was deleted", WIDGETS).until(404),
    ]
}
