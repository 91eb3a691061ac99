//! Create, read, replace and delete, and the forms of an answer.

use serde_json::{Value, json};

use super::namespace;
use super::player::{MERGE, Request, Step};

const MAPS: &str = "/api/v1/namespaces/objects/configmaps";
const ONE: &str = "/api/v1/namespaces/objects/configmaps/one";
const HELD: &str = "/api/v1/namespaces/objects/configmaps/held";

fn map(name: &str, data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": data })
}

pub(super) fn steps() -> Vec<Step> {
    let mut steps = vec![namespace("objects")];
    for part in [
        creations(),
        reads(),
        replacements(),
        finalizers(),
        deletions(),
        forms(),
    ] {
        steps.extend(part.into_iter().map(Step::from));
    }
    steps
}

fn creations() -> Vec<Request> {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "one" },
        "spec": { "containers": [{ "name": "main", "image": "none" }] },
    });
    vec![
        Request::post("create", MAPS, map("one", json!({ "k": "v" })))
            .by("table")
            .keep("uid", "/metadata/uid")
            .keep("version", "/metadata/resourceVersion"),
        Request::post("create what exists", MAPS, map("one", json!({}))),
        Request::post(
            "create in a missing namespace",
            "/api/v1/namespaces/missing/configmaps",
            map("one", json!({})),
        ),
        Request::post("create without a name", MAPS, json!({ "metadata": {} })),
        Request::post("create with a bad name", MAPS, map("Not_Good", json!({}))),
        Request::post("create with a long name", MAPS, map(&"x".repeat(254), json!({}))),
        Request::post(
            "create for another namespace",
            MAPS,
            json!({ "metadata": { "name": "x", "namespace": "other" } }),
        ),
        Request::post(
            "create another kind",
            MAPS,
            json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "x" } }),
        ),
        Request::post(
            "create another version",
            MAPS,
            json!({ "apiVersion": "v2", "kind": "ConfigMap", "metadata": { "name": "x" } }),
        ),
        Request::post(
            "create with a version of its own",
            MAPS,
            json!({ "metadata": { "name": "x", "resourceVersion": "5" } }),
        ),
        Request::post(
            "create with server-owned fields",
            MAPS,
            json!({ "metadata": {
                "name": "owned", "uid": "mine", "generation": 7, "creationTimestamp": "2001-01-01T00:00:00Z",
                "deletionTimestamp": "2001-01-01T00:00:00Z",
            } }),
        )
        .by("table"),
        Request::post(
            "create with a generated name",
            MAPS,
            json!({ "metadata": { "generateName": "made-" } }),
        )
        .by("table"),
        Request::post(
            "create with a bad label",
            MAPS,
            json!({ "metadata": { "name": "x", "labels": { "app": "not good" } } }),
        ),
        Request::post(
            "create as a dry run",
            format!("{MAPS}?dryRun=All"),
            map("dry", json!({ "k": "v" })),
        )
        .by("table"),
        Request::get("read after a dry run", format!("{MAPS}/dry")),
        Request::post(
            "create as a bad dry run",
            format!("{MAPS}?dryRun=Some"),
            map("dry", json!({})),
        ),
        Request::post("create from broken JSON", MAPS, Value::Null).text("{\"metadata\":"),
        Request::post("create from an array", MAPS, json!([])),
        Request::post("create from nothing", MAPS, Value::Null).text(""),
        Request::post("create from another format", MAPS, map("x", json!({})))
            .header("content-type", "text/plain"),
        Request::post(
            "create without a type",
            MAPS,
            json!({ "metadata": { "name": "untyped" } }),
        )
        .by("table"),
        Request::post("create at a name", ONE, map("one", json!({}))),
        Request::post(
            "create outside of namespaces",
            "/api/v1/configmaps",
            map("x", json!({})),
        ),
        Request::post("create a pod", "/api/v1/namespaces/objects/pods", pod),
        Request::post(
            "create with a bad field manager",
            format!("{MAPS}?fieldManager={}", "x".repeat(129)),
            map("x", json!({})),
        ),
    ]
}

fn reads() -> Vec<Request> {
    vec![
        Request::get("read", ONE),
        Request::get("read at version 0", format!("{ONE}?resourceVersion=0")),
        Request::get("read what is missing", format!("{MAPS}/missing")),
        Request::get(
            "read in a missing namespace",
            "/api/v1/namespaces/missing/configmaps/one",
        ),
        Request::get(
            "read an unknown resource",
            "/api/v1/namespaces/objects/nothings/one",
        ),
        Request::get("read an unknown group", "/apis/nothing.example.com/v1/nothings"),
        Request::get("read an unknown version", "/apis/apps/v7/deployments"),
        Request::get("read an unknown subresource", format!("{ONE}/nothing")),
        Request::get("read a status that does not exist", format!("{ONE}/status")),
        Request::get("read an unknown path", "/nothing"),
    ]
}

fn replacements() -> Vec<Request> {
    let with = |metadata: Value, data: Value| {
        json!({ "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": metadata, "data": data })
    };
    let named = || json!({ "name": "one" });
    vec![
        Request::put(
            "replace by the same",
            ONE,
            with(
                json!({ "name": "one", "resourceVersion": "${version}" }),
                json!({ "k": "v" }),
            ),
        )
        .by("table"),
        Request::put(
            "replace by the same without a version",
            ONE,
            with(named(), json!({ "k": "v" })),
        )
        .by("table"),
        Request::put("replace", ONE, with(named(), json!({ "k": "w" }))).by("table"),
        Request::put(
            "replace by another manager",
            ONE,
            with(named(), json!({ "k": "w", "l": "x" })),
        )
        .by("other"),
        Request::put(
            "replace an old version",
            ONE,
            with(
                json!({ "name": "one", "resourceVersion": "${version}" }),
                json!({ "k": "x" }),
            ),
        ),
        Request::put(
            "replace with a version that is no number",
            ONE,
            with(
                json!({ "name": "one", "resourceVersion": "abc" }),
                json!({ "k": "x" }),
            ),
        ),
        Request::put(
            "replace another UID",
            ONE,
            with(json!({ "name": "one", "uid": "other" }), json!({ "k": "x" })),
        ),
        Request::put(
            "replace under another name",
            ONE,
            with(json!({ "name": "two" }), json!({})),
        ),
        Request::put("replace without a name", ONE, with(json!({}), json!({}))),
        Request::put(
            "replace in another namespace",
            ONE,
            with(json!({ "name": "one", "namespace": "other" }), json!({})),
        ),
        Request::put(
            "replace what is missing",
            format!("{MAPS}/missing"),
            with(json!({ "name": "missing" }), json!({})),
        ),
        Request::put(
            "replace as a dry run",
            format!("{ONE}?dryRun=All"),
            with(named(), json!({ "k": "dry" })),
        )
        .by("table"),
        Request::get("read after a replaced dry run", ONE),
        Request::put("replace a collection", MAPS, with(named(), json!({}))),
    ]
}

fn finalizers() -> Vec<Request> {
    let finalizers = |list: Value| json!({ "metadata": { "finalizers": list } });
    let held = json!({ "metadata": { "name": "held", "finalizers": ["example.com/hold"] } });
    vec![
        Request::post("create with a finalizer", MAPS, held).by("table"),
        Request::delete("delete with a finalizer", HELD),
        Request::delete("delete again", HELD),
        Request::patch(
            "add a finalizer while deleting",
            HELD,
            MERGE,
            finalizers(json!(["example.com/hold", "example.com/more"])),
        ),
        Request::patch(
            "change while deleting",
            HELD,
            MERGE,
            json!({ "data": { "k": "v" } }),
        )
        .by("table"),
        Request::patch("remove the finalizer", HELD, MERGE, finalizers(json!([]))).by("table"),
        Request::get("read after the finalizer", HELD),
        Request::post(
            "create with a bad finalizer",
            MAPS,
            json!({ "metadata": { "name": "x", "finalizers": ["bad"] } }),
        ),
    ]
}

fn deletions() -> Vec<Request> {
    let precondition = |what: Value| json!({ "preconditions": what });
    vec![
        Request::delete("delete what is missing", format!("{MAPS}/missing")),
        Request::delete_with("delete another UID", ONE, precondition(json!({ "uid": "other" }))),
        Request::delete_with(
            "delete an old version",
            ONE,
            precondition(json!({ "resourceVersion": "${version}" })),
        ),
        Request::delete_with(
            "delete with a bad policy",
            ONE,
            json!({ "propagationPolicy": "Some" }),
        ),
        Request::delete_with(
            "delete with two policies",
            ONE,
            json!({ "propagationPolicy": "Orphan", "orphanDependents": true }),
        ),
        Request::delete_with("delete as a dry run", ONE, json!({ "dryRun": ["All"] })),
        Request::delete_with("delete from broken JSON", ONE, Value::Null).text("{"),
        Request::delete_with("delete", ONE, precondition(json!({ "uid": "${uid}" }))),
        Request::get("read after a deletion", ONE),
        Request::delete(
            "delete a pod",
            "/api/v1/namespaces/objects/pods/one?gracePeriodSeconds=0",
        ),
        Request::delete("delete by a bad selector", format!("{MAPS}?labelSelector=a%20in")),
        Request::post(
            "create for a selector",
            MAPS,
            json!({ "metadata": { "name": "chosen", "labels": { "app": "x" } } }),
        )
        .by("table"),
        Request::delete("delete by a selector", format!("{MAPS}?labelSelector=app%3Dx")),
        Request::delete("delete the rest", MAPS),
        Request::get("list after the deletions", MAPS),
    ]
}

fn forms() -> Vec<Request> {
    let form = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let list = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let table = "application/json;as=Table;g=meta.k8s.io;v=v1";
    let labels = json!({ "metadata": { "name": "form", "labels": { "app": "x" } }, "data": { "k": "v" } });
    vec![
        Request::post("create for its forms", MAPS, labels).by("table"),
        Request::get("read metadata", format!("{MAPS}/form")).header("accept", form),
        Request::get("list metadata", MAPS).header("accept", list),
        Request::get("read a table", format!("{MAPS}/form")).header("accept", table),
        Request::get("list a table", MAPS).header("accept", table),
        Request::get(
            "list a table without objects",
            format!("{MAPS}?includeObject=None"),
        )
        .header("accept", table),
        Request::get(
            "watch a table",
            format!("{MAPS}?watch=1&resourceVersion=0&timeoutSeconds=1"),
        )
        .header("accept", table),
        Request::get("read an unknown form", format!("{MAPS}/form")).header("accept", "text/html"),
        Request::get("read any form", format!("{MAPS}/form")).header("accept", "*/*"),
        Request::get("read the better form", format!("{MAPS}/form"))
            .header("accept", "text/html,application/json"),
    ]
}
