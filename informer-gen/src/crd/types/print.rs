//! Prints the types in the layout of rustfmt's default settings.

use super::docs;
use super::model::{Basic, Enum, Field, Item, Model, Presence, Struct, Type};
use super::paths::{Layout, Paths};
use super::root;
use crate::crd::definition::{Definition, Version};
use crate::names::schema::is_serde_name;

/// rustfmt's `max_width`.
const WIDTH: usize = 100;
/// rustfmt's `attr_fn_like_width`.
const ATTRIBUTE_WIDTH: usize = 70;

const DERIVES: &str = "Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize";
/// An enum can be the key of a map or an index.
const ENUM_DERIVES: &str = "Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize";
const ENUM_DERIVES_WITH_DEFAULT: &str =
    "Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize";

/// The serde option for fields that are not written.
const SKIP: &str = "skip_serializing_if";

/// The text of the module.
pub(super) fn print(model: &Model, definition: &Definition, version: &Version) -> String {
    let paths = Paths::new(model);
    let mut body = root::print(model, &paths, definition, version);
    for item in &model.items {
        body.push('\n');
        match item {
            Item::Struct(item) => print_struct(&mut body, item, &paths, &model.root.name),
            Item::Enum(item) => print_enum(&mut body, item, &paths, &model.root.name),
        }
    }
    for helper in HELPERS {
        if (helper.is_used)(model) {
            body.push('\n');
            body.push_str(&helper.text(&paths));
        }
    }
    let imports = paths.imports();
    let (kind, group, version) = (&definition.kind, &definition.group, &version.name);
    format!("//! `{kind}` of `{group}/{version}`: its types, from its schema.\n\n{imports}\n{body}")
}

fn print_struct(text: &mut String, item: &Struct, paths: &Paths<'_>, root: &str) {
    let about = format!("The object at `{}` of `{root}`.", docs::plain(&item.path));
    print_docs(text, "", &docs::lines(&about));
    text.push_str(&format!(
        "#[derive({DERIVES})]\n#[serde(rename_all = \"camelCase\")]\n"
    ));
    text.push_str(&item_header("struct", &item.name));
    print_fields(text, item, paths, Direction::Both);
    if let Some(rest) = &item.rest {
        print_rest(text, rest, &["flatten".to_owned()], paths);
    }
    text.push_str("}\n");
}

/// Prints a type with derives. The object itself has hand-written code, for its `apiVersion` and `kind`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Both,
    Reading,
}

pub(super) fn print_fields(text: &mut String, item: &Struct, paths: &Paths<'_>, direction: Direction) {
    for field in &item.fields {
        print_docs(text, "    ", &field.docs);
        let mut options = serde_options(field, paths);
        options.retain(|option| direction == Direction::Both || !option.starts_with(SKIP));
        print_attribute(text, &options);
        print_field(text, &field.name, &field_type(field, paths));
    }
}

/// The field for unknown properties.
pub(super) fn print_rest(text: &mut String, name: &str, options: &[String], paths: &Paths<'_>) {
    print_docs(
        text,
        "    ",
        &["All properties that the schema does not name, unchanged.".to_owned()],
    );
    print_attribute(text, options);
    let values = Type::Map(Box::new(Type::Basic(Basic::Value)));
    print_field(text, name, &paths.of_type(&values));
}

fn print_field(text: &mut String, name: &str, type_: &Layout) {
    let line = type_.line();
    let first = format!("    pub {name}:");
    if first.len() + 1 + line.len() < WIDTH {
        text.push_str(&format!("{first} {line},\n"));
    } else if 8 + line.len() < WIDTH {
        text.push_str(&format!("{first}\n        {line},\n"));
    } else {
        text.push_str(&format!("{first} {},\n", type_.broken(4, WIDTH)));
    }
}

/// The type of a field, wrapped according to its presence.
pub(super) fn field_type(field: &Field, paths: &Paths<'_>) -> Layout {
    let type_ = paths.of_type(&field.type_);
    match field.presence {
        Presence::UnlessNull => type_,
        Presence::Required => paths.required(type_),
        Presence::RequiredNullable if field.type_.holds_null() => paths.required(type_),
        Presence::RequiredNullable => paths.required(paths.option(type_)),
        Presence::Optional => paths.option(type_),
        Presence::OptionalNullable if field.type_.holds_null() => paths.option(type_),
        Presence::OptionalNullable => paths.option(paths.option(type_)),
    }
}

fn serde_options(field: &Field, paths: &Paths<'_>) -> Vec<String> {
    let mut options = Vec::new();
    if !is_serde_name(&field.name, &field.json) {
        options.push(format!("rename = {}", literal(&field.json)));
    }
    let skip = |function: String| format!("{SKIP} = \"{function}\"");
    let is_none = format!("{}::is_none", paths.of("Option"));
    match field.presence {
        Presence::Required => {
            options.push("default".to_owned());
            options.push(skip(format!("{}::is_absent", paths.of("Required"))));
        }
        Presence::UnlessNull => {
            options.push("default".to_owned());
            options.push(skip(format!("{}::is_null", paths.of("Value"))));
        }
        Presence::Optional => options.push(skip(is_none)),
        Presence::RequiredNullable => {
            let required = paths.of("Required");
            options.push("default".to_owned());
            options.push(format!("deserialize_with = \"{required}::nullable\""));
            options.push(skip(format!("{required}::is_absent")));
        }
        Presence::OptionalNullable => {
            options.push("default".to_owned());
            options.push("deserialize_with = \"present\"".to_owned());
            options.push(skip(is_none));
        }
    }
    options
}

/// The options that decode missing and null as the default.
pub(super) fn read_leniently() -> [String; 2] {
    [
        "default".to_owned(),
        "deserialize_with = \"or_default\"".to_owned(),
    ]
}

/// `#[serde(..)]` above a field.
pub(super) fn print_attribute(text: &mut String, options: &[String]) {
    if options.is_empty() {
        return;
    }
    let line = options.join(", ");
    if line.len() <= ATTRIBUTE_WIDTH {
        text.push_str(&format!("    #[serde({line})]\n"));
    } else {
        let lines = options.join(",\n        ");
        text.push_str(&format!("    #[serde(\n        {lines}\n    )]\n"));
    }
}

fn print_enum(text: &mut String, item: &Enum, paths: &Paths<'_>, root: &str) {
    let path = docs::plain(&item.path);
    let other = &item.other;
    let about = format!(
        "A value of `{path}` of `{root}`.\n\n\
         A value that is not in the schema, for example of a newer server, is `{other}`."
    );
    print_docs(text, "", &docs::lines(&about));
    let has_empty = item.variants.iter().any(|variant| variant.value.is_empty());
    let derives = if has_empty {
        ENUM_DERIVES_WITH_DEFAULT
    } else {
        ENUM_DERIVES
    };
    text.push_str(&format!(
        "#[derive({derives})]\n{}",
        item_header("enum", &item.name)
    ));
    for variant in &item.variants {
        let value = docs::plain(&variant.value);
        print_docs(text, "    ", &[format!("`\"{value}\"`.")]);
        if variant.value != variant.name {
            print_attribute(text, &[format!("rename = {}", literal(&variant.value))]);
        }
        if variant.value.is_empty() {
            text.push_str("    #[default]\n");
        }
        text.push_str(&format!("    {},\n", variant.name));
    }
    print_docs(text, "    ", &["Any other value.".to_owned()]);
    let string = paths.of("String");
    text.push_str(&format!("    #[serde(untagged)]\n    {other}({string}),\n}}\n"));
    if !has_empty {
        let header = impl_header(&paths.of("Default"), &item.name);
        text.push_str(&format!(
            "\n{header}    fn default() -> Self {{\n        Self::{other}({string}::new())\n    }}\n}}\n"
        ));
    }
}

/// `pub struct Name {`.
fn item_header(what: &str, name: &str) -> String {
    let line = format!("pub {what} {name} {{\n");
    if line.len() <= WIDTH + 1 {
        line
    } else {
        format!("pub {what} {name}\n{{\n")
    }
}

/// `impl Trait for Type {`.
pub(super) fn impl_header(name: &str, type_: &str) -> String {
    let line = format!("impl {name} for {type_} {{\n");
    if line.len() <= WIDTH + 1 {
        line
    } else {
        format!("impl {name}\n    for {type_}\n{{\n")
    }
}

/// Lines of documentation above an item.
pub(super) fn print_docs(text: &mut String, indent: &str, lines: &[String]) {
    for line in lines {
        let space = if line.is_empty() { "" } else { " " };
        text.push_str(&format!("{indent}///{space}{line}\n"));
    }
}

/// A Rust string literal. Invisible characters and those that change the direction of text are escaped.
pub(super) fn literal(text: &str) -> String {
    format!("{text:?}")
}

/// A helper function, printed only if an attribute names it.
struct Helper {
    is_used: fn(&Model) -> bool,
    docs: &'static str,
    /// `{Result}` and other names in braces are replaced by those of the module.
    text: &'static str,
}

const HELPERS: [Helper; 3] = [
    Helper {
        // The metadata always use it.
        is_used: |_| true,
        docs: "Reads null as the default, so that null does not make an object undecodable.",
        text: "\
fn or_default<'de, D, T>(deserializer: D) -> {Result}<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: {Default} + serde::Deserialize<'de>,
{
    let value: {Option}<T> = serde::Deserialize::deserialize(deserializer)?;
    Ok(value.unwrap_or_default())
}
",
    },
    Helper {
        is_used: |model| has_presence(model, Presence::OptionalNullable),
        docs: "Reads null as a value, which is not the same as nothing.",
        text: "\
fn present<'de, D, T>(deserializer: D) -> {Result}<{Option}<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::Deserialize<'de>,
{
    serde::Deserialize::deserialize(deserializer).map(Some)
}
",
    },
    Helper {
        is_used: |model| model.root.rest.is_some(),
        docs: "Reads unknown properties, except `apiVersion` and `kind`.",
        text: "\
fn untyped<'de, D, V>(deserializer: D) -> {Result}<{BTreeMap}<{String}, V>, D::Error>
where
    D: serde::Deserializer<'de>,
    V: serde::Deserialize<'de>,
{
    let mut rest = serde::Deserialize::deserialize(deserializer)?;
    {BTreeMap}::remove(&mut rest, \"apiVersion\");
    {BTreeMap}::remove(&mut rest, \"kind\");
    Ok(rest)
}
",
    },
];

impl Helper {
    fn text(&self, paths: &Paths<'_>) -> String {
        let mut text = self.text.to_owned();
        for name in ["BTreeMap", "Default", "Option", "Result", "String"] {
            let place = format!("{{{name}}}");
            if text.contains(&place) {
                text = text.replace(&place, &paths.of(name));
            }
        }
        format!("/// {}\n{text}", self.docs)
    }
}

fn has_presence(model: &Model, presence: Presence) -> bool {
    let structs = model.items.iter().filter_map(|item| match item {
        Item::Struct(item) => Some(item),
        Item::Enum(_) => None,
    });
    let mut fields = structs.chain([&model.root]).flat_map(|item| &item.fields);
    fields.any(|field| field.presence == presence)
}
