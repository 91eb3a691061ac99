//! `/openapi/v2` and `/openapi/v3`: the parts that an unmodified kubectl needs.
//!
//! kubectl requests OpenAPI before an `apply` to find out whether the server knows `fieldValidation`, so that
//! it can leave validation to the server, and which patch types it supports. kubectl 1.37 reads `/openapi/v3`
//! and the document of the one group and version it needs, both as JSON; only if those are incomplete does it
//! read `/openapi/v2`, as protobuf.
//!
//! So every kind has its PATCH operation here with its parameters, and custom kinds have the schema of their
//! definition (`kubectl explain` works on them). Built-in kinds have no fields here, because the documents of
//! a real server are megabytes long. That is also why strategic merge is not among the patches listed,
//! although the server understands it: a client would look for merge keys in the schema. kubectl then uses
//! its built-in types. The v2 document is valid and empty.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value, json};

const JSON: &str = "application/json";
const PROTOBUF_V2: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const TITLE: &str = "Kubernetes";
const VERSION: &str = "v1.37.1";

/// One version of a kind, with the properties that OpenAPI needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServedKind<'a> {
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) plural: &'a str,
    /// The path parameter of namespaced kinds is in their paths.
    pub(crate) scope: PathScope,
    /// The structural schema of a custom kind.
    pub(crate) schema: Option<&'a Value>,
}

/// Whether the paths of a kind name a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathScope {
    Namespaced,
    Cluster,
}

impl ServedKind<'_> {
    /// `api/v1` or `apis/apps/v1`.
    fn root(&self) -> String {
        if self.group.is_empty() {
            format!("api/{}", self.version)
        } else {
            format!("apis/{}/{}", self.group, self.version)
        }
    }

    fn identity(&self) -> Value {
        json!({"group": self.group, "version": self.version, "kind": self.kind})
    }

    fn schema_name(&self) -> String {
        let group: Vec<&str> = self
            .group
            .split('.')
            .rev()
            .filter(|part| !part.is_empty())
            .collect();
        let group = if group.is_empty() {
            "core".to_owned()
        } else {
            group.join(".")
        };
        format!("{group}.{}.{}", self.version, self.kind)
    }
}

/// Answers a GET below `/openapi` with a content type and a body; `None` is 404.
pub(crate) fn respond(path: &str, accept: &str, kinds: &[ServedKind<'_>]) -> Option<(&'static str, Vec<u8>)> {
    let json = |document: Value| Some((JSON, document.to_string().into_bytes()));
    match path.trim_end_matches('/') {
        "/openapi/v2" if accept.contains("protobuf") => Some((PROTOBUF_V2, empty_v2_protobuf())),
        "/openapi/v2" => json(json!({
            "swagger": "2.0",
            "info": {"title": TITLE, "version": VERSION},
            "paths": {},
            "definitions": {},
        })),
        "/openapi/v3" => json(index(kinds)),
        other => json(document(other.strip_prefix("/openapi/v3/")?, kinds)?),
    }
}

/// The list of documents. The hash in an address changes with its document, so that a client may cache by
/// address.
fn index(kinds: &[ServedKind<'_>]) -> Value {
    let roots: BTreeSet<String> = kinds.iter().map(ServedKind::root).collect();
    let mut paths = Map::new();
    for root in roots {
        let mut hasher = DefaultHasher::new();
        document(&root, kinds)
            .map(|document| document.to_string())
            .hash(&mut hasher);
        let url = format!("/openapi/v3/{root}?hash={:016X}", hasher.finish());
        paths.insert(root, json!({ "serverRelativeURL": url }));
    }
    json!({ "paths": paths })
}

/// The document of one group and version.
fn document(root: &str, kinds: &[ServedKind<'_>]) -> Option<Value> {
    let mut paths = BTreeMap::new();
    let mut schemas = Map::new();
    for kind in kinds.iter().filter(|kind| kind.root() == root) {
        let namespace = match kind.scope {
            PathScope::Namespaced => "namespaces/{namespace}/",
            PathScope::Cluster => "",
        };
        paths.insert(
            format!("/{root}/{namespace}{}/{{name}}", kind.plural),
            json!({ "patch": patch_operation(kind) }),
        );
        schemas.insert(kind.schema_name(), schema(kind));
    }
    (!paths.is_empty()).then(|| {
        json!({
            "openapi": "3.0.0",
            "info": {"title": TITLE, "version": VERSION},
            "paths": paths,
            "components": {"schemas": schemas},
        })
    })
}

fn patch_operation(kind: &ServedKind<'_>) -> Value {
    let parameter = |name: &str, kind: &str| json!({"name": name, "in": "query", "schema": {"type": kind}});
    let content = |media_type: &str| (media_type.to_owned(), json!({"schema": {"type": "object"}}));
    let patches: Map<String, Value> = [
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
    ]
    .map(content)
    .into_iter()
    .collect();
    json!({
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": kind.identity(),
        "parameters": [
            parameter("dryRun", "string"),
            parameter("fieldManager", "string"),
            parameter("fieldValidation", "string"),
            parameter("force", "boolean"),
        ],
        "requestBody": {"content": patches},
        "responses": {"200": {"description": "OK"}},
    })
}

fn schema(kind: &ServedKind<'_>) -> Value {
    let mut schema = match kind.schema {
        Some(schema) => schema.clone(),
        None => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
    };
    if let Some(fields) = schema.as_object_mut() {
        fields.insert(
            "x-kubernetes-group-version-kind".to_owned(),
            json!([kind.identity()]),
        );
    }
    schema
}

/// A gnostic `openapi.v2.Document` with `swagger` (field 1), `info` (2: `title` 1, `version` 2) and `paths`
/// (8, empty).
fn empty_v2_protobuf() -> Vec<u8> {
    let info = [text_field(1, TITLE), text_field(2, VERSION)].concat();
    [text_field(1, "2.0"), bytes_field(2, &info), bytes_field(8, &[])].concat()
}

fn text_field(number: u8, text: &str) -> Vec<u8> {
    bytes_field(number, text.as_bytes())
}

/// A length-delimited field. The number is below 16 and the content below 128 bytes, so each takes one byte.
fn bytes_field(number: u8, content: &[u8]) -> Vec<u8> {
    debug_assert!(number < 16 && content.len() < 128, "longer fields need a varint");
    let mut field = vec![number << 3 | 2, content.len() as u8];
    field.extend_from_slice(content);
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(schema: &Value) -> [ServedKind<'_>; 3] {
        let kind = |group, version, kind, plural, scope| ServedKind {
            group,
            version,
            kind,
            plural,
            scope,
            schema: None,
        };
        [
            kind("", "v1", "Node", "nodes", PathScope::Cluster),
            kind("apps", "v1", "Deployment", "deployments", PathScope::Namespaced),
            ServedKind {
                schema: Some(schema),
                ..kind("example.com", "v1", "Widget", "widgets", PathScope::Namespaced)
            },
        ]
    }

    fn get(path: &str, schema: &Value) -> Option<Value> {
        let (content_type, body) = respond(path, "application/json, */*", &kinds(schema))?;
        assert_eq!(content_type, JSON);
        Some(serde_json::from_slice(&body).expect("the body is JSON"))
    }

    #[test]
    fn the_index_leads_to_a_document_for_each_version() {
        let schema = json!({"type": "object"});
        let index = get("/openapi/v3", &schema).expect("the index exists");
        let paths: Vec<&String> = index["paths"].as_object().expect("it has paths").keys().collect();
        assert_eq!(paths, ["api/v1", "apis/apps/v1", "apis/example.com/v1"]);
        for path in paths {
            let url = index["paths"][path]["serverRelativeURL"]
                .as_str()
                .expect("each has an address");
            let (address, _) = url.split_once("?hash=").expect("the address has a hash");
            assert!(get(address, &schema).is_some(), "{address}");
        }
        assert_eq!(get("/openapi/v3/apis/unknown/v1", &schema), None);
        assert_eq!(get("/openapi", &schema), None);
    }

    #[test]
    fn every_kind_can_be_patched_with_field_validation() {
        let schema = json!({"type": "object"});
        let document = get("/openapi/v3/apis/apps/v1", &schema).expect("apps is served");
        let patch = &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
        assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], "Deployment");
        let names: Vec<&Value> = patch["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| &one["name"])
            .collect();
        assert_eq!(names, ["dryRun", "fieldManager", "fieldValidation", "force"]);
        let nodes = get("/openapi/v3/api/v1", &schema).expect("core is served");
        assert!(nodes["paths"]["/api/v1/nodes/{name}"].is_object());
    }

    #[test]
    fn custom_kinds_show_their_schema_and_change_their_address_with_it() {
        let address = |schema: &Value| {
            let index = get("/openapi/v3", schema).expect("the index exists");
            index["paths"]["apis/example.com/v1"]["serverRelativeURL"].clone()
        };
        let one = json!({"type": "object", "description": "one"});
        let two = json!({"type": "object", "description": "two"});
        assert_ne!(address(&one), address(&two));
        assert_eq!(address(&one), address(&one));
        let document = get("/openapi/v3/apis/example.com/v1", &one).expect("the group is served");
        assert_eq!(
            document["components"]["schemas"]["com.example.v1.Widget"]["description"],
            "one"
        );
    }

    #[test]
    fn version_two_is_protobuf_for_those_who_ask_for_it() {
        let accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
        let (content_type, body) = respond("/openapi/v2", accept, &[]).expect("it is served");
        assert_eq!(content_type, PROTOBUF_V2);
        assert_eq!(body, b"\n\x032.0\x12\x15\n\nKubernetes\x12\x07v1.37.1B\x00");
        assert_eq!(
            get("/openapi/v2", &json!({})).expect("it is served as JSON too")["swagger"],
            "2.0"
        );
    }
}
