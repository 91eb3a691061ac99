//! A stored object: its JSON as bytes, serialised once, plus the fields that selectors and preconditions use.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};

/// The fields of an object without `apiVersion` and `kind`, which depend on the requested version.
pub(crate) type Object = Map<String, Value>;

/// One version of one object.
///
/// Lists and watches splice the bytes into their answers, so an object is serialised once for all clients.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) key: Arc<str>,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) revision: u64,
    pub(crate) labels: BTreeMap<String, String>,
    /// Values of the selectable fields of the kind, beside name and namespace.
    pub(crate) fields: Vec<(String, String)>,
    json: Bytes,
    metadata_end: usize,
}

const METADATA: &[u8] = b"{\"metadata\":";

impl Stored {
    /// Serialises an object whose metadata already has its resourceVersion.
    pub(crate) fn new(mut object: Object, revision: u64, selectable: &[String]) -> Self {
        object.remove("apiVersion");
        object.remove("kind");
        let fields = selectable
            .iter()
            .map(|path| {
                (
                    path.clone(),
                    lookup(&object, path).map(text_of).unwrap_or_default(),
                )
            })
            .collect();
        let metadata = object
            .remove("metadata")
            .unwrap_or_else(|| Value::Object(Map::new()));
        let mut json = METADATA.to_vec();
        write(&mut json, &metadata);
        let metadata_end = json.len();
        for (field, value) in &object {
            json.push(b',');
            write(&mut json, &Value::from(field.as_str()));
            json.push(b':');
            write(&mut json, value);
        }
        json.push(b'}');
        let text = |field: &str| {
            metadata
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let (namespace, name) = (text("namespace"), text("name"));
        let labels = metadata.get("labels").and_then(Value::as_object);
        let labels = labels
            .into_iter()
            .flatten()
            .map(|(k, v)| (k.clone(), text_of(v)))
            .collect();
        Self {
            key: key(&namespace, &name).into(),
            uid: text("uid"),
            namespace,
            name,
            revision,
            labels,
            fields,
            json: json.into(),
            metadata_end,
        }
    }

    /// Decodes the fields of the object.
    pub(crate) fn object(&self) -> Object {
        match serde_json::from_slice(&self.json) {
            Ok(Value::Object(object)) => object,
            // `new` wrote the bytes, and writes only objects.
            _ => Map::new(),
        }
    }

    /// Returns the text after the opening brace, so that `kind` and `apiVersion` can be inserted before it.
    pub(crate) fn tail(&self) -> &[u8] {
        &self.json[1..]
    }

    /// Returns the JSON of `metadata`.
    pub(crate) fn metadata(&self) -> &[u8] {
        &self.json[METADATA.len()..self.metadata_end]
    }

    /// Returns the same content under another resourceVersion, for a DELETED event.
    pub(crate) fn restamped(&self, revision: u64, version: &str) -> Self {
        let mut object = self.object();
        set_metadata(&mut object, "resourceVersion", version.into());
        let selectable: Vec<String> = self.fields.iter().map(|(path, _)| path.clone()).collect();
        Self::new(object, revision, &selectable)
    }
}

/// Returns the key by which etcd would sort the object: `namespace/name`, or `name`.
pub(crate) fn key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        name.to_owned()
    } else {
        format!("{namespace}/{name}")
    }
}

/// Returns the value at a dotted path.
pub(crate) fn lookup<'a>(object: &'a Object, path: &str) -> Option<&'a Value> {
    let mut steps = path.split('.');
    let first = object.get(steps.next()?)?;
    steps.try_fold(first, |value, step| value.get(step))
}

/// Returns the text that a field selector compares.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Returns the metadata of an object, and adds an empty one if it is missing.
pub(crate) fn metadata_mut(object: &mut Object) -> &mut Map<String, Value> {
    let slot = object
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()));
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut().expect("the slot was set to an object above")
}

pub(crate) fn set_metadata(object: &mut Object, field: &str, value: Value) {
    metadata_mut(object).insert(field.into(), value);
}

pub(crate) fn metadata_str<'a>(object: &'a Object, field: &str) -> &'a str {
    object
        .get("metadata")
        .and_then(|m| m.get(field))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

pub(crate) fn finalizers(object: &Object) -> Vec<&str> {
    let list = object
        .get("metadata")
        .and_then(|m| m.get("finalizers"))
        .and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Appends a value. It cannot fail: a `Value` has string keys only, and writing to a `Vec` never fails.
pub(crate) fn write(buffer: &mut Vec<u8>, value: &Value) {
    let written = serde_json::to_writer(buffer, value);
    debug_assert!(written.is_ok(), "a JSON value serialises");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stored(value: Value) -> Stored {
        let Value::Object(object) = value else {
            panic!("an object")
        };
        Stored::new(object, 7, &["spec.nodeName".to_owned()])
    }

    #[test]
    fn bytes_begin_with_metadata_and_leave_the_type_out() {
        let pod = stored(json!({
            "apiVersion": "v1", "kind": "Pod", "spec": { "nodeName": "n1" },
            "metadata": { "name": "a", "namespace": "web", "labels": { "x": "y" } },
        }));
        let expected =
            r#""metadata":{"labels":{"x":"y"},"name":"a","namespace":"web"},"spec":{"nodeName":"n1"}}"#;
        assert_eq!(std::str::from_utf8(pod.tail()).unwrap(), expected);
        assert_eq!(
            pod.metadata(),
            br#"{"labels":{"x":"y"},"name":"a","namespace":"web"}"#
        );
        assert_eq!((&*pod.key, pod.fields[0].1.as_str()), ("web/a", "n1"));
        assert_eq!(pod.object()["spec"], json!({ "nodeName": "n1" }));
    }

    #[test]
    fn restamping_changes_only_the_version() {
        let pod =
            stored(json!({ "metadata": { "name": "a", "resourceVersion": "7" }, "data": { "k": "v" } }));
        let later = pod.restamped(9, "9");
        assert_eq!(later.metadata(), br#"{"name":"a","resourceVersion":"9"}"#);
        assert_eq!(later.object()["data"], json!({ "k": "v" }));
    }
}
