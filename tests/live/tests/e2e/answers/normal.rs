//! Makes the answers of two servers comparable: what differs from run to run becomes a mark.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The marks given so far in one run. Equal UIDs have equal marks, and so have equal versions of one object.
#[derive(Default)]
pub(super) struct Normal {
    uids: Vec<String>,
    versions: BTreeMap<String, Vec<String>>,
}

impl Normal {
    pub(super) fn apply(&mut self, answer: Value) -> Value {
        self.value(answer)
    }

    fn value(&mut self, value: Value) -> Value {
        match value {
            Value::Object(object) => self.object(object),
            Value::Array(values) => values.into_iter().map(|value| self.value(value)).collect(),
            Value::String(text) => self.text(&text).into(),
            other => other,
        }
    }

    fn object(&mut self, mut object: Map<String, Value>) -> Value {
        let uid = object.get("uid").and_then(Value::as_str).map(str::to_owned);
        if let Some(Value::String(version)) = object.get_mut("resourceVersion")
            && !version.is_empty()
        {
            *version = match &uid {
                Some(uid) => format!(
                    "<version {}>",
                    place(self.versions.entry(uid.clone()).or_default(), version)
                ),
                // That of a list or a bookmark: any other write to the server moves it.
                None => "<version>".to_owned(),
            };
        }
        if let Some(uid) = uid {
            let mark = format!("<uid {}>", place(&mut self.uids, &uid));
            object.insert("uid".into(), mark.into());
        }
        if let Some(Value::String(token)) = object.get_mut("continue")
            && !token.is_empty()
        {
            *token = "<token>".to_owned();
        }
        let generated = object
            .get("generateName")
            .and_then(Value::as_str)
            .map(str::to_owned);
        if let (Some(prefix), Some(Value::String(name))) = (generated, object.get_mut("name")) {
            let suffix = name.strip_prefix(&prefix).map_or(0, str::len);
            *name = format!("{prefix}<{suffix} letters>");
        }
        let object = object.into_iter().map(|(key, value)| (key, self.value(value)));
        Value::Object(object.collect())
    }

    fn text(&self, text: &str) -> String {
        if is_time(text) {
            return "<time>".to_owned();
        }
        if is_age(text) {
            return "<age>".to_owned();
        }
        let mut text = text.to_owned();
        for (number, uid) in self.uids.iter().enumerate() {
            text = text.replace(uid, &format!("<uid {}>", number + 1));
        }
        without_versions(&text)
    }
}

/// The place of a value among those seen, counted from one.
fn place(seen: &mut Vec<String>, value: &str) -> usize {
    match seen.iter().position(|known| known == value) {
        Some(place) => place + 1,
        None => {
            seen.push(value.to_owned());
            seen.len()
        }
    }
}

/// `2026-01-01T00:00:00Z`, with or without fractions.
fn is_time(text: &str) -> bool {
    let shape: String = text
        .chars()
        .map(|letter| if letter.is_ascii_digit() { '0' } else { letter })
        .collect();
    shape.starts_with("0000-00-00T00:00:00") && shape.ends_with('Z')
}

/// The age in a row of a table, in whole seconds: no object of these tests is two minutes old.
fn is_age(text: &str) -> bool {
    let seconds = text.strip_suffix('s').unwrap_or_default();
    !seconds.is_empty() && seconds.chars().all(|letter| letter.is_ascii_digit())
}

/// Numbers of three digits and more in a sentence are versions.
fn without_versions(text: &str) -> String {
    let (mut cleaned, mut digits) = (String::new(), String::new());
    for letter in text.chars().map(Some).chain([None]) {
        match letter {
            Some(letter) if letter.is_ascii_digit() => digits.push(letter),
            _ => {
                cleaned.push_str(if digits.len() > 2 { "#" } else { &digits });
                digits.clear();
                cleaned.extend(letter);
            }
        }
    }
    cleaned
}

/// Reports every place in which two values differ.
pub(super) fn compare(
    real: &Value,
    embedded: &Value,
    at: &mut String,
    differs: &mut impl FnMut(&str, &Value, &Value),
) {
    let length = at.len();
    match (real, embedded) {
        (Value::Object(one), Value::Object(other)) => {
            let missing = other.keys().filter(|key| !one.contains_key(*key));
            for key in one.keys().chain(missing) {
                at.push('/');
                at.push_str(&key.replace('~', "~0").replace('/', "~1"));
                let (real, embedded) = (one.get(key), other.get(key));
                compare(
                    real.unwrap_or(&Value::Null),
                    embedded.unwrap_or(&Value::Null),
                    at,
                    differs,
                );
                at.truncate(length);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (place, (real, embedded)) in one.iter().zip(other).enumerate() {
                at.push_str(&format!("/{place}"));
                compare(real, embedded, at, differs);
                at.truncate(length);
            }
        }
        (real, embedded) if real != embedded => differs(at, real, embedded),
        _ => {}
    }
}
