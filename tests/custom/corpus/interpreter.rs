//! Executes the text of generated types: decodes an object and encodes it again, as serde's derives would.
//!
//! It knows the attributes and types that the generator uses and panics at any other, so that a new one
//! cannot pass untested.

use std::collections::{BTreeMap, HashMap};

use quote::ToTokens as _;
use serde_json::{Map, Value};
use syn::{Attribute, Expr, ExprLit, Fields, GenericArgument, Ident, Item, Lit, PathArguments, UseTree};

use super::natives::native;

/// The types of a generated tree.
pub(super) struct Program {
    /// By full path: `example_com::v1::foo::FooSpec`.
    types: HashMap<String, Declared>,
    /// The imported names of each module, with their full paths.
    imports: HashMap<String, HashMap<String, String>>,
}

/// A type that generated code declares.
enum Declared {
    Struct(Vec<Field>),
    /// A string: one of these values, or any one.
    Enum(Option<Vec<String>>),
}

struct Field {
    json: String,
    type_: Type,
    is_default: bool,
    decoder: Option<String>,
    skip: Option<String>,
    is_flat: bool,
}

/// A type in a field, resolved.
#[derive(Clone, Debug)]
enum Type {
    Option(Box<Type>),
    Required(Box<Type>),
    Vec(Box<Type>),
    Map(Box<Type>),
    /// A declared or native type by its path.
    Path(String),
}

/// A decoded field.
enum Decoded {
    /// `None`.
    None,
    /// A `Required` without a value.
    Absent,
    /// What it is encoded as.
    Json(Value),
}

impl Program {
    pub(super) fn new(files: &BTreeMap<String, String>) -> Self {
        let mut program = Self {
            types: HashMap::new(),
            imports: HashMap::new(),
        };
        let mut parsed = Vec::new();
        for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".rs")) {
            let module = path.trim_end_matches(".rs").replace('/', "::");
            let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
            let mut imports = HashMap::new();
            for item in &file.items {
                if let Item::Use(item) = item {
                    import(&item.tree, &mut Vec::new(), &module, &mut imports);
                }
            }
            for item in &file.items {
                let name = match item {
                    Item::Struct(item) => &item.ident,
                    Item::Enum(item) => &item.ident,
                    _ => continue,
                };
                imports.insert(name.to_string(), format!("{module}::{name}"));
            }
            program.imports.insert(module.clone(), imports);
            parsed.push((module, file));
        }
        for (module, file) in &parsed {
            for item in &file.items {
                if let Some((name, declared)) = program.declared(module, item) {
                    program.types.insert(format!("{module}::{name}"), declared);
                }
            }
        }
        program
    }

    /// Decodes an object with the type of a kind in a module, and encodes it.
    pub(super) fn pass(
        &self,
        module: &str,
        api_version: &str,
        kind: &str,
        object: &Value,
    ) -> Result<Value, String> {
        let name = informer_gen::crd::types::type_name(kind).expect("the kind is a type");
        let path = format!("{module}::{name}");
        let Some(Declared::Struct(fields)) = self.types.get(&path) else {
            panic!("no struct {path}");
        };
        let mut written = self.structure(fields, object)?;
        written.insert("apiVersion".to_owned(), api_version.into());
        written.insert("kind".to_owned(), kind.into());
        Ok(Value::Object(written))
    }

    fn structure(&self, fields: &[Field], value: &Value) -> Result<Map<String, Value>, String> {
        let Value::Object(given) = value else {
            return Err(format!("{} in place of an object", short(value)));
        };
        let mut written = Map::new();
        for field in fields.iter().filter(|field| !field.is_flat) {
            let decoded = self.field(field, given.get(&field.json));
            let decoded = decoded.map_err(|error| format!("{}: {error}", field.json))?;
            let value = match (decoded, field.skip.as_deref()) {
                (Decoded::None, Some("is_none")) | (Decoded::Absent, Some("is_absent")) => continue,
                (Decoded::Json(Value::Null), Some("is_null")) => continue,
                (Decoded::None, _) => Value::Null,
                (Decoded::Absent, _) => panic!("an absent field would be written: {}", field.json),
                (Decoded::Json(value), _) => value,
            };
            written.insert(field.json.clone(), value);
        }
        if let Some(rest) = fields.iter().find(|field| field.is_flat) {
            let is_known = |name: &str| fields.iter().any(|field| !field.is_flat && field.json == name);
            let is_meta = |name: &str| rest.decoder.is_some() && matches!(name, "apiVersion" | "kind");
            let others = given.iter().filter(|(name, _)| !is_known(name) && !is_meta(name));
            written.extend(others.map(|(name, value)| (name.clone(), value.clone())));
        }
        Ok(written)
    }

    fn field(&self, field: &Field, given: Option<&Value>) -> Result<Decoded, String> {
        let Some(value) = given else {
            return match (&field.type_, field.is_default, &field.decoder) {
                (Type::Option(_), true, _) | (Type::Option(_), false, None) => Ok(Decoded::None),
                (Type::Required(_), true, _) => Ok(Decoded::Absent),
                (Type::Path(path), true, _) if path.ends_with("::Value") => Ok(Decoded::Json(Value::Null)),
                (Type::Path(path), true, _) if path.ends_with("::ObjectMeta") => {
                    Ok(Decoded::Json(Value::Object(Map::new())))
                }
                (type_, true, _) => panic!("the default of {type_:?} is not known"),
                _ => Err("missing".to_owned()),
            };
        };
        match (field.decoder.as_deref(), &field.type_) {
            (None, Type::Option(_)) if value.is_null() => Ok(Decoded::None),
            (None, Type::Required(_)) if value.is_null() => Ok(Decoded::Absent),
            (Some("or_default"), Type::Path(_)) if value.is_null() => {
                Ok(Decoded::Json(Value::Object(Map::new())))
            }
            (Some("nullable"), Type::Required(inner)) | (Some("present"), Type::Option(inner)) => {
                self.value(inner, value).map(Decoded::Json)
            }
            (None | Some("or_default"), type_) => self.value(type_, value).map(Decoded::Json),
            (Some(decoder), type_) => panic!("the decoder {decoder} of {type_:?} is not known"),
        }
    }

    fn value(&self, type_: &Type, value: &Value) -> Result<Value, String> {
        match (type_, value) {
            (Type::Option(_), Value::Null) => Ok(Value::Null),
            (Type::Option(inner) | Type::Required(inner), value) => self.value(inner, value),
            (Type::Vec(inner), Value::Array(elements)) => elements
                .iter()
                .map(|element| self.value(inner, element))
                .collect(),
            (Type::Map(inner), Value::Object(fields)) => {
                let fields = fields
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), self.value(inner, value)?)));
                fields.collect::<Result<_, String>>().map(Value::Object)
            }
            (Type::Vec(_) | Type::Map(_), value) => Err(format!("{} in place of {type_:?}", short(value))),
            (Type::Path(path), value) => match (self.types.get(path), native(path)) {
                (Some(Declared::Struct(fields)), _) => self.structure(fields, value).map(Value::Object),
                (Some(Declared::Enum(values)), _) => match (value.as_str(), values) {
                    (Some(_), None) => Ok(value.clone()),
                    (Some(text), Some(values)) if values.iter().any(|known| known == text) => {
                        Ok(value.clone())
                    }
                    (Some(_), Some(_)) => Err(format!("{} is no variant", short(value))),
                    (None, _) => Err(format!("{} in place of a string", short(value))),
                },
                (None, Some(pass)) => pass(value),
                (None, None) => panic!("the type {path} is not known"),
            },
        }
    }

    fn declared(&self, module: &str, item: &Item) -> Option<(String, Declared)> {
        match item {
            Item::Enum(item) => {
                let last = item.variants.last().expect("an enum has variants");
                let values = item.variants.iter().map(|variant| {
                    let renamed = serde_options(&variant.attrs).remove("rename").flatten();
                    renamed.unwrap_or_else(|| plain(&variant.ident))
                });
                let is_open = serde_options(&last.attrs).contains_key("untagged");
                let values = (!is_open).then(|| values.collect());
                Some((item.ident.to_string(), Declared::Enum(values)))
            }
            Item::Struct(item) => {
                let Fields::Named(fields) = &item.fields else {
                    return None;
                };
                let json = match serde_options(&item.attrs)
                    .remove("rename_all")
                    .flatten()
                    .as_deref()
                {
                    Some("camelCase") => camel,
                    None => str::to_owned,
                    Some(other) => panic!("the rule {other} is not known"),
                };
                let derives = item
                    .attrs
                    .iter()
                    .filter(|attribute| attribute.path().is_ident("derive"));
                let mut derives = derives.map(|attribute| attribute.to_token_stream().to_string());
                let is_root = !derives.any(|derives| derives.contains("Serialize"));
                let fields = fields.named.iter().map(|field| {
                    let mut options = serde_options(&field.attrs);
                    let mut take = |name: &str| options.remove(name);
                    let last = |path: Option<String>| {
                        path.and_then(|path| Some(path.rsplit("::").next()?.to_owned()))
                    };
                    let name = plain(field.ident.as_ref().expect("the field has a name"));
                    let read = Field {
                        json: take("rename").flatten().unwrap_or_else(|| json(&name)),
                        type_: self.resolved(module, &field.ty),
                        is_default: take("default").is_some(),
                        decoder: last(take("deserialize_with").flatten()),
                        skip: last(take("skip_serializing_if").flatten()),
                        is_flat: take("flatten").is_some(),
                    };
                    assert!(options.is_empty(), "unknown attributes of {name}: {options:?}");
                    let skip = read
                        .skip
                        .or_else(|| is_root.then(|| skipped_by_root(&read.type_)).flatten());
                    Field { skip, ..read }
                });
                Some((item.ident.to_string(), Declared::Struct(fields.collect())))
            }
            _ => None,
        }
    }

    fn resolved(&self, module: &str, type_: &syn::Type) -> Type {
        let syn::Type::Path(type_) = type_ else {
            panic!("a field of {module} has an unusual type");
        };
        let names: Vec<String> = type_
            .path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        let last = type_.path.segments.last().expect("a path has a segment");
        let arguments: Vec<Type> = match &last.arguments {
            PathArguments::AngleBracketed(arguments) => arguments
                .args
                .iter()
                .filter_map(|argument| match argument {
                    GenericArgument::Type(type_) => Some(self.resolved(module, type_)),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        };
        let path = names.join("::");
        let path = match names.as_slice() {
            [name] => self.imports[module].get(name).cloned().unwrap_or(path),
            _ => path,
        };
        let inner = || Box::new(arguments.last().expect("it has an argument").clone());
        match path.as_str() {
            "Option" | "std::option::Option" => Type::Option(inner()),
            "Vec" | "std::vec::Vec" => Type::Vec(inner()),
            "Box" => *inner(),
            "informers::crd::Required" => Type::Required(inner()),
            "std::collections::BTreeMap" | "std::collections::HashMap" => Type::Map(inner()),
            _ => Type::Path(path),
        }
    }
}

/// The condition under which the hand-written encoder of an object skips a field: it has no value.
fn skipped_by_root(type_: &Type) -> Option<String> {
    let condition = match type_ {
        Type::Option(_) => "is_none",
        Type::Required(_) => "is_absent",
        Type::Path(path) if path.ends_with("::Value") => "is_null",
        _ => return None,
    };
    Some(condition.to_owned())
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(40).collect()
}

/// A name without `r#`.
fn plain(name: &Ident) -> String {
    name.to_string().trim_start_matches("r#").to_owned()
}

/// The JSON name of a field without `rename`.
fn camel(name: &str) -> String {
    let mut words = name.split('_').filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (head, tail) = word.split_at(1);
        name + &head.to_ascii_uppercase() + tail
    })
}

/// The options in `#[serde(..)]`, with their values.
fn serde_options(attributes: &[Attribute]) -> HashMap<String, Option<String>> {
    let mut options = HashMap::new();
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("serde"))
    {
        let read = attribute.parse_nested_meta(|meta| {
            let name = meta.path.get_ident().expect("an option is a name").to_string();
            let value = match meta.value() {
                Ok(value) => match value.parse()? {
                    Expr::Lit(ExprLit {
                        lit: Lit::Str(text), ..
                    }) => Some(text.value()),
                    _ => panic!("the value of {name} is no string"),
                },
                Err(_) => None,
            };
            options.insert(name, value);
            Ok(())
        });
        read.expect("the attribute is valid");
    }
    options
}

/// The names that a `use` brings into a module, with full paths.
fn import(tree: &UseTree, path: &mut Vec<String>, module: &str, imports: &mut HashMap<String, String>) {
    match tree {
        UseTree::Path(inner) => {
            path.push(inner.ident.to_string());
            import(&inner.tree, path, module, imports);
            path.pop();
        }
        UseTree::Name(name) => {
            let mut base: Vec<&str> = Vec::new();
            let mut steps = path.iter().map(String::as_str).peekable();
            if matches!(steps.peek(), Some(&("super" | "self"))) {
                base = module.split("::").collect();
                while let Some(step) = steps.next_if(|step| matches!(*step, "super" | "self")) {
                    if step == "super" {
                        base.pop();
                    }
                }
            }
            base.extend(steps);
            let name = name.ident.to_string();
            imports.insert(name.clone(), format!("{}::{name}", base.join("::")));
        }
        UseTree::Group(group) => group
            .items
            .iter()
            .for_each(|tree| import(tree, path, module, imports)),
        UseTree::Rename(_) | UseTree::Glob(_) => {}
    }
}
