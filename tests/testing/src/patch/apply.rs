//! Server-side apply: a manager sends all fields it wants to set, and the server tracks which manager owns
//! which field.
//!
//! Follows `sigs.k8s.io/structured-merge-diff/merge` and the managers around it in
//! `k8s.io/apimachinery/pkg/util/managedfields`.

use serde_json::{Map, Value, json};

use super::field_set::{Element, FieldSet};
use super::managed_fields::{Entry, ManagerId, Managers, Operation, never_owned, set_managed_fields};
use super::typed::{Comparison, check_unique, compare, drop_new_nulls, fields_of, merge, remove, same};
use super::{ConflictCause, Part, PatchError, Write};
use crate::schema::{Rules, Schema};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The parameters of an apply, besides the object and the configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Apply<'a> {
    /// The kind of the endpoint.
    pub(crate) kind: &'a str,
    /// The manager that applies; `fieldManager` is required for an apply.
    pub(crate) write: Write<'a>,
    /// How to treat fields of other managers.
    pub(crate) on_conflict: OnConflict,
}

/// How an apply treats fields that other managers own and that it would change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnConflict {
    /// Returns an error with the fields and their managers.
    #[default]
    Refuse,
    /// Takes over the fields (`force=true`).
    Force,
}

/// Applies a configuration and returns the object to store, with its `managedFields`.
///
/// Without a live object the result is the object to create; a live object may leave out `apiVersion` and
/// `kind`. Fields that this manager applied before and leaves out now are removed, unless another manager
/// owns them. If the result equals the live object, the apply changed nothing and nothing must be written.
/// `kubectl apply --server-side` on an object that client-side apply created takes over its fields from the
/// last-applied annotation, as on a real server.
pub(crate) fn apply(
    schema: &Schema,
    live: Option<&Value>,
    config: &Value,
    request: &Apply<'_>,
) -> Result<Value, PatchError> {
    check(config, request)?;
    let rules = schema.root();
    let config_error = |error: String| {
        let text = format!(
            "failed to create typed patch object ({}): {error}",
            describe(config)
        );
        PatchError::Internal(text)
    };
    check_unique(config, rules).map_err(config_error)?;
    let config = restrict(config, request.write.part);

    let mut managers = live.and_then(Managers::decode).unwrap_or_default();
    let mut before = live.cloned().unwrap_or_else(|| Value::Object(Map::new()));
    set_managed_fields(&mut before, None);
    if let Some(fields) = before.as_object_mut() {
        fields.insert("apiVersion".to_owned(), request.write.api_version.into());
        fields.insert("kind".to_owned(), request.kind.into());
    }
    if managers.is_empty() && live.is_some() {
        let unknown = Write {
            manager: "before-first-apply",
            ..request.write
        };
        managers.update(schema, None, &before, &unknown);
    }

    let attempt = Attempt {
        rules,
        live: &before,
        config: &config,
        request,
    };
    let (mut object, managers) = match attempt.run(managers.clone(), request.on_conflict) {
        Err(Failure::Conflicts(conflicts)) if request.write.manager == "kubectl" => {
            let allowed = last_applied_fields(&before, request.write.api_version, rules).unwrap_or_default();
            let remaining: Vec<Conflict> = conflicts
                .into_iter()
                .filter(|conflict| !allowed.contains_path(&conflict.path))
                .collect();
            if remaining.is_empty() {
                attempt
                    .run(managers, OnConflict::Force)
                    .map_err(Failure::into_error)?
            } else {
                return Err(Failure::Conflicts(remaining).into_error());
            }
        }
        result => result.map_err(Failure::into_error)?,
    };
    if request.write.manager == "kubectl" {
        refresh_last_applied(&mut object, &config);
    }
    set_managed_fields(&mut object, managers.encode());
    Ok(object)
}

fn check(config: &Value, request: &Apply<'_>) -> Result<(), PatchError> {
    let bad = |text: String| Err(PatchError::BadRequest(text));
    if !config.is_object() {
        return bad("error decoding patch: the configuration is not an object".to_owned());
    }
    if config["apiVersion"] != request.write.api_version || config["kind"] != request.kind {
        return bad(format!("invalid object type: {}", describe_type(config)));
    }
    if config
        .pointer("/metadata/managedFields")
        .is_some_and(|fields| !fields.is_null())
    {
        return bad("metadata.managedFields must be nil".to_owned());
    }
    Ok(())
}

fn describe(config: &Value) -> String {
    let part = |name: &str| config["metadata"][name].as_str().unwrap_or_default();
    format!(
        "{}/{}; {}",
        part("namespace"),
        part("name"),
        describe_type(config)
    )
}

fn describe_type(config: &Value) -> String {
    let version = config["apiVersion"].as_str().unwrap_or_default();
    let slash = if version.contains('/') { "" } else { "/" };
    format!(
        "{slash}{version}, Kind={}",
        config["kind"].as_str().unwrap_or_default()
    )
}

/// Removes the fields that the endpoint does not write; upstream calls them reset fields.
fn restrict(config: &Value, part: Part) -> Value {
    let mut config = config.clone();
    let Some(fields) = config.as_object_mut() else {
        return config;
    };
    match part {
        Part::Whole => {}
        Part::AllButStatus => {
            fields.remove("status");
        }
        Part::Status => fields.retain(|name, _| matches!(name.as_str(), "apiVersion" | "kind" | "status")),
        Part::Scale => {
            let replicas = fields.get("spec").and_then(|spec| spec.get("replicas")).cloned();
            fields.retain(|name, _| matches!(name.as_str(), "apiVersion" | "kind"));
            if let Some(replicas) = replicas {
                fields.insert("spec".to_owned(), json!({ "replicas": replicas }));
            }
        }
    }
    config
}

struct Conflict {
    manager: ManagerId,
    path: Vec<Element>,
}

enum Failure {
    Conflicts(Vec<Conflict>),
    Malformed(String),
}

impl Failure {
    fn into_error(self) -> PatchError {
        let conflicts = match self {
            Failure::Malformed(text) => return PatchError::Internal(text),
            Failure::Conflicts(conflicts) => conflicts,
        };
        let text = |path: &[Element]| path.iter().map(Element::to_string).collect::<String>();
        let causes = conflicts
            .iter()
            .map(|conflict| ConflictCause {
                message: format!("conflict with {}", conflict.manager),
                field: text(&conflict.path),
            })
            .collect();
        let message = match &conflicts[..] {
            [only] => format!(
                "Apply failed with 1 conflict: conflict with {}: {}",
                only.manager,
                text(&only.path)
            ),
            several => {
                let mut lines = Vec::new();
                let mut last = None;
                for conflict in several {
                    if last != Some(&conflict.manager) {
                        lines.push(format!("conflicts with {}:", conflict.manager));
                        last = Some(&conflict.manager);
                    }
                    lines.push(format!("- {}", text(&conflict.path)));
                }
                format!(
                    "Apply failed with {} conflicts: {}",
                    several.len(),
                    lines.join("\n")
                )
            }
        };
        PatchError::Conflict { message, causes }
    }
}

/// One apply to one object; `kubectl` may need two.
struct Attempt<'a> {
    rules: Rules<'a>,
    live: &'a Value,
    config: &'a Value,
    request: &'a Apply<'a>,
}

impl Attempt<'_> {
    fn run(&self, mut managers: Managers, on_conflict: OnConflict) -> Result<(Value, Managers), Failure> {
        let write = self.request.write;
        let id = ManagerId::new(write.manager, Operation::Apply, write.api_version, write.part);
        let merged = merge(self.live, self.config, self.rules)
            .map_err(|error| Failure::Malformed(format!("failed to merge config: {error}")))?
            .unwrap_or_else(|| Value::Object(Map::new()));
        let fields = fields_of(self.config, self.rules).map_err(Failure::Malformed)?;
        let last = managers.0.remove(&id);
        let time = last.as_ref().and_then(|entry| entry.time.clone());
        managers.0.insert(
            id.clone(),
            Entry {
                fields,
                api_version: write.api_version.to_owned(),
                time,
            },
        );
        let object = match &last {
            Some(last) => self.prune(merged, &managers, &last.fields)?,
            None => merged,
        };

        let comparison = compare(self.live, &object, self.rules);
        if on_conflict == OnConflict::Refuse {
            let conflicts = conflicts(&managers, &id, &comparison);
            if !conflicts.is_empty() {
                return Err(Failure::Conflicts(conflicts));
            }
        }
        managers.take(&comparison, Some(&id));
        let object = drop_new_nulls(object, Some(self.live)).unwrap_or_else(|| Value::Object(Map::new()));
        if let Some(entry) = managers.0.get_mut(&id) {
            entry.fields = entry.fields.difference(&never_owned());
            if !same(self.live, &object) {
                entry.time = Some(write.time.to_owned());
            }
        }
        managers.0.retain(|_, entry| !entry.fields.is_empty());
        Ok((object, managers))
    }

    /// Removes the fields that this manager applied last time and no manager owns now.
    fn prune(&self, merged: Value, managers: &Managers, last: &FieldSet) -> Result<Value, Failure> {
        let declared = |fields: &FieldSet| fields.with_declared_fields(self.rules);
        let fields = |value: &Value| fields_of(value, self.rules).map(|fields| declared(&fields));
        let without = |set: &FieldSet| remove(&merged, set, self.rules);

        let last = declared(last);
        let all = fields(&merged).map_err(Failure::Malformed)?;
        let owned = managers
            .0
            .values()
            .fold(FieldSet::default(), |all, entry| all.union(&entry.fields));
        let kept = fields(&without(&last))
            .map_err(Failure::Malformed)?
            .union(&declared(&owned));
        let pruned = without(&all.difference(&kept));
        // Restore fields that were removed but not applied by this manager: it may remove only its fields.
        let kept = fields(&pruned).map_err(Failure::Malformed)?;
        Ok(without(&all.difference(&kept).intersection(&last)))
    }
}

fn conflicts(managers: &Managers, applier: &ManagerId, comparison: &Comparison) -> Vec<Conflict> {
    let changed = comparison.modified.union(&comparison.added);
    let others = managers.0.iter().filter(|(id, _)| *id != applier);
    others
        .flat_map(|(id, entry)| {
            let paths = entry.fields.intersection(&changed).paths();
            paths.into_iter().map(|path| Conflict {
                manager: id.clone(),
                path,
            })
        })
        .collect()
}

/// Returns the fields that client-side apply set and that were not changed since.
fn last_applied_fields(live: &Value, api_version: &str, rules: Rules<'_>) -> Option<FieldSet> {
    let text = live
        .get("metadata")?
        .get("annotations")?
        .get(LAST_APPLIED)?
        .as_str()?;
    let last: Value = serde_json::from_str(text).ok()?;
    if last["apiVersion"] != api_version {
        return None;
    }
    let fields = fields_of(&last, rules).ok()?;
    let Comparison {
        added,
        modified,
        removed,
    } = compare(&last, live, rules);
    Some(
        fields
            .difference(&modified)
            .difference(&added)
            .difference(&removed),
    )
}

/// Updates the annotation of client-side apply, if the object has one.
fn refresh_last_applied(object: &mut Value, config: &Value) {
    let annotations = object
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("annotations"));
    let Some(Value::String(annotation)) =
        annotations.and_then(|annotations| annotations.get_mut(LAST_APPLIED))
    else {
        return;
    };
    let mut config = config.clone();
    if let Some(Value::Object(annotations)) = config.pointer_mut("/metadata/annotations") {
        annotations.remove(LAST_APPLIED);
    }
    *annotation = format!("{config}\n");
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
