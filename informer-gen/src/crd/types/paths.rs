//! Names of imported items in generated code: short, unless a generated type has the same name.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::model::{Basic, Model, Type};

/// Types that are imported, each with the module it is in.
const IMPORTS: [(&str, &str); 12] = [
    ("BTreeMap", "std::collections"),
    ("ByteString", "k8s_openapi"),
    ("Condition", "k8s_openapi::apimachinery::pkg::apis::meta::v1"),
    ("IntOrString", "k8s_openapi::apimachinery::pkg::util::intstr"),
    ("MicroTime", "k8s_openapi::apimachinery::pkg::apis::meta::v1"),
    // The re-export of k8s-openapi, so that users need no dependency on serde_json.
    ("Number", "k8s_openapi::serde_json"),
    ("ObjectMeta", "k8s_openapi::apimachinery::pkg::apis::meta::v1"),
    // It keeps a number as it is.
    ("Quantity", "informers::crd"),
    ("Required", "informers::crd"),
    ("Time", "k8s_openapi::apimachinery::pkg::apis::meta::v1"),
    ("Value", "k8s_openapi::serde_json"),
    ("Cow", "std::borrow"),
];

/// Items of the prelude, unless a generated type shadows them.
const PRELUDE: [(&str, &str); 5] = [
    ("Default", "std::default"),
    ("Option", "std::option"),
    ("Result", "std::result"),
    ("String", "std::string"),
    ("Vec", "std::vec"),
];

/// Traits of the prelude whose methods are called.
const TRAITS: [(&str, &str); 2] = [("Default", "std::default"), ("ToOwned", "std::borrow")];

/// The names in use in one module.
pub(super) struct Paths<'a> {
    model: &'a Model,
    generated: BTreeSet<&'a str>,
    /// The requested names, to be imported. Searching the text would not do: a property may be called `Time`.
    used: RefCell<BTreeSet<&'static str>>,
}

impl<'a> Paths<'a> {
    pub(super) fn new(model: &'a Model) -> Self {
        let items = model.items.iter().map(|item| item.name());
        Self {
            model,
            generated: items.chain([model.root.name.as_str()]).collect(),
            used: RefCell::default(),
        }
    }

    /// The name of an item, short if possible.
    pub(super) fn of(&self, name: &str) -> String {
        let known = IMPORTS.iter().chain(&PRELUDE).find(|(known, _)| *known == name);
        match known {
            Some((_, module)) if self.generated.contains(name) => format!("::{module}::{name}"),
            Some((known, _)) => {
                self.used.borrow_mut().insert(known);
                name.to_owned()
            }
            None => name.to_owned(),
        }
    }

    /// The type of a value as it is written in a field.
    pub(super) fn of_type(&self, type_: &Type) -> Layout {
        match type_ {
            Type::Basic(basic) => Layout::name(self.of(basic_name(*basic))),
            Type::Array(element) => Layout::generic(self.of("Vec"), vec![self.of_type(element)]),
            Type::Map(value) => {
                let key = Layout::name(self.of("String"));
                Layout::generic(self.of("BTreeMap"), vec![key, self.of_type(value)])
            }
            Type::Nullable(value) => self.option(self.of_type(value)),
            Type::Item(place) => {
                let item = self.model.items.get(*place);
                Layout::name(item.map_or_else(String::new, |item| item.name().to_owned()))
            }
        }
    }

    /// A field that may be absent although it is required.
    pub(super) fn required(&self, inner: Layout) -> Layout {
        Layout::generic(self.of("Required"), vec![inner])
    }

    pub(super) fn option(&self, inner: Layout) -> Layout {
        Layout::generic(self.of("Option"), vec![inner])
    }

    /// The imports of the requested names, in rustfmt's order.
    pub(super) fn imports(&self) -> String {
        let used = self.used.borrow();
        let is_used = |name: &str| used.contains(name);
        let mut modules: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for (name, module) in IMPORTS.iter().filter(|(name, _)| is_used(name)) {
            modules.entry(module).or_default().insert((*name).to_owned());
        }
        for (name, module) in TRAITS.iter().filter(|(name, _)| self.generated.contains(name)) {
            modules.entry(module).or_default().insert(format!("{name} as _"));
        }
        let mut groups = [String::new(), String::new()];
        for (module, names) in modules {
            let [std, others] = &mut groups;
            let group = if module.starts_with("std") { std } else { others };
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            match names.as_slice() {
                [name] => group.push_str(&format!("use {module}::{name};\n")),
                names => group.push_str(&format!("use {module}::{{{}}};\n", names.join(", "))),
            }
        }
        let groups: Vec<&str> = groups
            .iter()
            .map(String::as_str)
            .filter(|group| !group.is_empty())
            .collect();
        groups.join("\n")
    }
}

fn basic_name(basic: Basic) -> &'static str {
    match basic {
        Basic::Bool => "bool",
        Basic::I32 => "i32",
        Basic::I64 => "i64",
        Basic::Number => "Number",
        Basic::String => "String",
        Basic::ByteString => "ByteString",
        Basic::Time => "Time",
        Basic::MicroTime => "MicroTime",
        Basic::IntOrString => "IntOrString",
        Basic::Quantity => "Quantity",
        Basic::Value => "Value",
        Basic::Condition => "Condition",
        Basic::ObjectMeta => "ObjectMeta",
    }
}

/// A type as text that may have to be broken into lines.
pub(super) struct Layout {
    name: String,
    arguments: Vec<Layout>,
}

impl Layout {
    fn name(name: String) -> Self {
        Self {
            name,
            arguments: Vec::new(),
        }
    }

    fn generic(name: String, arguments: Vec<Self>) -> Self {
        Self { name, arguments }
    }

    /// The type in one line.
    pub(super) fn line(&self) -> String {
        if self.arguments.is_empty() {
            return self.name.clone();
        }
        let arguments: Vec<String> = self.arguments.iter().map(Self::line).collect();
        format!("{}<{}>", self.name, arguments.join(", "))
    }

    /// The type in lines of at most `width`, if possible; `indent` is the indentation of the first line.
    pub(super) fn broken(&self, indent: usize, width: usize) -> String {
        if self.arguments.is_empty() {
            return self.name.clone();
        }
        let inner = indent + 4;
        let mut text = format!("{}<\n", self.name);
        for argument in &self.arguments {
            let line = argument.line();
            let fits = inner + line.len() < width;
            let argument = if fits { line } else { argument.broken(inner, width) };
            text.push_str(&format!("{:inner$}{argument},\n", ""));
        }
        text.push_str(&format!("{:indent$}>", ""));
        text
    }
}
