//! The fields of a projection, and the items that cannot be one.

use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Fields, Ident, LitStr, Type};

use super::super::options::Problems;
use super::attributes::{self, FieldOptions, Types};
use crate::inventory::fields::{JsonName, json_name};

/// A field of a projection.
pub(super) struct Field<'i> {
    pub(super) ident: &'i Ident,
    pub(super) ty: &'i Type,
    pub(super) json: Json,
    pub(super) types: Types,
}

/// The JSON name of a field.
pub(super) enum Json {
    /// Given by the user.
    Renamed(LitStr),
    /// The name in the whole type.
    Known(JsonName),
}

impl Field<'_> {
    /// The name of the field, without `r#`.
    pub(super) fn name(&self) -> String {
        self.ident.unraw().to_string()
    }

    /// Whether it may be decoded from this name.
    fn may_read(&self, name: &str) -> bool {
        match &self.json {
            Json::Renamed(renamed) => renamed.value() == name,
            Json::Known(known) => {
                known.elsewhere == name
                    || known.built_in == name
                    || known.exceptions.iter().any(|(_, other)| *other == name)
            }
        }
    }
}

/// The fields of the struct, if their attributes are allowed.
pub(super) fn checked(input: &DeriveInput) -> syn::Result<Vec<Field<'_>>> {
    let mut problems = Problems::default();
    problems.note(attributes::check_beside(input));
    let fields = problems.note(read(input));
    problems.or(fields.unwrap_or_default())
}

/// The fields of the struct.
pub(super) fn read(input: &DeriveInput) -> syn::Result<Vec<Field<'_>>> {
    let wrong = |problem: &str| {
        let message = format!(
            "{problem}: a projection is a struct whose fields have the names they have in the whole type, as \
             in `struct {} {{ metadata: ObjectMeta, .. }}`",
            input.ident
        );
        Err(syn::Error::new_spanned(&input.ident, message))
    };
    let fields = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => &fields.named,
            Fields::Unnamed(_) => return wrong("the fields of a tuple have no names"),
            Fields::Unit => return wrong("a unit struct has no fields"),
        },
        Data::Enum(_) => return wrong("an enum has no fields"),
        Data::Union(_) => return wrong("a union cannot be read from JSON"),
    };
    if !input.generics.params.is_empty() {
        return Err(syn::Error::new_spanned(
            &input.generics,
            format!(
                "a projection cannot be generic, and `{}` has parameters: write concrete types",
                input.ident
            ),
        ));
    }
    let mut problems = Problems::default();
    let mut read: Vec<Field<'_>> = Vec::new();
    for field in fields {
        let Some(ident) = &field.ident else { continue };
        let Some(options) = problems.note(FieldOptions::read(&field.attrs)) else {
            continue;
        };
        let json = match options.rename {
            Some(name) => Json::Renamed(name),
            None => Json::Known(json_name(&ident.unraw().to_string())),
        };
        read.push(Field {
            ident,
            ty: &field.ty,
            json,
            types: options.types,
        });
    }
    problems.note(check_renamed(&read));
    problems.or(read)
}

/// Reports two fields of the same JSON name: the second would always be empty.
fn check_renamed(fields: &[Field<'_>]) -> syn::Result<()> {
    for (place, field) in fields.iter().enumerate() {
        let Json::Renamed(name) = &field.json else {
            continue;
        };
        let mut others = fields.iter().enumerate().filter(|(other, _)| *other != place);
        if let Some((_, other)) = others.find(|(_, other)| other.may_read(&name.value())) {
            let message = format!(
                "`{}` is already read into the field `{}`: remove one of the two",
                name.value(),
                other.name()
            );
            return Err(syn::Error::new(name.span(), message));
        }
    }
    Ok(())
}

/// Reports missing metadata: an informer needs the name and version of an object.
pub(super) fn check_metadata(input: &DeriveInput, fields: &[Field<'_>]) -> syn::Result<()> {
    if let Some(field) = fields.iter().find(|field| field.ident == "metadata") {
        return match field.ty {
            Type::Path(path)
                if path
                    .path
                    .segments
                    .last()
                    .is_some_and(|last| last.ident == "Option") =>
            {
                let message = "`metadata` must not be an option: write `metadata: ObjectMeta`";
                Err(syn::Error::new_spanned(field.ty, message))
            }
            _ => Ok(()),
        };
    }
    let message = format!(
        "`{}` has no `metadata`, and an informer needs the name and the version of an object: add the field \
         `metadata: ObjectMeta`",
        input.ident
    );
    Err(syn::Error::new_spanned(&input.ident, message))
}
