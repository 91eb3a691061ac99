//! Names of imported items in generated code: short, unless a generated type has the same name.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::imports;
use super::library::{Entry, Home, Library};
use super::model::{Basic, Reused, Type};
use crate::crd::Docs;

/// Types that are imported, each with the module it is in.
const IMPORTS: [(&str, &str); 11] = [
    ("BTreeMap", "std::collections"),
    ("ByteString", "k8s_openapi"),
    ("Condition", "informers::crd"),
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
];

/// Items of the prelude, unless a generated type shadows them.
const PRELUDE: [(&str, &str); 5] = [
    ("Default", "std::default"),
    ("Option", "std::option"),
    ("Result", "std::result"),
    ("String", "std::string"),
    ("Vec", "std::vec"),
];

/// The names of [`IMPORTS`] and [`PRELUDE`].
pub(super) fn imported_names() -> impl Iterator<Item = &'static str> {
    IMPORTS.iter().chain(&PRELUDE).map(|(name, _)| *name)
}

/// The names in use in one module.
pub(super) struct Paths<'a> {
    library: &'a Library<'a>,
    home: Home,
    generated: BTreeSet<&'a str>,
    /// The requested names, to be imported. Searching the text would not do: a property may be called `Time`.
    used: RefCell<BTreeSet<&'static str>>,
    /// The requested structs of other crates, each with its module.
    reused: RefCell<BTreeMap<String, String>>,
    /// The requested types of other modules.
    entries: RefCell<BTreeSet<usize>>,
}

impl<'a> Paths<'a> {
    pub(super) fn new(library: &'a Library<'a>, home: Home) -> Self {
        let is_used = |entry: &&Entry| match home {
            Home::Module(module) => entry.uses.iter().any(|one| one.module == module),
            Home::Shared => entry.home == Home::Shared,
        };
        let names = library
            .entries
            .iter()
            .filter(is_used)
            .map(|entry| entry.name.as_str());
        let root = match home {
            Home::Module(module) => library.modules.get(module).map(|module| module.name.as_str()),
            Home::Shared => None,
        };
        Self {
            library,
            home,
            generated: names.chain(root).collect(),
            used: RefCell::default(),
            reused: RefCell::default(),
            entries: RefCell::default(),
        }
    }

    /// How long the documentation is.
    pub(super) fn docs(&self) -> Docs {
        self.library.docs
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
            Type::Item(position) => {
                self.entries.borrow_mut().insert(*position);
                let entry = self.library.entries.get(*position);
                Layout::name(entry.map_or_else(String::new, |entry| entry.name.clone()))
            }
            Type::Reused(reused) => Layout::name(self.reused(*reused)),
        }
    }

    /// The name of an existing struct, short if no other item has it.
    fn reused(&self, reused: Reused) -> String {
        let path = reused.path();
        let (module, name) = path.rsplit_once("::").unwrap_or(("", &path));
        let mut known = self.reused.borrow_mut();
        let is_taken = self.generated.contains(name) || imported_names().any(|known| known == name);
        let mut is_other = || *known.entry(name.to_owned()).or_insert(module.to_owned()) != module;
        match is_taken || is_other() {
            true => format!("::{path}"),
            false => name.to_owned(),
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
        let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut add = |module: &str, name: String| {
            modules.entry(module.to_owned()).or_default().insert(name);
        };
        for (name, module) in IMPORTS.iter().filter(|(name, _)| is_used(name)) {
            add(module, (*name).to_owned());
        }
        for (name, module) in self.reused.borrow().iter() {
            add(module, (*name).to_owned());
        }
        let mut groups = [String::new(), String::new(), self.reexports()];
        for (module, names) in modules {
            let [std, others, _] = &mut groups;
            let group = if module.starts_with("std") { std } else { others };
            group.push_str(&imports::statement("use", &module, &names));
        }
        let groups: Vec<&str> = groups
            .iter()
            .map(String::as_str)
            .filter(|group| !group.is_empty())
            .collect();
        groups.join("\n")
    }
}

impl Paths<'_> {
    /// The types of other modules. They are exported again, so that they can also be found here.
    fn reexports(&self) -> String {
        let Home::Module(module) = self.home else {
            return String::new();
        };
        let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for position in self.entries.borrow().iter() {
            let Some(entry) = self.library.entries.get(*position) else {
                continue;
            };
            let path = match entry.home {
                Home::Module(home) if home == module => continue,
                Home::Module(home) => {
                    let Some(module) = self.library.modules.get(home) else {
                        continue;
                    };
                    format!(
                        "super::super::{}::{}",
                        module.address.version, module.address.kind
                    )
                }
                Home::Shared => "super::super::super::shared".to_owned(),
            };
            modules.entry(path).or_default().insert(entry.name.clone());
        }
        let statements = modules
            .iter()
            .map(|(module, names)| imports::statement("pub use", module, names));
        statements.collect()
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
