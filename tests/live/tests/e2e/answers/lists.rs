//! Lists and watches: versions, pages, selectors, bookmarks, initial events, and what is refused.

use serde_json::{Value, json};

use super::namespace;
use super::player::{MERGE, Request, Step};

const MAPS: &str = "/api/v1/namespaces/lists/configmaps";
const EVERYWHERE: &str = "/api/v1/configmaps";

/// Names and labels of the objects, in the order of their names.
const OBJECTS: [(&str, &str); 5] = [("a", "x"), ("b", "y"), ("c", "x"), ("d", "x"), ("e", "y")];

fn create(name: &str, label: &str) -> Step {
    let labels = json!({ "metadata": { "name": name, "labels": { "app": label } } });
    Request::post("create an object to list", MAPS, labels)
        .by("table")
        .into()
}

fn list(name: &'static str, query: &str) -> Request {
    Request::get(name, format!("{MAPS}?{query}"))
}

/// Ends by itself.
fn watch(name: &'static str, query: &str) -> Request {
    Request::get(name, format!("{MAPS}?watch=1&timeoutSeconds=1&{query}"))
}

pub(super) fn steps() -> Vec<Step> {
    let mut steps = vec![
        namespace("lists"),
        list("list nothing", "")
            .keep("start", "/metadata/resourceVersion")
            .into(),
    ];
    steps.extend(OBJECTS.map(|(name, label)| create(name, label)));
    steps.push(list("list", "").keep("five", "/metadata/resourceVersion").into());
    for part in [
        pages(),
        versions(),
        selectors(),
        bad_options(),
        changes(),
        watches(),
        initial_events(),
    ] {
        steps.extend(part.into_iter().map(Step::from));
    }
    steps
}

fn pages() -> Vec<Request> {
    let labels = "labelSelector=app%3Dx";
    let fields = "fieldSelector=metadata.name%21%3Db";
    vec![
        list("first page", "limit=2").keep("token", "/metadata/continue"),
        list("second page", "limit=2&continue=${token}").keep("next", "/metadata/continue"),
        list("last page", "limit=2&continue=${next}"),
        list("the rest as one page", "continue=${token}"),
        list("first page by labels", &format!("limit=1&{labels}")).keep("labelled", "/metadata/continue"),
        list(
            "second page by labels",
            &format!("limit=1&{labels}&continue=${{labelled}}"),
        ),
        list("first page by fields", &format!("limit=1&{fields}")),
        list(
            "page with empty selectors",
            "limit=1&labelSelector=&fieldSelector=",
        ),
        list("page that is large enough", "limit=5"),
        list("page without a limit", "limit=0"),
        list("page with a negative limit", "limit=-1"),
        list("page with a limit that is no number", "limit=x"),
        list("page with a broken token", "limit=1&continue=broken"),
        list(
            "page with a token and a version",
            "continue=${token}&resourceVersion=${five}",
        ),
        list(
            "page with a token and version 0",
            "continue=${token}&resourceVersion=0",
        ),
        list(
            "page with a token and a match",
            "continue=${token}&resourceVersion=${five}&resourceVersionMatch=Exact",
        ),
        Request::get(
            "page with the token of another namespace",
            "/api/v1/namespaces/default/configmaps?limit=2&continue=${token}",
        ),
        list("page at version 0", "limit=2&resourceVersion=0"),
        list("page at a version", "limit=2&resourceVersion=${five}"),
        list(
            "page not older than a version",
            "limit=2&resourceVersion=${five}&resourceVersionMatch=NotOlderThan",
        ),
    ]
}

fn versions() -> Vec<Request> {
    vec![
        list("list at version 0", "resourceVersion=0"),
        list("list at a version", "resourceVersion=${start}"),
        list(
            "list exactly",
            "resourceVersion=${start}&resourceVersionMatch=Exact",
        ),
        list(
            "list not older",
            "resourceVersion=${start}&resourceVersionMatch=NotOlderThan",
        ),
        list(
            "list not older than 0",
            "resourceVersion=0&resourceVersionMatch=NotOlderThan",
        ),
        list("list in the future", "resourceVersion=999999999"),
        list(
            "list exactly in the future",
            "resourceVersion=999999999&resourceVersionMatch=Exact",
        ),
        list("list at a version that is no number", "resourceVersion=abc"),
        list("list at a negative version", "resourceVersion=-5"),
        list(
            "list exactly at version 0",
            "resourceVersion=0&resourceVersionMatch=Exact",
        ),
        list("list with a match and no version", "resourceVersionMatch=Exact"),
        list(
            "list with an unknown match",
            "resourceVersion=5&resourceVersionMatch=Newer",
        ),
        list(
            "list with initial events",
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
        ),
        Request::get(
            "read in the future",
            format!("{MAPS}/a?resourceVersion=999999999"),
        ),
    ]
}

fn selectors() -> Vec<Request> {
    let everywhere = |name, query: &str| Request::get(name, format!("{EVERYWHERE}?{query}"));
    vec![
        list("list by a label", "labelSelector=app%3Dx"),
        list("list by an unequal label", "labelSelector=app%21%3Dx"),
        list("list by a set of labels", "labelSelector=app%20in%20%28x%2Cy%29"),
        list("list by a missing label", "labelSelector=%21app"),
        list("list by a name", "fieldSelector=metadata.name%3Db"),
        list("list by an unequal name", "fieldSelector=metadata.name%21%3Db"),
        list(
            "list by two fields",
            "fieldSelector=metadata.name%3Db%2Cmetadata.namespace%3Dlists",
        ),
        everywhere(
            "list a namespace by its field",
            "fieldSelector=metadata.namespace%3Dlists",
        ),
        list("list by an unknown field", "fieldSelector=spec.nothing%3D1"),
        list("list by a field without a value", "fieldSelector=metadata.name"),
        list("list by half a label", "labelSelector=app%20in"),
        list("list by a bad label", "labelSelector=-app%3Dx"),
        Request::get(
            "list pods by an unknown field",
            "/api/v1/namespaces/lists/pods?fieldSelector=spec.nothing%3D1",
        ),
        Request::get(
            "list pods by their node",
            "/api/v1/namespaces/lists/pods?fieldSelector=spec.nodeName%3Dn",
        ),
        Request::get(
            "list in a missing namespace",
            "/api/v1/namespaces/missing/configmaps",
        ),
    ]
}

fn bad_options() -> Vec<Request> {
    vec![
        list("list with a timeout that is no number", "timeoutSeconds=x"),
        list(
            "watch with a timeout that is no number",
            "watch=1&timeoutSeconds=x",
        ),
        watch(
            "watch with a match and no initial events",
            "resourceVersion=0&resourceVersionMatch=NotOlderThan",
        ),
        watch(
            "watch with an exact match",
            "resourceVersion=0&resourceVersionMatch=Exact",
        ),
        watch("watch with a token", "continue=${token}"),
        watch(
            "watch by an unknown field",
            "resourceVersion=${five}&fieldSelector=spec.nothing%3D1",
        ),
        watch(
            "watch by half a label",
            "resourceVersion=${five}&labelSelector=app%20in",
        ),
        watch("watch a version that is no number", "resourceVersion=abc"),
    ]
}

/// What the watches below see.
fn changes() -> Vec<Request> {
    vec![
        Request::patch(
            "change an object",
            format!("{MAPS}/a"),
            MERGE,
            json!({ "data": { "k": "v" } }),
        )
        .by("table"),
        Request::patch(
            "change a label",
            format!("{MAPS}/c"),
            MERGE,
            json!({ "metadata": { "labels": { "app": "y" } } }),
        )
        .by("table"),
        Request::patch(
            "change nothing",
            format!("{MAPS}/a"),
            MERGE,
            json!({ "data": { "k": "v" } }),
        )
        .by("table"),
        Request::delete("delete an object", format!("{MAPS}/b")),
        Request::post("create it again", MAPS, json!({ "metadata": { "name": "b" } })).by("table"),
        list("list the changes", "").keep("end", "/metadata/resourceVersion"),
    ]
}

fn watches() -> Vec<Request> {
    vec![
        watch("watch from a version", "resourceVersion=${five}"),
        watch(
            "watch by a label",
            "resourceVersion=${five}&labelSelector=app%3Dx",
        ),
        watch(
            "watch by another label",
            "resourceVersion=${five}&labelSelector=app%3Dy",
        ),
        watch(
            "watch by a name",
            "resourceVersion=${five}&fieldSelector=metadata.name%3Da",
        ),
        watch("watch from the end", "resourceVersion=${end}"),
        watch(
            "watch from the end with a limit",
            "resourceVersion=${end}&limit=1",
        ),
        Request::get(
            "watch the old path",
            "/api/v1/watch/namespaces/lists/configmaps?resourceVersion=${end}&timeoutSeconds=1",
        ),
        Request::get(
            "watch one object by the old path",
            "/api/v1/watch/namespaces/lists/configmaps/a?resourceVersion=${five}&timeoutSeconds=1",
        ),
        watch(
            "watch a missing name",
            "resourceVersion=${five}&fieldSelector=metadata.name%3Dmissing",
        ),
        Request::get(
            "watch with bookmarks",
            format!("{MAPS}?watch=1&timeoutSeconds=5&allowWatchBookmarks=true&resourceVersion=${{end}}"),
        ),
        Request::get(
            "watch in a missing namespace",
            "/api/v1/namespaces/missing/configmaps?watch=1&timeoutSeconds=1&resourceVersion=${end}",
        ),
    ]
}

fn initial_events() -> Vec<Request> {
    let initial = "sendInitialEvents=true&allowWatchBookmarks=true";
    vec![
        watch("watch from nothing", ""),
        watch("watch from nothing with bookmarks", "allowWatchBookmarks=true"),
        watch("watch from version 0", "resourceVersion=0"),
        watch(
            "initial events",
            &format!("{initial}&resourceVersionMatch=NotOlderThan"),
        ),
        watch(
            "initial events from version 0",
            &format!("{initial}&resourceVersionMatch=NotOlderThan&resourceVersion=0"),
        ),
        watch(
            "initial events not older than a version",
            &format!("{initial}&resourceVersionMatch=NotOlderThan&resourceVersion=${{end}}"),
        ),
        watch(
            "initial events by a label",
            &format!("{initial}&resourceVersionMatch=NotOlderThan&labelSelector=app%3Dx"),
        ),
        watch(
            "initial events without bookmarks",
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
        ),
        watch(
            "no initial events",
            "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0",
        ),
        watch("initial events without a match", initial),
        watch(
            "initial events with an exact match",
            &format!("{initial}&resourceVersionMatch=Exact"),
        ),
        Request::get(
            "initial events in the future",
            format!(
                "{MAPS}?watch=1&timeoutSeconds=5&{initial}&resourceVersionMatch=NotOlderThan\
                 &resourceVersion=999999999"
            ),
        ),
        watch(
            "initial events from a version that is no number",
            &format!("{initial}&resourceVersionMatch=NotOlderThan&resourceVersion=abc"),
        ),
    ]
}

/// Versions and tokens whose history was compacted.
pub(super) fn history() -> Vec<Step> {
    let mut steps = vec![namespace("lists")];
    steps.extend(OBJECTS.map(|(name, label)| create(name, label)));
    let change: Value = json!({ "data": { "k": "v" } });
    steps.extend([
        list("list", "").keep("five", "/metadata/resourceVersion").into(),
        list("first page", "limit=2")
            .keep("token", "/metadata/continue")
            .into(),
        list("page at version 0 without a cache", "limit=2&resourceVersion=0").into(),
        Request::patch("change an object", format!("{MAPS}/a"), MERGE, change)
            .by("table")
            .into(),
        Request::delete("delete an object", format!("{MAPS}/d")).into(),
        list("second page of the past", "limit=2&continue=${token}").into(),
        list(
            "list the past exactly",
            "resourceVersion=${five}&resourceVersionMatch=Exact",
        )
        .into(),
        Step::Compact,
        list("second page after the compaction", "limit=2&continue=${token}")
            .keep("inconsistent", "/metadata/continue")
            .into(),
        list("go on inconsistently", "limit=2&continue=${inconsistent}").into(),
        list(
            "list the compacted past exactly",
            "resourceVersion=${five}&resourceVersionMatch=Exact",
        )
        .into(),
        list(
            "list not older than the compacted past",
            "resourceVersion=${five}",
        )
        .into(),
        list(
            "list a page of the compacted past",
            "resourceVersion=${five}&limit=2",
        )
        .into(),
        watch("watch the compacted past", "resourceVersion=${five}").into(),
        list("list after the compaction", "").into(),
    ]);
    steps
}
