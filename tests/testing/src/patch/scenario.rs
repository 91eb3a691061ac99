//! A test helper: applies a sequence of writes to one object, and compares its field owners as text.

use serde_json::{Value, json};

use super::field_set::{Element, FieldSet};
use super::{Apply, OnConflict, Part, PatchError, Write, apply, merge_patch, record_update};
use crate::schema::Schema;

/// One object and a sequence of writes. Each write is one second later than the one before.
pub(super) struct Scenario {
    schema: Schema,
    api_version: &'static str,
    kind: &'static str,
    seconds: u32,
    pub(super) object: Option<Value>,
}

impl Scenario {
    pub(super) fn of(api_version: &'static str, kind: &'static str) -> Scenario {
        let schema = Schema::builtin(api_version, kind).expect("a built-in kind");
        Scenario {
            schema,
            api_version,
            kind,
            seconds: 0,
            object: None,
        }
    }

    /// A custom kind with a list of every type.
    pub(super) fn of_widget() -> Scenario {
        let text = json!({"type": "string"});
        let part = json!({"type": "object", "properties": {
            "id": text,
            "weight": {"type": "integer"},
            "inner": {"type": "object", "properties": {"a": text, "b": text}},
        }});
        let spec = json!({"type": "object", "properties": {
            "size": {"type": "integer"},
            "plain": {"type": "array", "items": text},
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": text},
            "parts": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["id"],
                "items": part,
            },
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": text},
            "entries": {
                "type": "object",
                "additionalProperties": {"type": "object", "properties": {"x": text}},
            },
        }});
        let schema = Schema::custom(Some(&json!({"type": "object", "properties": {"spec": spec}})));
        Scenario {
            schema,
            api_version: "example.com/v1",
            kind: "Widget",
            seconds: 0,
            object: None,
        }
    }

    /// Makes the next write happen in the same second as the last one.
    pub(super) fn at_the_same_time(&mut self) -> &mut Scenario {
        self.seconds -= 1;
        self
    }

    fn time(&mut self) -> String {
        self.seconds += 1;
        format!("2026-01-01T00:00:{:02}Z", self.seconds)
    }

    /// Adds `apiVersion` and `kind` to the fields of an object.
    fn typed(&self, mut fields: Value) -> Value {
        fields["apiVersion"] = self.api_version.into();
        fields["kind"] = self.kind.into();
        fields
    }

    pub(super) fn create(&mut self, manager: &str, fields: Value) -> &mut Scenario {
        let time = self.time();
        let write = Write {
            manager,
            api_version: self.api_version,
            part: Part::Whole,
            time: &time,
        };
        self.object = Some(record_update(&self.schema, None, &self.typed(fields), &write));
        self
    }

    /// Sends a merge patch to an endpoint.
    pub(super) fn patch(&mut self, manager: &str, part: Part, patch: Value) -> &mut Scenario {
        let time = self.time();
        let live = self.object.as_ref().expect("the object exists");
        let new = merge_patch(live, &patch).expect("the patch is an object");
        let write = Write {
            manager,
            api_version: self.api_version,
            part,
            time: &time,
        };
        self.object = Some(record_update(&self.schema, Some(live), &new, &write));
        self
    }

    pub(super) fn try_apply(
        &mut self,
        manager: &str,
        part: Part,
        on_conflict: OnConflict,
        config: Value,
    ) -> Result<(), PatchError> {
        let time = self.time();
        let config = self.typed(config);
        let request = Apply {
            kind: self.kind,
            write: Write {
                manager,
                api_version: self.api_version,
                part,
                time: &time,
            },
            on_conflict,
        };
        self.object = Some(apply(&self.schema, self.object.as_ref(), &config, &request)?);
        Ok(())
    }

    pub(super) fn apply(&mut self, manager: &str, config: Value) -> &mut Scenario {
        self.try_apply(manager, Part::AllButStatus, OnConflict::Refuse, config)
            .expect("no conflict");
        self
    }

    pub(super) fn force(&mut self, manager: &str, config: Value) -> &mut Scenario {
        self.try_apply(manager, Part::AllButStatus, OnConflict::Force, config)
            .expect("force takes over the fields");
        self
    }

    pub(super) fn refused(&mut self, manager: &str, config: Value) -> PatchError {
        let result = self.try_apply(manager, Part::AllButStatus, OnConflict::Refuse, config);
        result.expect_err("a conflict")
    }

    /// Compares the value at `pointer`; null means that it is missing.
    pub(super) fn has(&mut self, pointer: &str, expected: Value) -> &mut Scenario {
        let found = self
            .object
            .as_ref()
            .and_then(|object| object.pointer(pointer))
            .unwrap_or(&Value::Null);
        assert_eq!(found, &expected, "at {pointer} after {} steps", self.seconds);
        self
    }

    /// Compares the owners, one line each: `name: fields`, `name*: fields` for those that update rather than
    /// apply, `name/status: fields` for those that write a subresource.
    pub(super) fn owners(&mut self, expected: &[&str]) -> &mut Scenario {
        let entries = self
            .object
            .as_ref()
            .and_then(|object| object.pointer("/metadata/managedFields"));
        let lines: Vec<String> = entries
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(line)
            .collect();
        assert_eq!(lines, expected, "after {} steps", self.seconds);
        self
    }
}

fn line(entry: &Value) -> String {
    let text = |name: &str| entry[name].as_str().unwrap_or_default();
    let star = if text("operation") == "Update" { "*" } else { "" };
    let slash = if text("subresource").is_empty() { "" } else { "/" };
    let paths = FieldSet::decode(&entry["fieldsV1"])
        .expect("it is fieldsV1")
        .paths();
    let mut paths: Vec<String> = paths
        .iter()
        .map(|path| path.iter().map(Element::to_string).collect())
        .collect();
    paths.sort();
    format!(
        "{}{star}{slash}{}: {}",
        text("manager"),
        text("subresource"),
        paths.join(" ")
    )
}
