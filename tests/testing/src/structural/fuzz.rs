//! Random objects of a structural schema.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value, json};

use super::{META, additional, default, is, is_embedded, preserves, properties, required};
use crate::rng::Rng;

/// The most values of one object, so that schemas with pod templates give objects of a bounded size.
const MAX_VALUES: u32 = 2_000;

/// How an object differs from a valid one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variation {
    /// It is valid.
    Valid,
    /// Required properties are missing, as in an object that is older than its schema.
    Missing,
    /// Properties are null, also where the schema does not allow it.
    Null,
    /// Objects have properties that the schema does not name, and enums values.
    Unknown,
    /// All of these.
    Everything,
}

impl Variation {
    /// Every variation.
    pub const ALL: [Self; 5] = [
        Self::Valid,
        Self::Missing,
        Self::Null,
        Self::Unknown,
        Self::Everything,
    ];

    fn has(self, other: Self) -> bool {
        self == other || self == Self::Everything
    }
}

/// A source of random objects. One seed always gives the same ones.
///
/// It prefers properties that it has not used before, so that a few objects use every property of a schema.
#[derive(Debug)]
pub struct Fuzzer {
    rng: Rng,
    /// The hashes of the paths that were used.
    used: HashSet<u64>,
    variation: Variation,
    values: u32,
}

impl Fuzzer {
    /// Returns a source with this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            used: HashSet::new(),
            variation: Variation::Valid,
            values: 0,
        }
    }

    /// Returns an object of a kind with this schema.
    pub fn object(&mut self, api_version: &str, kind: &str, schema: &Value, variation: Variation) -> Value {
        self.variation = variation;
        self.values = 0;
        let mut object = self.fields(schema, &META, 0);
        object.insert("apiVersion".to_owned(), api_version.into());
        object.insert("kind".to_owned(), kind.into());
        let metadata = json!({ "name": "a", "labels": { "a": "b" }, "resourceVersion": "7", "uid": "u" });
        object.insert("metadata".to_owned(), metadata);
        Value::Object(object)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.rng.below(100) < percent
    }

    fn one_of<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        choices.get(self.rng.below(choices.len() as u64) as usize)
    }

    /// The properties of an object, except those in `reserved`.
    fn fields(&mut self, schema: &Value, reserved: &[&str], path: u64) -> Map<String, Value> {
        let mut fields = Map::new();
        let is_required = |name: &str| required(schema).any(|required| required == name);
        let own = properties(schema).into_iter().flatten();
        for (name, property) in own.filter(|(name, _)| !reserved.contains(&name.as_str())) {
            let path = hash(path, name);
            let is_missing = match is_required(name) && default(property).is_none() {
                true => self.variation.has(Variation::Missing) && self.chance(30),
                false => !self.takes(path),
            };
            if is_missing {
                continue;
            }
            let value = match self.variation.has(Variation::Null) && self.chance(20) {
                true => Value::Null,
                false => self.value(property, path),
            };
            fields.insert(name.clone(), value);
        }
        if self.variation.has(Variation::Unknown) && self.chance(60) {
            fields.insert("un-known".to_owned(), self.anything(0));
            fields.insert("rest".to_owned(), self.anything(0));
        } else if preserves(schema) && self.chance(50) {
            fields.insert("preserved".to_owned(), self.anything(0));
        }
        fields
    }

    /// Whether an optional property is used.
    fn takes(&mut self, path: u64) -> bool {
        if self.values > MAX_VALUES {
            return false;
        }
        self.used.insert(path) || self.chance(25)
    }

    fn value(&mut self, schema: &Value, path: u64) -> Value {
        self.values += 1;
        if is(schema, "nullable") && self.chance(15) {
            return Value::Null;
        }
        if is(schema, "x-kubernetes-int-or-string") || is_either(schema) {
            return self.int_or_string(schema);
        }
        let allowed = schema.get("enum").and_then(Value::as_array);
        let allowed: Vec<&Value> = allowed
            .into_iter()
            .flatten()
            .filter(|value| !value.is_null())
            .collect();
        if let Some(value) = self.one_of(&allowed) {
            // A newer server may have more values.
            let is_newer = value.is_string() && self.variation.has(Variation::Unknown) && self.chance(10);
            return match is_newer {
                true => json!("AValueOfTheFuture"),
                false => (*value).clone(),
            };
        }
        match schema.get("type").and_then(Value::as_str) {
            Some("string") => self.string(schema),
            Some("integer") => self.integer(schema),
            Some("number") => self.number(),
            Some("boolean") => self.chance(50).into(),
            Some("array") => self.array(schema, path),
            Some("object") => self.map(schema, path),
            _ if is_embedded(schema) || properties(schema).is_some() => self.map(schema, path),
            _ => self.anything(0),
        }
    }

    fn array(&mut self, schema: &Value, path: u64) -> Value {
        let Some(items) = schema.get("items") else {
            return json!([1, "a"]);
        };
        let path = hash(path, "[]");
        let length = if self.values > MAX_VALUES {
            0
        } else {
            self.rng.below(3)
        };
        let length = length.max(u64::from(self.used.insert(path)));
        (0..length).map(|_| self.value(items, path)).collect()
    }

    fn map(&mut self, schema: &Value, path: u64) -> Value {
        if is_embedded(schema) {
            let mut fields = self.fields(schema, &META, path);
            fields.insert("apiVersion".to_owned(), "apps/v1".into());
            fields.insert("kind".to_owned(), "Deployment".into());
            fields.insert(
                "metadata".to_owned(),
                json!({ "labels": { "a": "b" }, "name": "inner" }),
            );
            return Value::Object(fields);
        }
        if properties(schema).is_some_and(|own| !own.is_empty()) {
            return Value::Object(self.fields(schema, &[], path));
        }
        match additional(schema) {
            Some(Some(values)) => {
                let path = hash(path, "{}");
                let names = ["a", "b.c/d-e", "Über", "type"];
                let length = self.rng.below(3).max(u64::from(self.used.insert(path))) as usize;
                let names = names.iter().take(length);
                let fields = names.map(|name| ((*name).to_owned(), self.value(values, path)));
                Value::Object(fields.collect())
            }
            Some(None) => json!({ "a": 1, "b": "c" }),
            None if preserves(schema) => json!({ "a": self.anything(0), "b": null }),
            None => json!({}),
        }
    }

    fn string(&mut self, schema: &Value) -> Value {
        let text = |keyword: &str| schema.get(keyword).and_then(Value::as_str).unwrap_or_default();
        let number = self.rng.below(60);
        match text("format") {
            "date-time" if text("pattern").contains("{6}") => {
                format!("2026-01-02T03:04:{number:02}.123456Z").into()
            }
            "date-time" => format!("2026-01-02T03:04:{number:02}Z").into(),
            "byte" => self.one_of(&["", "aGVsbG8=", "AAE="]).copied().into(),
            _ => {
                let texts = [
                    "",
                    "a",
                    "0",
                    "true",
                    "null",
                    "a \"b\"\n\u{e4}\u{1f600}",
                    "10.0.0.0/8",
                    "5m0s",
                ];
                self.one_of(&texts).copied().into()
            }
        }
    }

    fn integer(&mut self, schema: &Value) -> Value {
        let small = [0, 1, -1, 80, 65_535, i64::from(i32::MAX), i64::from(i32::MIN)];
        let large = [i64::MAX, i64::MIN, 9_007_199_254_740_993];
        let is_small = schema.get("format").and_then(Value::as_str) == Some("int32");
        match is_small || self.chance(70) {
            true => self.one_of(&small).copied().into(),
            false => self.one_of(&large).copied().into(),
        }
    }

    fn number(&mut self) -> Value {
        let numbers = [
            json!(0),
            json!(3),
            json!(3.0),
            json!(0.1),
            json!(-2.5e-7),
            json!(1e21),
            json!(i64::MAX),
        ];
        self.one_of(&numbers).cloned().unwrap_or_default()
    }

    fn int_or_string(&mut self, schema: &Value) -> Value {
        let pattern = schema.get("pattern").and_then(Value::as_str).unwrap_or_default();
        let either = match pattern.contains("[KMGTPE]i") {
            true => [
                json!(3),
                json!("3"),
                json!("500m"),
                json!("1.5Gi"),
                json!(9_007_199_254_740_993_i64),
            ],
            false => [json!(80), json!("http"), json!("50%"), json!(0), json!(-1)],
        };
        self.one_of(&either).cloned().unwrap_or_default()
    }

    /// Any JSON, without null at the top.
    fn anything(&mut self, depth: u32) -> Value {
        match self.rng.below(if depth < 2 { 7 } else { 5 }) {
            0 => json!("text"),
            1 => json!(7),
            2 => json!(1.5),
            3 => json!(true),
            4 => json!({}),
            5 => json!([self.anything(depth + 1), null]),
            _ => json!({ "a": self.anything(depth + 1), "apiVersion": null }),
        }
    }
}

/// The spelling of an int-or-string without the extension.
fn is_either(schema: &Value) -> bool {
    let any_of = schema.get("anyOf").and_then(Value::as_array);
    let types: Vec<_> = any_of
        .into_iter()
        .flatten()
        .filter_map(|one| one.get("type"))
        .collect();
    let is_either = |one: &str, other: &str| types.len() == 2 && types[0] == one && types[1] == other;
    schema.get("type").is_none() && (is_either("integer", "string") || is_either("string", "integer"))
}

fn hash(path: u64, name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (path, name).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_the_same_objects_and_every_property_is_used() {
        let names: Vec<String> = (0..50).map(|number| format!("p{number}")).collect();
        let own: Map<String, Value> = names
            .iter()
            .map(|name| (name.clone(), json!({ "type": "string" })))
            .collect();
        let spec = json!({ "type": "object", "required": ["p0"], "properties": own });
        let schema = json!({ "type": "object", "required": ["spec"], "properties": { "spec": spec } });
        let draw = |variation| {
            let mut fuzzer = Fuzzer::new(7);
            let objects = (0..4).map(|_| fuzzer.object("a/v1", "A", &schema, variation));
            objects.collect::<Vec<_>>()
        };
        let objects = draw(Variation::Valid);
        assert_eq!(objects, draw(Variation::Valid));
        let uses = |name: &String| objects.iter().any(|object| object["spec"].get(name).is_some());
        assert!(names.iter().all(uses));
        let has_first = |object: &Value| object["spec"].get("p0").is_some_and(Value::is_string);
        assert!(objects.iter().all(has_first));
        assert!(!draw(Variation::Missing).iter().all(has_first));
    }

    #[test]
    fn an_enum_has_other_values_only_in_objects_with_unknown_properties() {
        let mode = json!({ "type": "string", "enum": ["A", "B"] });
        let schema = json!({ "type": "object", "required": ["mode"], "properties": { "mode": mode } });
        for variation in Variation::ALL {
            let mut fuzzer = Fuzzer::new(7);
            let mut is_known = || {
                let object = fuzzer.object("a/v1", "A", &schema, variation);
                object
                    .get("mode")
                    .and_then(Value::as_str)
                    .is_none_or(|mode| mode == "A" || mode == "B")
            };
            let all_known = (0..200).all(|_| is_known());
            assert_eq!(all_known, !variation.has(Variation::Unknown), "{variation:?}");
        }
    }
}
