//! The order of a merged list: that of `$setElementOrder` or the patch, with the other items of the server in
//! place.

use serde_json::Value;

use super::PatchError;
use super::strategic::{DIRECTIVE, Object, SET_ORDER, added, go_list, merge_lists, no_merge_key};
use crate::schema::{Rules, Strategy};

/// The two orders that a merged list follows; if they differ, the order of the patch is used.
pub(super) struct Order<'a> {
    pub(super) patch: &'a [Value],
    pub(super) current: &'a [Value],
    /// The merge key, or `None` for scalars.
    pub(super) key: Option<&'a str>,
}

impl Order<'_> {
    /// Sorts `merged`. Each of its items is in one of the two lists.
    pub(super) fn arrange(&self, merged: Vec<Value>) -> Result<Vec<Value>, PatchError> {
        if let Some(key) = self.key {
            for item in merged.iter().chain(self.patch).chain(self.current) {
                let fields = item.as_object().ok_or_else(not_identical)?;
                fields.get(key).ok_or_else(|| no_merge_key(fields, key))?;
            }
        }
        let (mut patched, mut kept): (Vec<Value>, Vec<Value>) = merged
            .into_iter()
            .partition(|item| self.position(self.patch, item).is_some());
        patched.sort_by_key(|item| self.position(self.patch, item));
        kept.sort_by_key(|item| self.position(self.current, item));

        let mut arranged = Vec::with_capacity(patched.len() + kept.len());
        let mut patched = patched.into_iter().peekable();
        let mut kept = kept.into_iter().peekable();
        while let (Some(left), Some(right)) = (kept.peek(), patched.peek()) {
            let positions = (
                self.position(self.current, left),
                self.position(self.current, right),
            );
            let keep_first = matches!(positions, (Some(left), Some(right)) if left < right);
            arranged.extend(if keep_first { kept.next() } else { patched.next() });
        }
        arranged.extend(patched);
        arranged.extend(kept);
        Ok(arranged)
    }

    fn position(&self, list: &[Value], item: &Value) -> Option<usize> {
        list.iter().position(|other| match self.key {
            Some(key) => other.get(key).is_some() && other.get(key) == item.get(key),
            None => other == item,
        })
    }
}

/// Merges the lists that have a `$setElementOrder/<list>` directive, and removes both from the patch.
pub(super) fn merge_ordered_lists(
    original: &mut Object,
    patch: &mut Object,
    rules: Rules<'_>,
) -> Result<(), PatchError> {
    let directives: Vec<String> = patch
        .keys()
        .filter(|key| key.starts_with(SET_ORDER))
        .cloned()
        .collect();
    for directive in directives {
        let Some(order) = take_list(patch, &directive)? else {
            continue;
        };
        let name = &directive[SET_ORDER.len()..];
        let field = rules.field(name);
        let key = match field.strategy() {
            Strategy::MergeBy(key) => Some(key.as_str()),
            Strategy::Default | Strategy::MergeScalars | Strategy::Replace => None,
        };
        let current = take_list(original, name)?;
        let changes = take_list(patch, name)?;
        check_order(changes.as_deref().unwrap_or_default(), &order, key)?;
        let before = current.clone().unwrap_or_default();
        let merged = match (current, changes) {
            (None, None) => continue,
            (Some(current), None) => current,
            (None, Some(changes)) => changes.into_iter().filter_map(added).collect(),
            (Some(current), Some(changes)) => merge_lists(current, changes, field)?,
        };
        let arranged = Order {
            patch: &order,
            current: &before,
            key,
        }
        .arrange(merged)?;
        original.insert(name.to_owned(), Value::Array(arranged));
    }
    Ok(())
}

fn take_list(object: &mut Object, name: &str) -> Result<Option<Vec<Value>>, PatchError> {
    match object.remove(name) {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(other) => {
            let kind = match other {
                Value::String(_) => "string",
                Value::Object(_) => "map[string]interface {}",
                Value::Bool(_) => "bool",
                Value::Number(_) => "int64",
                Value::Array(_) | Value::Null => "%!s(<nil>)",
            };
            Err(PatchError::Internal(format!(
                "expected a []interface {{}}, but received a {kind}"
            )))
        }
    }
}

/// Checks that the items of the patch are in the order of the directive, and that the directive names all of
/// them.
fn check_order(changes: &[Value], order: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    let same = |left: &Value, right: &Value| match key {
        Some(key) => left.get(key) == right.get(key),
        None => left == right,
    };
    let mut remaining = order.iter();
    for item in changes.iter().filter(|item| item.get(DIRECTIVE).is_none()) {
        if order.is_empty() {
            return Ok(());
        }
        if !remaining.any(|expected| same(item, expected)) {
            return Err(PatchError::Internal(format!(
                "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                go_list(changes),
                go_list(order)
            )));
        }
    }
    Ok(())
}

fn not_identical() -> PatchError {
    PatchError::Internal("list element types are not identical".to_owned())
}
