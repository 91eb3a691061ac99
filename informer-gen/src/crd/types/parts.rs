//! The types of a library by name, for implementations that the printer does not write.

use super::library::{Home, Library};
use super::model::{Item, Step};
use crate::crd::definition::{Definition, Schema, Subschema, Version};

/// The types of one file.
#[derive(Clone, Copy, Debug)]
pub(in crate::crd) enum Part {
    /// Those of a kind in a version, by position.
    OfKind(usize),
    /// Those of several kinds.
    Shared,
}

/// A type, and the first place that it has.
pub(in crate::crd) struct NamedPart<'a> {
    pub(in crate::crd) name: &'a str,
    /// The module of the group of the first place.
    pub(in crate::crd) group: &'a str,
    pub(in crate::crd) definition: &'a Definition,
    pub(in crate::crd) version: &'a Version,
    /// The JSON pointer from the schema of the kind to that of the type.
    pub(in crate::crd) pointer: String,
}

impl Library<'_> {
    /// The types that a file declares, except the object itself.
    pub(in crate::crd) fn parts(&self, part: Part) -> Vec<NamedPart<'_>> {
        let home = match part {
            Part::OfKind(position) => Home::Module(position),
            Part::Shared => Home::Shared,
        };
        let entries = self.entries_of(home).into_iter();
        let parts = entries.filter_map(|entry| {
            let first = entry.uses.first()?;
            let module = self.modules.get(first.module)?;
            Some(NamedPart {
                name: &entry.name,
                group: &module.address.group,
                definition: module.definition,
                version: module.version,
                pointer: pointer(module.version.schema.as_ref()?, &first.place.steps),
            })
        });
        parts.collect()
    }

    /// The path of the enum of a field, from the module of the kind's version; `None` if it is no enum.
    pub(in crate::crd) fn enum_at(&self, position: usize, properties: &[String]) -> Option<String> {
        let is_here = |steps: &[Step]| steps.iter().map(|step| &step.property).eq(properties);
        let entry = self.entries.iter().find(|entry| {
            let mut uses = entry.uses.iter();
            matches!(entry.item, Item::Enum(_))
                && uses.any(|one| one.module == position && is_here(&one.place.steps))
        })?;
        let name = &entry.name;
        match entry.home {
            Home::Shared => Some(format!("super::super::shared::{name}")),
            Home::Module(home) => {
                let address = &self.modules.get(home)?.address;
                Some(format!("super::{}::{}::{name}", address.version, address.kind))
            }
        }
    }
}

/// The JSON pointer to a place, through arrays and maps.
fn pointer(schema: &Schema, steps: &[Step]) -> String {
    let (mut at, mut pointer) = (Some(schema), String::new());
    for step in steps {
        let name = step.property.replace('~', "~0").replace('/', "~1");
        pointer += &format!("/properties/{name}");
        at = at.and_then(|schema| schema.properties.get(&step.property));
        while let Some(Schema {
            items,
            additional_properties,
            ..
        }) = at
        {
            at = match (items, additional_properties) {
                (Some(Subschema::Schema(inner)), _) => {
                    pointer += "/items";
                    Some(inner)
                }
                (_, Some(Subschema::Schema(inner))) => {
                    pointer += "/additionalProperties";
                    Some(inner)
                }
                _ => break,
            };
        }
    }
    pointer
}
