//! Strategic merge patch: a merge patch that uses the keys of lists of built-in kinds.
//!
//! Follows `k8s.io/apimachinery/pkg/util/strategicpatch`, including its error texts.

use serde_json::{Map, Value};

use super::PatchError;
use super::strategic_order::{Order, merge_ordered_lists};
use crate::schema::{Rules, Schema, Strategy};

pub(super) const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList/";
pub(super) const SET_ORDER: &str = "$setElementOrder/";

pub(super) type Object = Map<String, Value>;

/// Applies a strategic merge patch.
///
/// Lists with a merge key are merged item by item, lists of scalars with the merge strategy are joined, other
/// lists are replaced; the directives `$patch`, `$retainKeys`, `$setElementOrder/...` and
/// `$deleteFromPrimitiveList/...` are supported. Custom kinds have no strategic merge: the answer is 415, as
/// from the API server.
pub(crate) fn strategic_merge(schema: &Schema, object: &Value, patch: &Value) -> Result<Value, PatchError> {
    if !schema.knows_strategic_merge() {
        return Err(PatchError::UnsupportedMediaType(
            "the body of the request was in an unknown format - accepted media types include: \
             application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
                .to_owned(),
        ));
    }
    let (Value::Object(object), Value::Object(patch)) = (object, patch) else {
        return Err(PatchError::BadRequest("invalid JSON document".to_owned()));
    };
    merge_objects(object.clone(), patch.clone(), schema.root()).map(Value::Object)
}

fn merge_objects(mut original: Object, mut patch: Object, rules: Rules<'_>) -> Result<Object, PatchError> {
    match patch.get(DIRECTIVE) {
        None => {}
        Some(directive) if directive == "replace" => return Ok(plain_fields(patch)),
        Some(directive) if directive == "delete" => return Ok(Object::new()),
        Some(directive) => return Err(unknown_directive(directive, &patch)),
    }
    if let Some(keys) = patch.remove(RETAIN_KEYS) {
        retain_keys(&mut original, &patch, &keys)?;
    }
    merge_ordered_lists(&mut original, &mut patch, rules)?;
    for (key, value) in patch {
        if let Some(list) = key.strip_prefix(DELETE_FROM_LIST) {
            delete_scalars(&mut original, list, &value);
        } else if value.is_null() {
            original.remove(&key);
        } else {
            let merged = match original.remove(&key) {
                None => added(value),
                Some(current) => merge_values(current, value, rules.field(&key))?,
            };
            merged.and_then(|merged| original.insert(key, merged));
        }
    }
    Ok(original)
}

/// Merges a field that both sides have; `None` if the patch is only a directive.
fn merge_values(current: Value, patch: Value, rules: Rules<'_>) -> Result<Option<Value>, PatchError> {
    Ok(match (current, patch) {
        (Value::Object(_), patch @ Value::Object(_)) if rules.strategy() == &Strategy::Replace => {
            added(patch)
        }
        (Value::Object(current), Value::Object(patch)) => {
            Some(Value::Object(merge_objects(current, patch, rules)?))
        }
        (Value::Array(current), Value::Array(patch)) => {
            Some(Value::Array(merge_lists(current, patch, rules)?))
        }
        (_, patch) => added(patch),
    })
}

/// Returns a patch value without nulls and directives.
pub(super) fn added(patch: Value) -> Option<Value> {
    match patch {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => Some(Value::Object(plain_fields(fields))),
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(added).collect())),
        scalar => Some(scalar),
    }
}

fn plain_fields(fields: Object) -> Object {
    let is_plain = |key: &str, value: &Value| !value.is_null() && !key.starts_with('$');
    let fields = fields.into_iter().filter(|(key, value)| is_plain(key, value));
    fields
        .filter_map(|(key, value)| Some((key, added(value)?)))
        .collect()
}

pub(super) fn merge_lists(
    mut current: Vec<Value>,
    patch: Vec<Value>,
    rules: Rules<'_>,
) -> Result<Vec<Value>, PatchError> {
    match rules.strategy() {
        Strategy::Default | Strategy::Replace => Ok(patch.into_iter().filter_map(added).collect()),
        Strategy::MergeScalars => {
            let before = current.clone();
            for item in &patch {
                if !current.contains(item) {
                    current.push(item.clone());
                }
            }
            let order = Order {
                patch: &patch,
                current: &before,
                key: None,
            };
            order.arrange(current)
        }
        Strategy::MergeBy(_) if current.is_empty() && patch.is_empty() => Ok(current),
        Strategy::MergeBy(key) => merge_keyed_lists(current, patch, key, rules),
    }
}

fn merge_keyed_lists(
    mut current: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
    rules: Rules<'_>,
) -> Result<Vec<Value>, PatchError> {
    let mut replace = false;
    let mut items = Vec::new();
    for item in patch {
        let Value::Object(fields) = item else {
            return Err(PatchError::Internal(
                "list element types are not identical".to_owned(),
            ));
        };
        match fields.get(DIRECTIVE) {
            None => items.push(fields),
            Some(directive) if directive == "delete" => {
                let value = fields.get(key).ok_or_else(|| no_merge_key(&fields, key))?;
                current.retain(|other| other.get(key) != Some(value));
            }
            Some(directive) if directive == "replace" => replace = true,
            Some(directive) if directive == "merge" => {
                let text = "merging lists cannot yet be specified in the patch";
                return Err(PatchError::Internal(text.to_owned()));
            }
            Some(directive) => return Err(unknown_directive(directive, &fields)),
        }
    }
    if replace {
        return Ok(items.into_iter().map(plain_fields).map(Value::Object).collect());
    }
    let before = current.clone();
    let order: Vec<Value> = items.iter().cloned().map(Value::Object).collect();
    for fields in items {
        let value = fields.get(key).ok_or_else(|| no_merge_key(&fields, key))?;
        match current.iter_mut().find(|other| other.get(key) == Some(value)) {
            Some(Value::Object(found)) => {
                *found = merge_objects(std::mem::take(found), fields, rules.item())?;
            }
            Some(_) | None => current.push(Value::Object(plain_fields(fields))),
        }
    }
    Order {
        patch: &order,
        current: &before,
        key: Some(key),
    }
    .arrange(current)
}

/// Applies `$deleteFromPrimitiveList/<list>`. Values that are not lists are ignored, as upstream does.
fn delete_scalars(original: &mut Object, list: &str, items: &Value) {
    if let (Some(Value::Array(current)), Value::Array(items)) = (original.get_mut(list), items) {
        current.retain(|item| !items.contains(item));
    }
}

/// Applies `$retainKeys`: removes the fields that the list does not name; the patch may set only those.
fn retain_keys(original: &mut Object, patch: &Object, keys: &Value) -> Result<(), PatchError> {
    let bad = || PatchError::BadRequest("invalid patch format of retainKeys".to_owned());
    let keys = keys.as_array().ok_or_else(bad)?;
    let retained = |name: &str| keys.iter().any(|key| key == name);
    for (name, value) in patch {
        let directive = name.starts_with(DELETE_FROM_LIST) || name.starts_with(SET_ORDER);
        if !value.is_null() && !directive && !retained(name) {
            return Err(bad());
        }
    }
    original.retain(|name, _| retained(name));
    Ok(())
}

pub(super) fn no_merge_key(item: &Object, key: &str) -> PatchError {
    PatchError::Internal(format!(
        "map: {} does not contain declared merge key: {key}",
        go_map(item)
    ))
}

fn unknown_directive(directive: &Value, item: &Object) -> PatchError {
    PatchError::Internal(format!(
        "unknown patch type: {} in map: {}",
        go_text(directive),
        go_map(item)
    ))
}

/// Formats a value as Go does, because messages of the API server quote patches that way.
fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Object(fields) => go_map(fields),
        Value::Array(items) => go_list(items),
        scalar => scalar.to_string(),
    }
}

fn go_map(fields: &Object) -> String {
    let mut fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}:{}", go_text(value)))
        .collect();
    fields.sort();
    format!("map[{}]", fields.join(" "))
}

pub(super) fn go_list(items: &[Value]) -> String {
    format!("[{}]", items.iter().map(go_text).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
#[path = "strategic_tests.rs"]
mod tests;
