//! Indexes of a generated kind by a field: a trait with an accessor for each.

use super::TreeError;
use super::options::IndexBy;
use super::plan::{Kind, KindTypes, Version};
use super::trim::at;
use crate::crd::definition::{self, Schema};
use crate::crd::types::library::Library;
use crate::names::{constant, schema as names};

/// The most nested containers of one field: `Required<Vec<Option<T>>>` has three.
const LAYERS: usize = 3;

/// The trait with the indexes of a kind, or `None` if it has none.
///
/// # Errors
/// If the values of a field cannot be those of an index.
pub(super) fn trait_of(
    kind: &Kind<'_>,
    version: &Version<'_>,
    library: &Library<'_>,
    indexes: &[IndexBy],
) -> Result<Option<String>, TreeError> {
    let is_this = |found: &&definition::Version| version.api_version.ends_with(&format!("/{}", found.name));
    let found = kind.definition.versions.iter().find(is_this);
    let Some(schema) = found.and_then(|version| version.schema.as_ref()) else {
        return Ok(None);
    };
    let name = kind.definition.name();
    let (mut declared, mut given) = (String::new(), String::new());
    for index in indexes.iter().filter(|index| index.field.is_of(&name)) {
        let Some(field) = at(schema, &index.field.steps) else {
            continue;
        };
        let of_enum = match kind.types {
            KindTypes::Generated(position) => library.enum_at(position, &index.field.steps),
            KindTypes::Existing(_) => None,
        };
        let value = of_enum.or_else(|| value(field).map(str::to_owned));
        let value = value.filter(|_| !passes_a_map(schema, &index.field.steps));
        let value = value.ok_or_else(|| TreeError::IndexValue {
            name: index.name.clone(),
            path: index.field.to_string(),
        })?;
        declared += &declaration(kind, index, &value);
        given += &implementation(kind, index, &value);
    }
    if declared.is_empty() {
        return Ok(None);
    }
    let (type_name, extension, informer) = (&kind.type_name, kind.alias("Indexes"), kind.alias("Informer"));
    Ok(Some(format!(
        "
/// The indexes of [`{type_name}`]: with this trait in scope, [`{informer}`] has an accessor for each.
pub trait {extension} {{
{declared}}}

impl {extension} for {informer} {{
{given}}}
"
    )))
}

/// The type of the values that are no enum, through arrays.
fn value(schema: &Schema) -> Option<&'static str> {
    if schema.int_or_string {
        return None;
    }
    match (schema.type_.as_deref()?, schema.format.as_deref()) {
        ("string", Some("date-time" | "byte")) => None,
        ("string", _) => Some("::std::string::String"),
        ("boolean", _) => Some("bool"),
        ("integer", Some("int32")) => Some("i32"),
        ("integer", _) => Some("i64"),
        ("array", _) => match &schema.items {
            Some(definition::Subschema::Schema(items)) => value(items),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a path leads through the values of a map.
fn passes_a_map(schema: &Schema, steps: &[String]) -> bool {
    match (&schema.additional_properties, &schema.items, steps.split_first()) {
        (Some(definition::Subschema::Schema(_)), _, _) => true,
        (_, Some(definition::Subschema::Schema(items)), _) => passes_a_map(items, steps),
        (_, _, Some((first, others))) => {
            let property = schema.properties.get(first);
            property.is_some_and(|property| passes_a_map(property, others))
        }
        _ => false,
    }
}

fn declaration(kind: &Kind<'_>, index: &IndexBy, value: &str) -> String {
    let (type_name, name) = (&kind.type_name, &index.name);
    let constant = constant(name);
    format!(
        "    /// The definition of the index `{name}`, for the options of a factory.
    const BY_{constant}: &'static ::informers::IndexDefinition<{type_name}, {value}>;

    /// The index `{name}` of [`{type_name}`], by `{}`. It is added if it does not exist.
    ///
    /// # Errors
    /// If another part of the program has added another index of this name.
    fn by_{name}(
        &self,
    ) -> ::std::result::Result<::informers::Index<{type_name}, {value}>, ::informers::store::IndexError>;
",
        index.field.steps.join(".")
    )
}

fn implementation(kind: &Kind<'_>, index: &IndexBy, value: &str) -> String {
    let (type_name, name, extension) = (&kind.type_name, &index.name, kind.alias("Indexes"));
    let constant = constant(name);
    let mut walk = format!("values.push(::informers::__private::value::<{value}, _>(at));");
    for step in index.field.steps.iter().rev() {
        for _ in 1..LAYERS {
            walk = format!("for at in ::informers::__private::Field(at).each() {{ {walk} }}");
        }
        let field = names::field(step);
        walk = format!("for at in ::informers::__private::Field(&at.{field}).each() {{ {walk} }}");
    }
    format!(
        "    const BY_{constant}: &'static ::informers::IndexDefinition<{type_name}, {value}> = {{
        fn values(at: &{type_name}) -> ::std::vec::Vec<{value}> {{
            use ::informers::__private::Plain as _;
            let mut values = ::std::vec::Vec::new();
            {walk}
            values
        }}
        &::informers::IndexDefinition::new(\"{name}\", values)
    }};

    #[inline]
    fn by_{name}(
        &self,
    ) -> ::std::result::Result<::informers::Index<{type_name}, {value}>, ::informers::store::IndexError> {{
        self.informer().index(<Self as {extension}>::BY_{constant})
    }}
"
    )
}
