//! The merge rules of a kind: which lists have keys, and which objects are replaced completely.
//!
//! Strategic merge and server-side apply need the same facts about a field, so both use the same graph of
//! types. Built-in kinds come from `schema/table.txt`, which `schema/generate.py` writes from the OpenAPI
//! documents of Kubernetes 1.37 (its first lines describe the format, those of the script how to run it).
//! Custom kinds come from the structural schema in their CustomResourceDefinition.

mod crd;
mod table;

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

/// The merge rules of one kind. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    types: Arc<Vec<Type>>,
    root: TypeId,
    origin: Origin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    BuiltIn,
    Custom,
}

impl Schema {
    /// Returns the schema of a built-in kind, or `None` if Kubernetes 1.37 does not have the kind in any
    /// version of the group.
    pub(crate) fn builtin(api_version: &str, kind: &str) -> Option<Schema> {
        table::find(api_version, kind)
    }

    /// Creates the schema of a custom kind from `spec.versions[].schema.openAPIV3Schema` of its definition.
    ///
    /// `x-kubernetes-list-type`, `-list-map-keys`, `-map-type` and `-preserve-unknown-fields` are supported;
    /// a list without a type is atomic. Without a schema (`None`) objects merge field by field and lists are
    /// atomic.
    pub(crate) fn custom(open_api: Option<&Value>) -> Schema {
        crd::convert(open_api)
    }

    /// Whether the kind supports strategic merge patches; the API server supports them for built-in kinds
    /// only.
    pub(crate) fn knows_strategic_merge(&self) -> bool {
        self.origin == Origin::BuiltIn
    }

    pub(crate) fn root(&self) -> Rules<'_> {
        Rules {
            types: &self.types,
            id: self.root,
        }
    }
}

type TypeId = usize;

/// A type without special rules: objects merge field by field, lists are atomic.
const PLAIN: TypeId = 0;
/// Free-form data: like [`PLAIN`], but its fields are map entries rather than declared fields.
const FREE: TypeId = 1;
/// Free-form data that is applied as a whole.
const OPAQUE: TypeId = 2;

/// The rules of one type, or of one field if it has rules that its type does not have.
#[derive(Clone, Debug)]
struct Type {
    /// How server-side apply treats the value if it is an object.
    object: Granularity,
    /// How server-side apply treats the value if it is a list.
    list: ListRule,
    /// How strategic merge treats the value.
    strategy: Strategy,
    fields: HashMap<String, TypeId>,
    /// The fields that every object of the kind has in Go, and their values when unset.
    values: Vec<(String, Zero)>,
    others: Others,
    item: TypeId,
}

impl Type {
    fn plain() -> Type {
        Type {
            object: Granularity::Granular,
            list: ListRule::Atomic,
            strategy: Strategy::Default,
            fields: HashMap::new(),
            values: Vec::new(),
            others: Others::Declared,
            item: PLAIN,
        }
    }

    /// The types at the start of every graph, at the positions of the constants above.
    fn common() -> Vec<Type> {
        let free = Type {
            others: Others::Entries(FREE),
            item: OPAQUE,
            ..Type::plain()
        };
        let opaque = Type {
            object: Granularity::Atomic,
            others: Others::Entries(OPAQUE),
            item: OPAQUE,
            ..Type::plain()
        };
        vec![Type::plain(), free, opaque]
    }
}

/// Whether an object is applied field by field or as one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Granularity {
    Granular,
    Atomic,
}

/// How server-side apply identifies the items of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListRule {
    /// The list is one value.
    Atomic,
    /// Items are scalars, identified by their value.
    Set,
    /// Items are objects with these keys.
    Keyed(Vec<ListKey>),
}

/// One of the fields that together identify an item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListKey {
    pub(crate) name: String,
    /// The value of a missing field (`protocol` of a port is TCP).
    pub(crate) default: Option<String>,
}

/// How strategic merge treats a field that is both in the object and in the patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// Objects merge, lists are replaced.
    Default,
    /// Objects in the list are joined by this field.
    MergeBy(String),
    /// Scalars in the list are joined.
    MergeScalars,
    /// Objects are replaced too.
    Replace,
}

/// The value of an unset field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Zero {
    Object,
    Null,
}

/// The rules of fields that a type does not list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Others {
    /// Declared fields without special rules.
    Declared,
    /// Entries of a map with values of this type.
    Entries(TypeId),
}

/// The rules for one value: a position in the graph of types.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'s> {
    types: &'s [Type],
    id: TypeId,
}

impl<'s> Rules<'s> {
    fn get(self) -> &'s Type {
        &self.types[self.id]
    }

    pub(crate) fn object(self) -> Granularity {
        self.get().object
    }

    pub(crate) fn list(self) -> &'s ListRule {
        &self.get().list
    }

    pub(crate) fn strategy(self) -> &'s Strategy {
        &self.get().strategy
    }

    pub(crate) fn field(self, name: &str) -> Rules<'s> {
        let kind = self.get();
        let id = match (kind.fields.get(name), kind.others) {
            (Some(id), _) => *id,
            (None, Others::Declared) => PLAIN,
            (None, Others::Entries(id)) => id,
        };
        Rules { id, ..self }
    }

    /// Whether `name` is a field of a struct rather than an entry of a map.
    pub(crate) fn declares(self, name: &str) -> bool {
        let kind = self.get();
        kind.others == Others::Declared || kind.fields.contains_key(name)
    }

    /// Adds the fields that an object of this type has in Go even if they are unset.
    pub(crate) fn fill(self, object: &mut Value) {
        let Some(fields) = object.as_object_mut() else {
            return;
        };
        for (name, zero) in &self.get().values {
            let field = fields.entry(name.as_str()).or_insert_with(|| match zero {
                Zero::Object => Value::Object(Map::new()),
                Zero::Null => Value::Null,
            });
            self.field(name).fill(field);
        }
    }

    pub(crate) fn item(self) -> Rules<'s> {
        Rules {
            id: self.get().item,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules<'s>(schema: &'s Schema, path: &[&str]) -> Rules<'s> {
        path.iter().fold(schema.root(), |rules, step| match *step {
            "[]" => rules.item(),
            field => rules.field(field),
        })
    }

    fn keys(names: &[(&str, Option<&str>)]) -> ListRule {
        ListRule::Keyed(
            names
                .iter()
                .map(|(name, default)| ListKey {
                    name: (*name).into(),
                    default: default.map(Into::into),
                })
                .collect(),
        )
    }

    #[test]
    fn built_in_lists_have_the_keys_of_the_api() {
        let deployment = Schema::builtin("apps/v1", "Deployment").expect("a built-in kind");
        let containers = ["spec", "template", "spec", "containers"];
        assert_eq!(rules(&deployment, &containers).list(), &keys(&[("name", None)]));
        let ports = ["spec", "template", "spec", "containers", "[]", "ports"];
        let both = keys(&[("containerPort", None), ("protocol", Some("TCP"))]);
        assert_eq!(rules(&deployment, &ports).list(), &both);
        assert_eq!(
            rules(&deployment, &ports).strategy(),
            &Strategy::MergeBy("containerPort".into())
        );
        let finalizers = rules(&deployment, &["metadata", "finalizers"]);
        assert_eq!(
            (finalizers.list(), finalizers.strategy()),
            (&ListRule::Set, &Strategy::MergeScalars)
        );
        assert_eq!(
            rules(&deployment, &["spec", "selector"]).object(),
            Granularity::Atomic
        );
        let tolerations = ["spec", "template", "spec", "tolerations"];
        assert_eq!(rules(&deployment, &tolerations).list(), &ListRule::Atomic);
    }

    #[test]
    fn a_field_may_be_granular_although_its_type_is_atomic() {
        let volume = Schema::builtin("v1", "PersistentVolume").expect("a built-in kind");
        assert_eq!(
            rules(&volume, &["spec", "claimRef"]).object(),
            Granularity::Granular
        );
        let claim = Schema::builtin("v1", "Event").expect("a built-in kind");
        assert_eq!(rules(&claim, &["involvedObject"]).object(), Granularity::Atomic);
    }

    #[test]
    fn an_object_has_the_structs_that_are_no_pointers() {
        let deployment = Schema::builtin("apps/v1", "Deployment").expect("a built-in kind");
        let mut object = json!({"spec": {"replicas": 1}});
        deployment.root().fill(&mut object);
        let template = json!({"metadata": {}, "spec": {"containers": null}});
        let spec = json!({"replicas": 1, "strategy": {}, "template": template});
        assert_eq!(object, json!({"metadata": {}, "spec": spec, "status": {}}));
    }

    #[test]
    fn unknown_kinds_have_no_built_in_schema() {
        assert!(Schema::builtin("example.com/v1", "Widget").is_none());
        assert!(Schema::builtin("v1", "Deployment").is_none());
        assert!(Schema::builtin("apps/v1beta1", "Deployment").is_some());
    }

    #[test]
    fn custom_schemas_follow_their_annotations() {
        let schema = Schema::custom(Some(&json!({
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": {
                "plain": {"type": "array", "items": {"type": "string"}},
                "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "parts": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["id"],
                    "items": {"type": "object", "properties": {
                        "id": {"type": "string"},
                        "whole": {"type": "object", "x-kubernetes-map-type": "atomic"},
                    }},
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            }}},
        })));
        assert_eq!(rules(&schema, &["spec", "plain"]).list(), &ListRule::Atomic);
        assert_eq!(rules(&schema, &["spec", "set"]).list(), &ListRule::Set);
        assert_eq!(rules(&schema, &["spec", "parts"]).list(), &keys(&[("id", None)]));
        assert_eq!(
            rules(&schema, &["spec", "parts", "[]", "whole"]).object(),
            Granularity::Atomic
        );
        assert!(!rules(&schema, &["spec", "free"]).declares("anything"));
        assert_eq!(rules(&schema, &["metadata", "finalizers"]).list(), &ListRule::Set);
        assert!(!schema.knows_strategic_merge());
    }
}
