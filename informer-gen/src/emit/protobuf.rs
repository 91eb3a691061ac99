//! The decoders of informer-protobuf: one `match` per message, from field numbers to helpers.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};

use super::gate::Gate;
use super::plan::{Group, ident};
use super::source::module_doc;
use crate::inventory::protobuf::{Empty, EmptyValue, Field, GoField, Kind, Message, RustType, Table};
use crate::names;

/// The decoders of one group of k8s-openapi, which is one file.
pub(super) struct File<'a> {
    pub(super) module: &'a str,
    /// The features whose kinds contain a message of this file.
    features: BTreeSet<&'a str>,
    versions: BTreeMap<&'a str, Version<'a>>,
}

#[derive(Default)]
struct Version<'a> {
    messages: Vec<&'a Message>,
    kinds: Vec<&'a Kind>,
}

/// Sorts messages and kinds into files.
pub(super) fn files<'a>(groups: &'a [Group<'a>], table: &'a Table) -> Vec<File<'a>> {
    let by_path: BTreeMap<&str, &Message> = table
        .messages
        .iter()
        .map(|message| (message.path.as_str(), message))
        .collect();
    let mut files: BTreeMap<&str, File<'a>> = BTreeMap::new();
    let mut file = |module: &'a str, edit: &mut dyn FnMut(&mut File<'a>)| {
        edit(files.entry(module).or_insert_with(|| File {
            module,
            features: BTreeSet::new(),
            versions: BTreeMap::new(),
        }));
    };
    for message in &table.messages {
        let Some((module, version)) = place(&message.path) else {
            continue;
        };
        file(module, &mut |file| {
            file.versions.entry(version).or_default().messages.push(message);
        });
    }
    for kind in &table.kinds {
        let Some((module, version)) = place(&kind.path) else {
            continue;
        };
        // A kind that cannot be watched has no informer.
        let Some(group) = groups.iter().find(|group| group.module == module) else {
            continue;
        };
        file(module, &mut |file| {
            file.versions.entry(version).or_default().kinds.push(kind);
        });
        let mut reached = BTreeSet::new();
        reach(&by_path, &kind.path, &mut reached);
        for module in reached.into_iter().filter_map(place).map(|(module, _)| module) {
            file(module, &mut |file| {
                file.features.insert(&group.module);
            });
        }
    }
    files.into_values().collect()
}

/// Adds the paths of all messages that a message contains.
fn reach<'a>(messages: &BTreeMap<&'a str, &'a Message>, path: &str, reached: &mut BTreeSet<&'a str>) {
    let Some((path, message)) = messages.get_key_value(path) else {
        return;
    };
    if reached.insert(path) {
        for field in &message.fields {
            if let Some(path) = field.rust_type.message() {
                reach(messages, path, reached);
            }
        }
    }
}

/// The group and the version of a path: `core` and `v1` of `api::core::v1::Pod`.
fn place(path: &str) -> Option<(&str, &str)> {
    let mut segments = path.rsplit("::").skip(1);
    let version = segments.next()?;
    Some((segments.next()?, version))
}

/// `informers/protobuf/src/generated.rs`.
pub(super) fn root(files: &[File<'_>]) -> TokenStream {
    let head =
        module_doc(&["A module for each group of built-in types, and the look-up by type.".to_owned()]);
    let modules = files.iter().map(|file| {
        let (module, features) = (ident(file.module), &file.features);
        let condition = match features.len() {
            1 => quote!(#(feature = #features)*),
            _ => quote!(any(#(feature = #features),*)),
        };
        quote!(#[cfg(#condition)] mod #module;)
    });
    let groups = files.iter().filter_map(|file| {
        let (module, feature) = (ident(file.module), file.module);
        let kinds: Vec<TokenStream> = file
            .versions
            .iter()
            .flat_map(|(version, part)| part.kinds.iter().map(move |kind| (version, kind)))
            .map(|(version, kind)| {
                let (path, version) = (type_path(&kind.path), ident(version));
                let (cfg, function) = (Gate::new(&kind.releases).attribute(), function_of(&kind.path));
                quote! {
                    #cfg
                    if id == TypeId::of::<#path>() {
                        return cast(&(#module::#version::#function as DecodeProtobuf<#path>));
                    }
                }
            })
            .collect();
        (!kinds.is_empty()).then(|| quote!(#[cfg(feature = #feature)] { #(#kinds)* }))
    });
    quote! {
        #head
        use crate::read::*;
        #(#modules)*
        /// The decoder of a type. The comparisons are constants, so an optimised program contains only the
        /// decoders of the kinds it uses.
        pub(crate) fn find<K: 'static>() -> Option<DecodeProtobuf<K>> {
            let id = TypeId::of::<K>();
            #(#groups)*
            let _ = id;
            None
        }
    }
}

/// `informers/protobuf/src/generated/<group>.rs`.
pub(super) fn file(file: &File<'_>) -> TokenStream {
    let head = module_doc(&[format!("Decoders of the types in `{}`.", file.module)]);
    let versions = file.versions.iter().map(|(version, part)| {
        let gates: Vec<Gate> = part
            .messages
            .iter()
            .map(|message| Gate::new(&message.releases))
            .collect();
        let gate = Gate::union(&gates);
        let (cfg, module) = (gate.attribute(), ident(version));
        let api = part
            .messages
            .iter()
            .find_map(|message| message.path.rsplit_once("::"));
        let api = type_path(api.map_or("", |(module, _)| module));
        let messages = part.messages.iter().map(|message| self::message(message, &gate));
        let kinds = part.kinds.iter().map(|kind| {
            let cfg = Gate::new(&kind.releases).within(&gate);
            let (feature, function, name) = (file.module, function_of(&kind.path), type_name(&kind.path));
            quote! {
                #cfg
                #[cfg(feature = #feature)]
                pub(crate) fn #function(bytes: &[u8], managed: ManagedFields) -> Decoded<api::#name> {
                    decode(bytes, managed)
                }
            }
        });
        quote! {
            #cfg
            pub(super) mod #module {
                use #api as api;
                use crate::read::*;
                #(#kinds)*
                #(#messages)*
            }
        }
    });
    quote!(#head #(#versions)*)
}

/// `informers/protobuf/tests/equality/kinds.rs`.
pub(super) fn kinds(files: &[File<'_>]) -> TokenStream {
    let head = module_doc(&["Shows every kind to a visitor.".to_owned()]);
    let visits = files.iter().flat_map(|file| {
        let kinds = file.versions.values().flat_map(|part| &part.kinds);
        kinds.map(|kind| {
            let (feature, path) = (file.module, type_path(&kind.path));
            let cfg = Gate::new(&kind.releases).attribute();
            quote!(#cfg #[cfg(feature = #feature)] visitor.visit::<#path>();)
        })
    });
    quote! {
        #head
        /// Shows every kind of this release to the visitor.
        pub(crate) fn every_kind(visitor: &mut impl super::Visitor) { #(#visits)* }
    }
}

fn message(message: &Message, module: &Gate) -> TokenStream {
    let (cfg, gate) = {
        let gate = Gate::new(&message.releases);
        (gate.within(module), gate)
    };
    let name = type_name(&message.path);
    let fields: Vec<&Field> = message.fields.iter().collect();
    let empty = match message.empty {
        Empty::Default => quote!(Self::default()),
        Empty::Object => quote!(Self(empty_object())),
        Empty::Literal => {
            let values = fields.iter().map(|field| {
                let (cfg, name) = (Gate::new(&field.releases).within(&gate), ident(&field.rust));
                let value = match field.rust_type.special() {
                    Some(_) if matches!(field.rust_type, RustType::Path(_)) => quote!(Value::empty()),
                    _ => quote!(Default::default()),
                };
                quote!(#cfg #name: #value)
            });
            quote!(Self { #(#values),* })
        }
    };
    let mut inlined = Vec::new();
    let stem = function_of(&message.path).to_string();
    let body = body(
        &fields,
        0,
        &quote!(self),
        &gate,
        &Inline { stem: &stem, message },
        &mut inlined,
    );
    let found = (message.empty == Empty::Object).then(|| {
        quote!(
            fn found(&mut self) {
                *self = Message::empty();
            }
        )
    });
    quote! {
        #cfg
        impl Message for api::#name {
            fn empty() -> Self { #empty }
            #found
            fn field(&mut self, tag: Tag, reader: &mut Reader<'_>) -> Read { #body }
        }
        #(#inlined)*
    }
}

/// Names of the functions for inlined messages.
struct Inline<'a> {
    stem: &'a str,
    message: &'a Message,
}

/// The `match` over the numbers at one depth. Numbers of inlined messages get a function each.
fn body(
    fields: &[&Field],
    depth: usize,
    into: &TokenStream,
    gate: &Gate,
    inline: &Inline<'_>,
    inlined: &mut Vec<TokenStream>,
) -> TokenStream {
    let mut nested: BTreeMap<u32, Vec<&Field>> = BTreeMap::new();
    let mut arms = Vec::new();
    for field in fields {
        let number = field.number[depth];
        if field.number.len() > depth + 1 {
            nested.entry(number).or_default().push(field);
            continue;
        }
        let (literal, name) = (Literal::u32_unsuffixed(number), ident(&field.rust));
        let (cfg, helper) = (Gate::new(&field.releases).within(gate), helper(field));
        if field.rust == "managed_fields" {
            arms.push(quote!(#cfg #literal if reader.drops_managed_fields() => reader.skip(tag),));
        }
        arms.push(quote!(#cfg #literal => #helper(&mut #into.#name, tag, reader),));
    }
    for (number, fields) in nested {
        let gates: Vec<Gate> = fields.iter().map(|field| Gate::new(&field.releases)).collect();
        let inner = Gate::union(&gates);
        let (cfg, literal) = (inner.within(gate), Literal::u32_unsuffixed(number));
        let function = format_ident!("{}_{number}", inline.stem);
        let stem = function.to_string();
        let message = inline.message;
        let body = body(
            &fields,
            depth + 1,
            &quote!(into),
            &inner,
            &Inline { stem: &stem, message },
            inlined,
        );
        let (own_cfg, name) = (inner.attribute(), type_name(&message.path));
        inlined.push(quote! {
            #own_cfg
            fn #function(into: &mut api::#name, tag: Tag, reader: &mut Reader<'_>) -> Read { #body }
        });
        arms.push(quote!(#cfg #literal => inline(#into, tag, reader, #function),));
    }
    if arms.is_empty() {
        return quote!(reader.skip(tag));
    }
    quote!(match tag.number { #(#arms)* _ => reader.skip(tag) })
}

/// The helper that reads a field, by its type in Rust and how Go declares it.
fn helper(field: &Field) -> TokenStream {
    let RustType::Option(inner) = &field.rust_type else {
        return match field.rust_type {
            RustType::Vec(_) => quote!(list),
            RustType::Map(_) => quote!(map),
            _ => quote!(value),
        };
    };
    match (&**inner, field.go, field.empty) {
        (RustType::Vec(_), ..) => quote!(some_list),
        (RustType::Map(_), ..) => quote!(some_map),
        (RustType::Scalar(_), GoField::Value, EmptyValue::Omitted) => quote!(nonzero),
        (RustType::Path(_), ..) if is_nullable(inner) => quote!(nullable),
        _ => quote!(some),
    }
}

/// Whether an empty message stands for no value.
fn is_nullable(rust_type: &RustType) -> bool {
    !matches!(rust_type.special(), None | Some("Quantity" | "IntOrString"))
}

fn type_path(path: &str) -> TokenStream {
    let segments = path.split("::").filter(|segment| !segment.is_empty()).map(ident);
    quote!(k8s_openapi #(:: #segments)*)
}

fn type_name(path: &str) -> proc_macro2::Ident {
    ident(path.rsplit("::").next().unwrap_or(path))
}

/// `decode_pod` of `api::core::v1::Pod`.
fn function_of(path: &str) -> proc_macro2::Ident {
    let name = path.rsplit("::").next().unwrap_or(path);
    format_ident!("decode_{}", names::snake(name))
}
