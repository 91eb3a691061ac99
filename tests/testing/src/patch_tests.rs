//! Any input of a client gives a result or an error, never a panic.

use serde_json::{Map, Value, json};

use super::{Apply, OnConflict, Part, Write, apply, json_patch, merge_patch, record_update, strategic_merge};
use crate::schema::Schema;

/// Names and texts with a meaning in one of the patch types.
const WORDS: [&str; 24] = [
    "metadata",
    "spec",
    "template",
    "containers",
    "env",
    "ports",
    "containerPort",
    "name",
    "labels",
    "finalizers",
    "ownerReferences",
    "managedFields",
    "fieldsV1",
    "f:spec",
    "k:{\"name\":1}",
    ".",
    "status",
    "$patch",
    "$retainKeys",
    "$setElementOrder/containers",
    "$deleteFromPrimitiveList/finalizers",
    "delete",
    "replace",
    "merge",
];

/// A small generator, so that a failure is reproducible on every machine.
struct Nonsense(u64);

impl Nonsense {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits fit") % limit
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len())]
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 5 } else { 9 }) {
            0 => Value::Null,
            1 => json!(self.below(3)),
            2 => json!(0.5),
            3 | 4 => self.word().into(),
            5 | 6 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
            _ => self.object(depth - 1),
        }
    }

    fn object(&mut self, depth: usize) -> Value {
        let fields: Map<String, Value> = (0..self.below(5))
            .map(|_| (self.word().to_owned(), self.value(depth)))
            .collect();
        Value::Object(fields)
    }
}

#[test]
fn nonsense_is_refused_or_taken_but_never_fatal() {
    let schema = Schema::builtin("apps/v1", "Deployment").expect("a built-in kind");
    let mut nonsense = Nonsense(0x5eed);
    for _ in 0..2_000 {
        let (live, patch) = (nonsense.object(6), nonsense.object(6));
        let write = Write {
            manager: nonsense.word(),
            api_version: "apps/v1",
            part: [Part::Whole, Part::AllButStatus, Part::Status, Part::Scale][nonsense.below(4)],
            time: "2026-01-01T00:00:00Z",
        };
        let mut config = patch.clone();
        config["apiVersion"] = "apps/v1".into();
        config["kind"] = "Deployment".into();
        let on_conflict = [OnConflict::Refuse, OnConflict::Force][nonsense.below(2)];
        let _refused = strategic_merge(&schema, &live, &patch);
        let _refused = merge_patch(&live, &patch);
        let _refused = json_patch(&live, &json!([patch]));
        let owned = record_update(&schema, None, &live, &write);
        let request = Apply {
            kind: "Deployment",
            write,
            on_conflict,
        };
        let _refused = apply(&schema, Some(&owned), &config, &request);
        record_update(&schema, Some(&owned), &patch, &write);
    }
}
