//! The operations of server-side apply on values: list, compare, merge and remove fields by the rules of a
//! schema.
//!
//! Follows `sigs.k8s.io/structured-merge-diff/typed`. Unlike upstream, values are not validated against the
//! schema: an unknown field is treated as a plain one.

use serde_json::{Map, Value};

use super::field_set::{Element, FieldSet, Scalar};
use crate::schema::{Granularity, ListKey, ListRule, Rules};

type Object = Map<String, Value>;

/// Returns the fields that an applied configuration sets.
pub(crate) fn fields_of(value: &Value, rules: Rules<'_>) -> Result<FieldSet, String> {
    Ok(owned(value, rules)?.below)
}

/// Adds the path of an applied value and the paths below it.
struct Owned {
    is_leaf: bool,
    below: FieldSet,
}

fn owned(value: &Value, rules: Rules<'_>) -> Result<Owned, String> {
    let leaf = Owned {
        is_leaf: true,
        below: FieldSet::default(),
    };
    let mut below = FieldSet::default();
    match value {
        Value::Object(fields) if rules.object() == Granularity::Granular && !fields.is_empty() => {
            for (name, value) in fields {
                let field = owned(value, rules.field(name))?;
                if field.is_leaf || !rules.declares(name) {
                    below.insert(Element::field(name));
                }
                below.insert_below(Element::field(name), field.below);
            }
        }
        Value::Array(items) if rules.list() != &ListRule::Atomic => {
            for (element, item) in elements(items, rules.list())? {
                let item = owned(item, rules.item())?;
                below.insert(element.clone());
                below.insert_below(element, item.below);
            }
        }
        _ => return Ok(leaf),
    }
    Ok(Owned {
        is_leaf: false,
        below,
    })
}

/// Returns the path element of each item of a list that is not atomic.
fn elements<'v>(items: &'v [Value], rule: &ListRule) -> Result<Vec<(Element, &'v Value)>, String> {
    let name = |(position, item)| {
        let element = element_of(item, rule).map_err(|error| format!("element {position}: {error}"))?;
        Ok((element, item))
    };
    items.iter().enumerate().map(name).collect()
}

fn element_of(item: &Value, rule: &ListRule) -> Result<Element, String> {
    match (rule, item) {
        (ListRule::Keyed(keys), Value::Object(fields)) => {
            let value_of = |key: &ListKey| {
                let default = || key.default.clone().map(Value::String);
                let value = fields.get(&key.name).cloned().or_else(default)?;
                Some((key.name.clone(), Scalar(value)))
            };
            let mut found: Vec<_> = keys.iter().filter_map(value_of).collect();
            if found.is_empty() {
                let names: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
                return Err(format!(
                    "associative list with keys has an element that omits all key fields {names:?} \
                     (and doesn't have default values for any key fields)"
                ));
            }
            found.sort();
            Ok(Element::Key(found))
        }
        (ListRule::Keyed(_), Value::Null) => {
            Err("associative list with keys may not have a null element".to_owned())
        }
        (ListRule::Keyed(_), _) => Err("associative list with keys may not have non-map elements".to_owned()),
        (_, Value::Object(_)) => {
            Err("associative list without keys has an element that's a map type".to_owned())
        }
        (_, Value::Array(_)) => Err("not supported: associative list with lists as elements".to_owned()),
        (_, Value::Null) => {
            Err("associative list without keys has an element that's an explicit null".to_owned())
        }
        (_, scalar) => Ok(Element::Value(Scalar(scalar.clone()))),
    }
}

/// Refuses a configuration that contains an item of a list twice.
pub(crate) fn check_unique(value: &Value, rules: Rules<'_>) -> Result<(), String> {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                check_unique(value, rules.field(name)).map_err(|error| format!(".{name}{error}"))?;
            }
            Ok(())
        }
        Value::Array(items) if rules.list() != &ListRule::Atomic => {
            let mut seen = std::collections::BTreeSet::new();
            for (element, item) in elements(items, rules.list()).map_err(|error| format!(": {error}"))? {
                check_unique(item, rules.item()).map_err(|error| format!("{element}{error}"))?;
                let text = element.to_string();
                if !seen.insert(element) {
                    return Err(format!(": duplicate entries for key {text}"));
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// How two objects differ, by path.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) added: FieldSet,
    pub(crate) modified: FieldSet,
    pub(crate) removed: FieldSet,
}

pub(crate) fn compare(old: &Value, new: &Value, rules: Rules<'_>) -> Comparison {
    let mut comparison = Comparison::default();
    Differ {
        comparison: &mut comparison,
        path: Vec::new(),
    }
    .walk(Some(old), Some(new), rules);
    comparison
}

struct Differ<'c> {
    comparison: &'c mut Comparison,
    path: Vec<Element>,
}

impl Differ<'_> {
    fn walk(&mut self, old: Option<&Value>, new: Option<&Value>, rules: Rules<'_>) {
        let (old_items, new_items) = (children(old, rules), children(new, rules));
        let is_leaf = old_items.is_empty() && new_items.is_empty();
        let both = old.zip(new).filter(|(old, new)| !old.is_null() && !new.is_null());
        let changed_kind = both
            .is_some_and(|(old, new)| old.is_object() != new.is_object() || old.is_array() != new.is_array());
        match (old, new) {
            (None, _) => self.comparison.added.insert_path(&self.path),
            (_, None) => self.comparison.removed.insert_path(&self.path),
            (Some(old), Some(new)) if (is_leaf || changed_kind) && !same(old, new) => {
                self.comparison.modified.insert_path(&self.path);
            }
            _ => {}
        }
        for (element, child) in &old_items {
            let other = new_items
                .iter()
                .find(|(other, _)| other == element)
                .map(|(_, child)| *child);
            self.step(element, Some(child), other, rules);
        }
        for (element, child) in &new_items {
            if !old_items.iter().any(|(other, _)| other == element) {
                self.step(element, None, Some(child), rules);
            }
        }
    }

    fn step(&mut self, element: &Element, old: Option<&Value>, new: Option<&Value>, rules: Rules<'_>) {
        let rules = below(element, rules);
        self.path.push(element.clone());
        self.walk(old, new, rules);
        self.path.pop();
    }
}

fn below<'s>(element: &Element, rules: Rules<'s>) -> Rules<'s> {
    match element {
        Element::Field(name) => rules.field(name),
        Element::Key(_) | Element::Value(_) | Element::Index(_) => rules.item(),
    }
}

/// Returns the parts of a value that are compared individually; none if it is a leaf or empty. Of duplicate
/// items only the first counts, and a list with an item that cannot be identified is a leaf.
fn children<'v>(value: Option<&'v Value>, rules: Rules<'_>) -> Vec<(Element, &'v Value)> {
    match value {
        Some(Value::Object(fields)) if rules.object() == Granularity::Granular => fields
            .iter()
            .map(|(name, value)| (Element::field(name), value))
            .collect(),
        Some(Value::Array(items)) if rules.list() != &ListRule::Atomic => {
            let mut unique: Vec<(Element, &Value)> = Vec::new();
            for (element, item) in elements(items, rules.list()).unwrap_or_default() {
                if !unique.iter().any(|(other, _)| *other == element) {
                    unique.push((element, item));
                }
            }
            unique
        }
        _ => Vec::new(),
    }
}

/// Equality in which 1 equals 1.0.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(_), Value::Number(_)) => Scalar(left.clone()) == Scalar(right.clone()),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(name, left)| right.get(name).is_some_and(|right| same(left, right)))
        }
        _ => left == right,
    }
}

/// Merges an applied configuration into an object. A null in the configuration removes a leaf and keeps
/// everything else.
pub(crate) fn merge(live: &Value, config: &Value, rules: Rules<'_>) -> Result<Option<Value>, String> {
    Ok(match (live, config) {
        (Value::Object(live), Value::Object(config)) if rules.object() == Granularity::Granular => {
            let mut merged = live.clone();
            for (name, value) in config {
                let value = match live.get(name) {
                    Some(live) => merge(live, value, rules.field(name))?,
                    None => without_nulls(value),
                };
                match value {
                    Some(value) => merged.insert(name.clone(), value),
                    None => merged.remove(name),
                };
            }
            Some(Value::Object(merged))
        }
        (Value::Array(live), Value::Array(config)) if rules.list() != &ListRule::Atomic => {
            Some(Value::Array(merge_lists(live, config, rules)?))
        }
        (Value::Object(_), Value::Null) if rules.object() == Granularity::Granular => Some(live.clone()),
        (Value::Array(_), Value::Null) if rules.list() != &ListRule::Atomic => Some(live.clone()),
        (_, config) => without_nulls(config),
    })
}

fn without_nulls(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), without_nulls(value)?)));
            Some(Value::Object(fields.collect()))
        }
        Value::Array(items) => Some(Value::Array(items.iter().filter_map(without_nulls).collect())),
        scalar => Some(scalar.clone()),
    }
}

/// Merges item by item. The items of the configuration keep its order; the others keep their places between
/// them.
fn merge_lists(live: &[Value], config: &[Value], rules: Rules<'_>) -> Result<Vec<Value>, String> {
    let left = elements(live, rules.list())?;
    let right = elements(config, rules.list())?;
    let find =
        |list: &[(Element, &Value)], element: &Element| list.iter().position(|(other, _)| other == element);
    let mut shared = right
        .iter()
        .map(|(element, _)| element)
        .filter(|element| find(&left, element).is_some());
    let mut next_shared = shared.next();
    let mut merged = Vec::new();
    let (mut l, mut r) = (0, 0);
    while l < left.len() || r < right.len() {
        if l < left.len() {
            let (element, item) = &left[l];
            let Some(position) = find(&right, element) else {
                merged.push((*item).clone());
                l += 1;
                continue;
            };
            // An item of both lists: it is merged now, or later in the order of the configuration, or was
            // merged before.
            let waits = position != r && r < right.len() && next_shared.is_some_and(|next| next != element);
            if position <= r || waits {
                l += 1;
            }
            if waits {
                continue;
            }
        }
        if r < right.len() {
            let (element, item) = &right[r];
            let item = match find(&left, element) {
                Some(position) => merge(left[position].1, item, rules.item())?,
                None => without_nulls(item),
            };
            merged.extend(item);
            if next_shared == Some(element) {
                next_shared = shared.next();
            }
            r += 1;
        }
    }
    Ok(merged)
}

/// Removes the fields of a set from a value. A value that becomes empty is set to null, not removed, because
/// its owners may differ from those of its fields. [`drop_new_nulls`] removes such nulls afterwards.
pub(crate) fn remove(value: &Value, fields: &FieldSet, rules: Rules<'_>) -> Value {
    match value {
        Value::Object(entries) if rules.object() == Granularity::Granular && !entries.is_empty() => {
            let kept = entries.iter().filter_map(|(name, value)| {
                let value = remove_one(&Element::field(name), value, fields, rules.field(name))?;
                Some((name.clone(), value))
            });
            let kept: Object = kept.collect();
            if kept.is_empty() {
                Value::Null
            } else {
                Value::Object(kept)
            }
        }
        Value::Array(items) if rules.list() != &ListRule::Atomic && !items.is_empty() => {
            let kept = items
                .iter()
                .filter_map(|item| match element_of(item, rules.list()) {
                    Ok(element) => remove_one(&element, item, fields, rules.item()),
                    Err(_) => Some(item.clone()),
                });
            let kept: Vec<Value> = kept.collect();
            if kept.is_empty() {
                Value::Null
            } else {
                Value::Array(kept)
            }
        }
        Value::Object(_) | Value::Array(_) => Value::Null,
        scalar => scalar.clone(),
    }
}

fn remove_one(element: &Element, value: &Value, fields: &FieldSet, rules: Rules<'_>) -> Option<Value> {
    if fields.contains(element) {
        return None;
    }
    match fields.below(element) {
        Some(below) => Some(remove(value, below, rules)),
        None => Some(value.clone()),
    }
}

/// Removes the nulls that are not in the live object.
pub(crate) fn drop_new_nulls(value: Value, live: Option<&Value>) -> Option<Value> {
    if live == Some(&value) {
        return Some(value);
    }
    match value {
        Value::Null => None,
        Value::Object(fields) => {
            let fields = fields.into_iter().filter_map(|(name, value)| {
                let live = live.and_then(|live| live.get(&name));
                Some((name, drop_new_nulls(value, live)?))
            });
            Some(Value::Object(fields.collect()))
        }
        Value::Array(items) => {
            let same_in_live = |item: &Value| {
                live.and_then(Value::as_array)
                    .and_then(|live| live.iter().find(|other| *other == item))
            };
            let items = items.into_iter().filter_map(|item| {
                let live = same_in_live(&item);
                drop_new_nulls(item, live)
            });
            Some(Value::Array(items.collect()))
        }
        scalar => Some(scalar),
    }
}

#[cfg(test)]
#[path = "typed_tests.rs"]
mod tests;
