//! `metadata.managedFields`: the owners of fields, and since when.
//!
//! Follows `k8s.io/apimachinery/pkg/util/managedfields`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::field_set::{Element, FieldSet};
use super::typed::{Comparison, compare};
use crate::schema::Schema;

/// A write to record: the manager, the endpoint and the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write<'a> {
    /// The name of the manager: the parameter `fieldManager`, or the result of [`manager_of`] for the
    /// User-Agent.
    pub(crate) manager: &'a str,
    /// The `apiVersion` of the endpoint.
    pub(crate) api_version: &'a str,
    /// The part of the object that the endpoint writes.
    pub(crate) part: Part,
    /// The time in RFC 3339 form with whole seconds, in UTC.
    pub(crate) time: &'a str,
}

/// The part of an object that an endpoint writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The object itself, for kinds without a status subresource.
    Whole,
    /// The object itself, for kinds with a status subresource.
    AllButStatus,
    /// The subresource `status`.
    Status,
    /// The subresource `scale`.
    Scale,
}

impl Part {
    fn subresource(self) -> Option<&'static str> {
        match self {
            Part::Whole | Part::AllButStatus => None,
            Part::Status => Some("status"),
            Part::Scale => Some("scale"),
        }
    }
}

/// Returns the manager of a request without `fieldManager`: the User-Agent up to its first slash, at most 128
/// bytes.
pub(crate) fn manager_of(user_agent: &str) -> String {
    let name = user_agent.split('/').next().unwrap_or_default();
    let mut manager = String::new();
    for letter in name.chars().filter(|letter| !letter.is_control()) {
        if manager.len() + letter.len_utf8() > 128 {
            break;
        }
        manager.push(letter);
    }
    manager
}

/// Returns the object to store after a create, an update or a patch other than apply, with its
/// `managedFields`.
///
/// `live` is the stored object (`None` for a create) and `new` the object to store, after all changes by the
/// server. The writer becomes the only owner of changed fields; if nothing changed, nothing is recorded.
/// `new` may contain `managedFields`: an empty list resets them, and ownership is tracked again from the next
/// apply on; without the field, those of `live` are kept. Both objects may omit `apiVersion` and `kind`.
///
/// At most ten managers that update are kept; older ones are merged into `ancient-changes`.
pub(crate) fn record_update(schema: &Schema, live: Option<&Value>, new: &Value, write: &Write<'_>) -> Value {
    let mut managers = Managers::for_update(live, new, write.part);
    let mut new = new.clone();
    set_managed_fields(&mut new, None);
    // An object without known owners stays so until the first apply.
    if managers.is_empty() && live.is_some() {
        return new;
    }
    managers.update(schema, live, &new, write);
    managers.fold_old_updates();
    let encoded = managers.encode();
    set_managed_fields(&mut new, encoded);
    new
}

/// Sets or removes `metadata.managedFields`.
pub(crate) fn set_managed_fields(object: &mut Value, fields: Option<Value>) {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    match (metadata, fields) {
        (Some(metadata), Some(fields)) => {
            metadata.insert("managedFields".to_owned(), fields);
        }
        (Some(metadata), None) => {
            metadata.remove("managedFields");
        }
        (None, Some(fields)) => {
            if let Some(object) = object.as_object_mut() {
                object.insert("metadata".to_owned(), json!({ "managedFields": fields }));
            }
        }
        (None, None) => {}
    }
}

/// The operation of a manager. The order is that of the entries in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Apply,
    Update,
}

/// Identifies an entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ManagerId {
    pub(crate) manager: String,
    pub(crate) operation: Operation,
    /// Updates through different versions are different entries; an applier has one.
    api_version: Option<String>,
    subresource: Option<String>,
}

impl ManagerId {
    pub(crate) fn new(manager: &str, operation: Operation, api_version: &str, part: Part) -> ManagerId {
        ManagerId {
            manager: if manager.is_empty() {
                "unknown".to_owned()
            } else {
                manager.to_owned()
            },
            operation,
            api_version: (operation == Operation::Update).then(|| api_version.to_owned()),
            subresource: part.subresource().map(str::to_owned),
        }
    }
}

/// As in conflict messages: `"kubectl-edit" with subresource "status" using apps/v1`.
impl std::fmt::Display for ManagerId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:?}", self.manager)?;
        if let Some(subresource) = &self.subresource {
            write!(formatter, " with subresource {subresource:?}")?;
        }
        match &self.api_version {
            Some(version) => write!(formatter, " using {version}"),
            None => Ok(()),
        }
    }
}

/// One entry of `managedFields`.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) fields: FieldSet,
    pub(crate) api_version: String,
    pub(crate) time: Option<String>,
}

/// All entries of `managedFields`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Managers(pub(crate) BTreeMap<ManagerId, Entry>);

impl Managers {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn for_update(live: Option<&Value>, new: &Value, part: Part) -> Managers {
        let of_live = || live.and_then(Managers::decode).unwrap_or_default();
        if part.subresource().is_some() {
            return of_live();
        }
        match new
            .pointer("/metadata/managedFields")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
        {
            Some([]) => Managers::default(),
            Some([only]) if only == &json!({}) => Managers::default(),
            Some(_) => Managers::decode(new).unwrap_or_else(of_live),
            None => of_live(),
        }
    }

    /// Reads the entries of an object; `None` if it has none or one of them is malformed.
    pub(crate) fn decode(object: &Value) -> Option<Managers> {
        let mut managers = BTreeMap::new();
        for entry in object.pointer("/metadata/managedFields")?.as_array()? {
            let operation = match entry["operation"].as_str()? {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return None,
            };
            let api_version = entry["apiVersion"]
                .as_str()
                .filter(|version| !version.is_empty())?
                .to_owned();
            if entry["fieldsType"] != "FieldsV1" {
                return None;
            }
            let fields = match &entry["fieldsV1"] {
                Value::Null => FieldSet::default(),
                fields => FieldSet::decode(fields)?,
            };
            let id = ManagerId {
                manager: entry["manager"].as_str().unwrap_or_default().to_owned(),
                operation,
                api_version: (operation == Operation::Update).then(|| api_version.clone()),
                subresource: entry["subresource"]
                    .as_str()
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned),
            };
            let time = entry["time"].as_str().map(str::to_owned);
            managers.insert(
                id,
                Entry {
                    fields,
                    api_version,
                    time,
                },
            );
        }
        (!managers.is_empty()).then_some(Managers(managers))
    }

    /// Returns the entries in the order of an object: appliers first, then by time and name. `None` if there
    /// are no entries.
    pub(crate) fn encode(&self) -> Option<Value> {
        let mut entries: Vec<(&ManagerId, &Entry)> = self.0.iter().collect();
        entries.sort_by_key(|(id, entry)| {
            (
                id.operation,
                &entry.time,
                &id.manager,
                &entry.api_version,
                &id.subresource,
            )
        });
        let entries: Vec<Value> = entries
            .into_iter()
            .map(|(id, entry)| {
                let mut fields = Map::new();
                fields.insert("manager".to_owned(), id.manager.clone().into());
                fields.insert("operation".to_owned(), format!("{:?}", id.operation).into());
                fields.insert("apiVersion".to_owned(), entry.api_version.clone().into());
                if let Some(time) = &entry.time {
                    fields.insert("time".to_owned(), time.clone().into());
                }
                fields.insert("fieldsType".to_owned(), "FieldsV1".into());
                fields.insert("fieldsV1".to_owned(), entry.fields.encode());
                if let Some(subresource) = &id.subresource {
                    fields.insert("subresource".to_owned(), subresource.clone().into());
                }
                Value::Object(fields)
            })
            .collect();
        (!entries.is_empty()).then_some(Value::Array(entries))
    }

    /// Records that `write` turned `live` into `new`.
    pub(crate) fn update(&mut self, schema: &Schema, live: Option<&Value>, new: &Value, write: &Write<'_>) {
        let filled = |object: Option<&Value>| {
            let mut object = object.cloned().unwrap_or_else(|| Value::Object(Map::new()));
            schema.root().fill(&mut object);
            object
        };
        let comparison = compare(&filled(live), &filled(Some(new)), schema.root());
        self.take(&comparison, None);
        let taken = comparison
            .added
            .union(&comparison.modified)
            .difference(&never_owned());
        if taken.is_empty() {
            return;
        }
        let api_version = write.api_version;
        let id = ManagerId::new(write.manager, Operation::Update, api_version, write.part);
        let entry = self.0.entry(id).or_insert_with(|| Entry {
            fields: FieldSet::default(),
            api_version: api_version.to_owned(),
            time: None,
        });
        entry.fields = entry.fields.union(&taken);
        entry.time = Some(write.time.to_owned());
    }

    /// Removes changed and deleted fields from all managers except `writer`.
    pub(crate) fn take(&mut self, comparison: &Comparison, writer: Option<&ManagerId>) {
        let changed = comparison
            .added
            .union(&comparison.modified)
            .union(&comparison.removed);
        for (id, entry) in &mut self.0 {
            if Some(id) != writer {
                entry.fields = entry.fields.difference(&changed);
            }
        }
        self.0.retain(|_, entry| !entry.fields.is_empty());
    }

    /// Merges the oldest updates of each version into one entry until the limit is met.
    fn fold_old_updates(&mut self) {
        const MAX_UPDATERS: usize = 10;
        let updates = self.0.iter().filter(|(id, _)| id.operation == Operation::Update);
        let mut oldest: Vec<ManagerId> = updates.map(|(id, _)| id.clone()).collect();
        let mut excess = oldest.len().saturating_sub(MAX_UPDATERS);
        oldest.sort_by(|left, right| self.0[left].time.cmp(&self.0[right].time).then(left.cmp(right)));
        let mut first_of_version: BTreeMap<String, ManagerId> = BTreeMap::new();
        for id in oldest {
            let Some(version) = self.0.get(&id).map(|entry| entry.api_version.clone()) else {
                continue;
            };
            let Some(first) = first_of_version.get(&version) else {
                first_of_version.insert(version, id);
                continue;
            };
            if excess == 0 {
                return;
            }
            let bucket = ManagerId::new("ancient-changes", Operation::Update, &version, Part::Whole);
            let mut folded = Entry {
                fields: FieldSet::default(),
                api_version: version.clone(),
                time: None,
            };
            for part in [&bucket, first, &id] {
                if let Some(entry) = self.0.remove(part) {
                    folded.fields = folded.fields.union(&entry.fields);
                    folded.time = folded.time.max(entry.time);
                }
            }
            self.0.insert(bucket.clone(), folded);
            first_of_version.insert(version, bucket);
            excess -= 1;
        }
    }
}

/// The fields that no manager owns: those of the server and of the object's identity.
pub(crate) fn never_owned() -> FieldSet {
    const OF_METADATA: [&str; 9] = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ];
    let mut set = FieldSet::default();
    for name in ["apiVersion", "kind", "metadata"] {
        set.insert(Element::field(name));
    }
    for name in OF_METADATA {
        set.insert_path(&[Element::field("metadata"), Element::field(name)]);
    }
    set
}

#[cfg(test)]
#[path = "managed_fields_tests.rs"]
mod tests;
