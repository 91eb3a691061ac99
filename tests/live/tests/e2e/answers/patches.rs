//! Patches of the four types, server-side apply with its conflicts, and what is refused.

use serde_json::{Value, json};

use super::namespace;
use super::player::{APPLY, JSON, MERGE, Request, STRATEGIC, Step};

const MAPS: &str = "/api/v1/namespaces/patches/configmaps";
const ONE: &str = "/api/v1/namespaces/patches/configmaps/one";
const APPLIED: &str = "/api/v1/namespaces/patches/configmaps/applied";

pub(super) fn steps() -> Vec<Step> {
    let object = json!({ "metadata": { "name": "one" }, "data": { "k": "v", "l": "w" } });
    let mut steps = vec![
        namespace("patches"),
        Request::post("create an object to patch", MAPS, object)
            .by("table")
            .keep("version", "/metadata/resourceVersion")
            .into(),
    ];
    for part in [json_patches(), merges(), strategic(), applies(), refusals()] {
        steps.extend(part.into_iter().map(Step::from));
    }
    steps
}

fn json_patches() -> Vec<Request> {
    let patch = |name, body| Request::patch(name, ONE, JSON, body).by("table");
    let op = |op: &str, path: &str, value: Value| json!([{ "op": op, "path": path, "value": value }]);
    vec![
        patch("json: test", op("test", "/data/k", json!("v"))),
        patch("json: replace", op("replace", "/data/k", json!("2"))),
        patch("json: add", op("add", "/data/m", json!("3"))),
        patch("json: remove", json!([{ "op": "remove", "path": "/data/m" }])),
        patch("json: failed test", op("test", "/data/k", json!("other"))),
        patch(
            "json: remove what is missing",
            json!([{ "op": "remove", "path": "/data/missing" }]),
        ),
        patch(
            "json: replace what is missing",
            op("replace", "/data/missing", json!("1")),
        ),
        patch("json: unknown operation", op("rename", "/data/k", json!("1"))),
        patch("json: an object", json!({ "data": {} })),
        patch("json: nothing to do", json!([])),
    ]
}

fn merges() -> Vec<Request> {
    let patch = |name, body| Request::patch(name, ONE, MERGE, body).by("table");
    vec![
        patch("merge: change", json!({ "data": { "k": "3" } })),
        patch("merge: nothing new", json!({ "data": { "k": "3" } })),
        patch("merge: empty", json!({})),
        patch("merge: remove by null", json!({ "data": { "l": null } })),
        patch(
            "merge: labels",
            json!({ "metadata": { "labels": { "app": "x" } } }),
        ),
        patch("merge: an array", json!([])),
        // What the embedded server accepts and the real one does not changes nothing that later requests see.
        Request::patch(
            "merge: wrong type of a field",
            format!("{ONE}?dryRun=All"),
            MERGE,
            json!({ "data": "text" }),
        ),
        patch("merge: another name", json!({ "metadata": { "name": "two" } })),
        patch(
            "merge: another namespace",
            json!({ "metadata": { "namespace": "other" } }),
        ),
        patch("merge: another kind", json!({ "kind": "Secret" })),
        patch("merge: another UID", json!({ "metadata": { "uid": "other" } })),
        patch(
            "merge: an old version",
            json!({ "metadata": { "resourceVersion": "${version}" } }),
        ),
        Request::patch(
            "merge: a dry run",
            format!("{ONE}?dryRun=All"),
            MERGE,
            json!({ "data": { "k": "dry" } }),
        )
        .by("table"),
        Request::get("read after the merges", ONE),
        Request::patch("merge: missing", format!("{MAPS}/missing"), MERGE, json!({})),
    ]
}

fn strategic() -> Vec<Request> {
    let patch = |name, body| Request::patch(name, ONE, STRATEGIC, body).by("table");
    vec![
        patch("strategic: change", json!({ "data": { "k": "4" } })),
        patch(
            "strategic: remove by null",
            json!({ "metadata": { "labels": null } }),
        ),
        patch(
            "strategic: replace",
            json!({ "data": { "$patch": "replace", "n": "1" } }),
        ),
        patch(
            "strategic: unknown directive",
            json!({ "data": { "$patch": "twist" } }),
        ),
        patch(
            "strategic: finalizers",
            json!({ "metadata": { "finalizers": ["example.com/a"] } }),
        ),
        patch(
            "strategic: more finalizers",
            json!({ "metadata": { "finalizers": ["example.com/b"] } }),
        ),
        patch(
            "strategic: fewer finalizers",
            json!({ "metadata": { "$deleteFromPrimitiveList/finalizers": ["example.com/a",
                "example.com/b"] } }),
        ),
        patch("strategic: an array", json!([])),
    ]
}

fn applies() -> Vec<Request> {
    let config = |data: Value| {
        json!({ "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "applied" }, "data": data })
    };
    let apply = |name, data| Request::patch(name, APPLIED, APPLY, config(data));
    vec![
        apply("apply: create", json!({ "k": "1", "l": "1" })).by("one"),
        apply("apply: again", json!({ "k": "1", "l": "1" })).by("one"),
        apply("apply: the same by another", json!({ "k": "1" })).by("two"),
        apply("apply: conflict", json!({ "k": "2" })).by("two"),
        Request::patch(
            "apply: forced",
            format!("{APPLIED}?force=true"),
            APPLY,
            config(json!({ "k": "2" })),
        )
        .by("two"),
        apply("apply: give up a field", json!({})).by("one"),
        Request::patch(
            "merge into what is \
            applied",
            APPLIED,
            MERGE,
            json!({ "data": { "k": "3" } }),
        )
        .by("table"),
        apply("apply: conflict with an update", json!({ "k": "2" })).by("two"),
        apply("apply: without a manager", json!({})),
        Request::patch(
            "apply: without a \
            type",
            APPLIED,
            APPLY,
            json!({ "metadata": { "name": "applied" } }),
        )
        .by("one"),
        Request::patch(
            "apply: another name",
            APPLIED,
            APPLY,
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "other" } }),
        )
        .by("one"),
        Request::patch(
            "apply: with owners",
            APPLIED,
            APPLY,
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "applied",
                "managedFields": [{ "manager": "x" }] } }),
        )
        .by("one"),
        Request::patch(
            "apply: an unknown field",
            format!("{APPLIED}?dryRun=All"),
            APPLY,
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "applied" },
                "nothing": 1 }),
        )
        .by("one"),
        Request::get("read what is applied", APPLIED),
    ]
}

fn refusals() -> Vec<Request> {
    vec![
        Request::patch(
            "force without apply",
            format!("{ONE}?force=true"),
            MERGE,
            json!({}),
        ),
        Request::patch("patch of an unknown type", ONE, "application/json", json!({})),
        Request::patch("patch of broken JSON", ONE, MERGE, Value::Null).text("{"),
        Request::patch("patch of a collection", MAPS, MERGE, json!({})),
        Request::patch(
            "patch of an unknown resource",
            "/api/v1/nothings/one",
            MERGE,
            json!({}),
        ),
        Request::patch(
            "patch of a status that does not exist",
            format!("{ONE}/status"),
            MERGE,
            json!({}),
        ),
        Request::patch(
            "patch with a bad dry run",
            format!("{ONE}?dryRun=Some"),
            MERGE,
            json!({}),
        ),
    ]
}
