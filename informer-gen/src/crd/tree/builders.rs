//! Methods that set one field and return the struct.

use quote::ToTokens as _;
use syn::{Fields, GenericArgument, Item, ItemStruct, PathArguments, Type};

use super::Docs;

/// The methods of every struct in a file of types.
pub(super) fn builders(file: &syn::File, docs: Docs) -> String {
    let structs = file.items.iter().filter_map(|item| match item {
        Item::Struct(item) => Some(item),
        _ => None,
    });
    structs.map(|item| methods(item, docs)).collect()
}

fn methods(item: &ItemStruct, docs: Docs) -> String {
    let Fields::Named(fields) = &item.fields else {
        return String::new();
    };
    let methods: Vec<String> = fields
        .named
        .iter()
        .filter_map(|field| Some(method(&field.ident.as_ref()?.to_string(), &field.ty, docs)))
        .collect();
    match methods.is_empty() {
        true => String::new(),
        false => format!("\nimpl {} {{\n{}}}\n", item.ident, methods.join("\n")),
    }
}

fn method(name: &str, type_: &Type, docs: Docs) -> String {
    let (parameter, value) = match wrapped(type_) {
        Some(("Option", inner)) => (inner, "Some(value.into())"),
        Some((_, inner)) => (inner, "::informers::crd::Required::new(value.into())"),
        None => (type_, "value.into()"),
    };
    let parameter = text(parameter);
    let about = match docs {
        Docs::None => String::new(),
        _ => format!("    /// Sets `{name}`.\n"),
    };
    format!(
        "{about}    #[must_use]
    pub fn with_{name}(mut self, value: impl Into<{parameter}>) -> Self {{
        self.{name} = {value};
        self
    }}
"
    )
}

/// The type in an `Option` or a `Required`.
fn wrapped(type_: &Type) -> Option<(&'static str, &Type)> {
    let Type::Path(path) = type_ else { return None };
    let last = path.path.segments.last()?;
    let wrapper = match last.ident.to_string().as_str() {
        "Option" => "Option",
        "Required" => "Required",
        _ => return None,
    };
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    match arguments.args.first()? {
        GenericArgument::Type(inner) => Some((wrapper, inner)),
        _ => None,
    }
}

/// A type in one line.
fn text(type_: &Type) -> String {
    let tokens = type_.to_token_stream().to_string();
    tokens.replace(' ', "").replace(',', ", ")
}
