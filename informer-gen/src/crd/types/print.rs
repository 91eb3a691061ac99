//! Prints the types in the layout of rustfmt's default settings.

use super::comments;
use super::library::{Home, Library};
use super::model::{Basic, Enum, Field, Item, Presence, Struct, Type};
use super::paths::{Layout, Paths};
use super::root;
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

impl Library<'_> {
    /// The text of the module of a kind in a version, by position.
    pub(in crate::crd) fn print(&self, module: usize) -> String {
        let Some(kind) = self.modules.get(module) else {
            return String::new();
        };
        let home = Home::Module(module);
        let paths = Paths::new(self, home);
        let mut body = root::print(kind, &paths);
        self.print_types(&mut body, home, &paths);
        let imports = paths.imports();
        let (name, group, version) = (&kind.definition.kind, &kind.definition.group, &kind.version.name);
        format!("//! `{name}` of `{group}/{version}`: its types, from its schema.\n\n{imports}\n{body}")
    }

    /// The text of the module of the types of several kinds; `None` if there are none.
    pub(in crate::crd) fn print_shared(&self) -> Option<String> {
        let paths = Paths::new(self, Home::Shared);
        let mut body = String::new();
        self.print_types(&mut body, Home::Shared, &paths);
        let imports = paths.imports();
        let body = match imports.is_empty() {
            true => body.trim_start(),
            false => &body,
        };
        let text =
            format!("//! Types of several kinds: shared types, from their schemas.\n\n{imports}{body}");
        (self.shared_count() > 0).then_some(text)
    }

    fn print_types(&self, text: &mut String, home: Home, paths: &Paths<'_>) {
        for entry in self.entries_of(home) {
            text.push('\n');
            match &entry.item {
                Item::Struct(item) => {
                    print_docs(text, "", &comments::structure(self, entry));
                    print_struct(text, &entry.name, item, paths);
                }
                Item::Enum(item) => {
                    print_docs(text, "", &comments::enumeration(self, entry, item));
                    print_enum(text, &entry.name, item, paths);
                }
            }
        }
    }
}

fn print_struct(text: &mut String, name: &str, item: &Struct, paths: &Paths<'_>) {
    text.push_str(&format!(
        "#[derive({DERIVES})]\n#[serde(rename_all = \"camelCase\")]\n"
    ));
    text.push_str(&item_header("struct", name));
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
        print_docs(text, "    ", &comments::field(field, paths.docs()));
        let mut options = serde_options(field, paths);
        options.retain(|option| direction == Direction::Both || !option.starts_with(SKIP));
        print_attribute(text, &options);
        print_field(text, &field.name, &field_type(field, paths));
    }
}

/// The field for unknown properties.
pub(super) fn print_rest(text: &mut String, name: &str, options: &[String], paths: &Paths<'_>) {
    let about = "All properties that the schema does not name, unchanged.";
    print_docs(text, "    ", &comments::fixed(about, paths.docs()));
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
            options.push("deserialize_with = \"informers::crd::present\"".to_owned());
            options.push(skip(is_none));
        }
    }
    options
}

/// The options that decode missing and null as the default.
pub(super) fn read_leniently() -> [String; 2] {
    [
        "default".to_owned(),
        "deserialize_with = \"informers::crd::or_default\"".to_owned(),
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

fn print_enum(text: &mut String, name: &str, item: &Enum, paths: &Paths<'_>) {
    let other = &item.other;
    let has_empty = item.variants.iter().any(|variant| variant.value.is_empty());
    let derives = if has_empty {
        ENUM_DERIVES_WITH_DEFAULT
    } else {
        ENUM_DERIVES
    };
    text.push_str(&format!("#[derive({derives})]\n{}", item_header("enum", name)));
    for variant in &item.variants {
        print_docs(text, "    ", &comments::variant(variant, paths.docs()));
        if variant.value != variant.name {
            print_attribute(text, &[format!("rename = {}", literal(&variant.value))]);
        }
        if variant.value.is_empty() {
            text.push_str("    #[default]\n");
        }
        text.push_str(&format!("    {},\n", variant.name));
    }
    print_docs(text, "    ", &comments::fixed("Any other value.", paths.docs()));
    let string = paths.of("String");
    text.push_str(&format!("    #[serde(untagged)]\n    {other}({string}),\n}}\n"));
    if !has_empty {
        let header = impl_header(&paths.of("Default"), name);
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
fn impl_header(name: &str, type_: &str) -> String {
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
