//! Sets of field paths, and their JSON form in `metadata.managedFields` (`fieldsV1`).
//!
//! Follows `sigs.k8s.io/structured-merge-diff/fieldpath`, whose order of elements decides the order of
//! conflicts.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value};

use crate::schema::Rules;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Element {
    /// `f:name`: a field of an object.
    Field(String),
    /// `k:{...}`: the item of a list with these keys, sorted by name.
    Key(Vec<(String, Scalar)>),
    /// `v:...`: the item of a set.
    Value(Scalar),
    /// `i:0`: the item at a position.
    Index(i64),
}

impl Element {
    pub(crate) fn field(name: &str) -> Element {
        Element::Field(name.to_owned())
    }

    fn encode(&self) -> String {
        match self {
            Element::Field(name) => format!("f:{name}"),
            Element::Key(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), value.0))
                    .collect();
                format!("k:{{{}}}", fields.join(","))
            }
            Element::Value(value) => format!("v:{}", value.0),
            Element::Index(index) => format!("i:{index}"),
        }
    }

    fn decode(text: &str) -> Option<Element> {
        let (kind, rest) = text.split_once(':')?;
        Some(match kind {
            "f" => Element::Field(rest.to_owned()),
            "k" => {
                let fields: Map<String, Value> = serde_json::from_str(rest).ok()?;
                let mut fields: Vec<_> = fields
                    .into_iter()
                    .map(|(name, value)| (name, Scalar(value)))
                    .collect();
                fields.sort();
                Element::Key(fields)
            }
            "v" => Element::Value(Scalar(serde_json::from_str(rest).ok()?)),
            "i" => Element::Index(rest.parse().ok()?),
            _ => return None,
        })
    }
}

/// As in the messages of the API server: `.spec`, `[name="web"]`, `[="finalizer"]`.
impl fmt::Display for Element {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Field(name) => write!(formatter, ".{name}"),
            Element::Key(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| format!("{name}={}", value.0))
                    .collect();
                write!(formatter, "[{}]", fields.join(","))
            }
            Element::Value(value) => write!(formatter, "[={}]", value.0),
            Element::Index(index) => write!(formatter, "[{index}]"),
        }
    }
}

/// A value that identifies an item of a list, in upstream's order: numbers, strings, booleans, others.
#[derive(Clone, Debug)]
pub(crate) struct Scalar(pub(crate) Value);

impl Scalar {
    fn rank(&self) -> u8 {
        match self.0 {
            Value::Number(_) => 0,
            Value::String(_) => 1,
            Value::Bool(_) => 2,
            Value::Array(_) => 3,
            Value::Object(_) => 4,
            Value::Null => 5,
        }
    }
}

impl Ord for Scalar {
    fn cmp(&self, other: &Scalar) -> Ordering {
        match (&self.0, &other.0) {
            (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
                (Some(left), Some(right)) => left.cmp(&right),
                _ => left
                    .as_f64()
                    .unwrap_or(f64::MAX)
                    .total_cmp(&right.as_f64().unwrap_or(f64::MAX)),
            },
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
            (left, right) => self
                .rank()
                .cmp(&other.rank())
                .then_with(|| left.to_string().cmp(&right.to_string())),
        }
    }
}

impl PartialOrd for Scalar {
    fn partial_cmp(&self, other: &Scalar) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Scalar) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Scalar {}

/// A set of paths. A path in the set does not imply the paths below or above it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    members: BTreeSet<Element>,
    /// Sets below an element; never empty ones.
    children: BTreeMap<Element, FieldSet>,
}

impl FieldSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.is_empty()
    }

    pub(crate) fn insert(&mut self, element: Element) {
        self.members.insert(element);
    }

    /// Adds all of `below` under `element`.
    pub(crate) fn insert_below(&mut self, element: Element, below: FieldSet) {
        if !below.is_empty() {
            self.children.entry(element).or_default().extend(below);
        }
    }

    pub(crate) fn insert_path(&mut self, path: &[Element]) {
        match path {
            [] => {}
            [last] => self.insert(last.clone()),
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert_path(rest),
        }
    }

    pub(crate) fn contains(&self, element: &Element) -> bool {
        self.members.contains(element)
    }

    pub(crate) fn contains_path(&self, path: &[Element]) -> bool {
        match path {
            [] => false,
            [last] => self.contains(last),
            [first, rest @ ..] => self.below(first).is_some_and(|below| below.contains_path(rest)),
        }
    }

    pub(crate) fn below(&self, element: &Element) -> Option<&FieldSet> {
        self.children.get(element)
    }

    fn extend(&mut self, other: FieldSet) {
        self.members.extend(other.members);
        for (element, below) in other.children {
            self.children.entry(element).or_default().extend(below);
        }
    }

    pub(crate) fn union(&self, other: &FieldSet) -> FieldSet {
        let mut union = self.clone();
        union.extend(other.clone());
        union
    }

    pub(crate) fn intersection(&self, other: &FieldSet) -> FieldSet {
        let members = self.members.intersection(&other.members).cloned().collect();
        let children = self.children.iter().filter_map(|(element, below)| {
            let common = below.intersection(other.below(element)?);
            (!common.is_empty()).then(|| (element.clone(), common))
        });
        FieldSet {
            members,
            children: children.collect(),
        }
    }

    pub(crate) fn difference(&self, other: &FieldSet) -> FieldSet {
        let members = self.members.difference(&other.members).cloned().collect();
        let children = self.children.iter().filter_map(|(element, below)| {
            let rest = match other.below(element) {
                Some(other) => below.difference(other),
                None => below.clone(),
            };
            (!rest.is_empty()).then(|| (element.clone(), rest))
        });
        FieldSet {
            members,
            children: children.collect(),
        }
    }

    /// Returns the set plus every declared field that has paths below it: an owner of `a.b.c` then owns `a`
    /// too if `a` is a field of a struct, but not if it is an entry of a map.
    pub(crate) fn with_declared_fields(&self, rules: Rules<'_>) -> FieldSet {
        let mut set = FieldSet {
            members: self.members.clone(),
            children: BTreeMap::new(),
        };
        for (element, below) in &self.children {
            let below_rules = match element {
                Element::Field(name) => {
                    if rules.declares(name) {
                        set.insert(element.clone());
                    }
                    rules.field(name)
                }
                Element::Key(_) | Element::Value(_) | Element::Index(_) => rules.item(),
            };
            set.children
                .insert(element.clone(), below.with_declared_fields(below_rules));
        }
        set
    }

    /// Returns all paths, parents before children.
    pub(crate) fn paths(&self) -> Vec<Vec<Element>> {
        let mut paths: Vec<Vec<Element>> = self.members.iter().map(|element| vec![element.clone()]).collect();
        for (element, below) in &self.children {
            paths.extend(below.paths().into_iter().map(|mut path| {
                path.insert(0, element.clone());
                path
            }));
        }
        paths
    }

    /// Returns the `fieldsV1` form.
    pub(crate) fn encode(&self) -> Value {
        let mut fields: Map<String, Value> = self
            .members
            .iter()
            .map(|element| (element.encode(), Value::Object(Map::new())))
            .collect();
        for (element, below) in &self.children {
            let mut value = below.encode();
            if self.members.contains(element) {
                value["."] = Value::Object(Map::new());
            }
            fields.insert(element.encode(), value);
        }
        Value::Object(fields)
    }

    /// Reads the `fieldsV1` form; `None` if it is not one. Elements of an unknown type are skipped, as
    /// upstream does.
    pub(crate) fn decode(fields: &Value) -> Option<FieldSet> {
        let mut set = FieldSet::default();
        for (text, below) in fields.as_object()? {
            if text == "." {
                continue;
            }
            let Some(element) = Element::decode(text) else {
                continue;
            };
            let below_fields = below.as_object()?;
            if below_fields.is_empty() || below_fields.contains_key(".") {
                set.insert(element.clone());
            }
            set.insert_below(element, FieldSet::decode(below)?);
        }
        Some(set)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_v1_survives_a_round_trip() {
        let fields = json!({
            "f:metadata": {"f:finalizers": {".": {}, "v:\"a/b\"": {}}, "f:labels": {"f:app": {}}},
            "f:spec": {"f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:name": {}}}},
        });
        let set = FieldSet::decode(&fields).expect("it is fieldsV1");
        assert_eq!(set.encode(), fields);
        let paths: Vec<String> = set
            .paths()
            .iter()
            .map(|path| path.iter().map(Element::to_string).collect())
            .collect();
        assert_eq!(
            paths,
            [
                ".metadata.finalizers",
                ".metadata.finalizers[=\"a/b\"]",
                ".metadata.labels.app",
                ".spec.ports[containerPort=80,protocol=\"TCP\"]",
                ".spec.ports[containerPort=80,protocol=\"TCP\"].name",
            ]
        );
    }

    #[test]
    fn difference_and_intersection_look_at_each_path_alone() {
        let decode = |fields: Value| FieldSet::decode(&fields).expect("it is fieldsV1");
        let left = decode(json!({"f:a": {".": {}, "f:b": {}, "f:c": {}}, "f:d": {}}));
        let right = decode(json!({"f:a": {"f:b": {}}, "f:d": {"f:e": {}}}));
        assert_eq!(
            left.difference(&right),
            decode(json!({"f:a": {".": {}, "f:c": {}}, "f:d": {}}))
        );
        assert_eq!(left.intersection(&right), decode(json!({"f:a": {"f:b": {}}})));
        assert!(left.difference(&left).is_empty());
    }
}
