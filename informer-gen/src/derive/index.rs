//! `#[informer(index(..))]`: an index, its definition as a value, and its accessor.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Ident, LitStr, Member, Path, Type};

use super::items::{Kind, attributes};
use super::options::{Problems, once, quoted_or_not, string};
use super::{near, of_macro};
use crate::names;

/// The keys of `index(..)`.
const KEYS: &[&str] = &["name", "by", "value"];

/// The most nested containers in a path of fields: `Option<Vec<T>>` has two.
const LAYERS: usize = 2;

/// One index.
pub(super) struct Index {
    /// In snake case.
    name: LitStr,
    by: By,
    /// The type of its values.
    value: Type,
}

/// The source of the values.
enum By {
    /// A function of the object.
    Function(Path),
    /// A function of the object, written as a string. The user may have meant a field.
    Quoted { path: Path, text: LitStr },
    /// A field, by its path from the root of the object.
    Field { path: Vec<Member>, span: Span },
}

impl Index {
    /// Reads `index(..)`.
    pub(super) fn read(meta: &ParseNestedMeta<'_>) -> syn::Result<Self> {
        let (mut name, mut by, mut value) = (None, None, None);
        let mut problems = Problems::default();
        meta.parse_nested_meta(|key| {
            let read = match near::name(&key.path).as_str() {
                "name" => string(&key)
                    .and_then(checked_name)
                    .and_then(|read| once(&mut name, &key, read)),
                "by" => By::read(&key).and_then(|read| once(&mut by, &key, read)),
                "value" => key
                    .value()
                    .and_then(quoted_or_not)
                    .and_then(|read| once(&mut value, &key, read)),
                _ => Err(near::unknown_key(&key.path, "index(..)", KEYS)),
            };
            problems.go_on(read, &key)
        })?;
        problems.or(())?;
        let missing = |key: &str| {
            let message = format!(
                "the index has no `{key}`: write `index(name = \"owner\", by = \"spec.owner\")`, or the name \
                 of a function for `by`"
            );
            syn::Error::new_spanned(&meta.path, message)
        };
        Ok(Self {
            name: name.ok_or_else(|| missing("name"))?,
            by: by.ok_or_else(|| missing("by"))?,
            value: value.unwrap_or_else(|| syn::parse_quote!(::std::string::String)),
        })
    }

    /// The method that returns the index: `by_owner`.
    fn method(&self) -> Ident {
        format_ident!("by_{}", self.name.value())
    }

    /// The constant that holds the definition: `BY_OWNER`.
    fn constant(&self) -> Ident {
        format_ident!("BY_{}", names::constant(&self.name.value()))
    }
}

impl By {
    /// Reads the value of `by`: a path of fields has dots, the path of a function has none.
    fn read(meta: &ParseNestedMeta<'_>) -> syn::Result<Self> {
        let value = meta.value()?;
        if !value.peek(LitStr) {
            return value.parse().map(Self::Function);
        }
        let mut text: LitStr = value.parse()?;
        text.set_span(of_macro(text.span()));
        let written = text.value();
        if !written.contains('.') {
            return match text.parse() {
                Ok(path) => Ok(Self::Quoted { path, text }),
                Err(_) => Err(broken(&text)),
            };
        }
        let fields = written.strip_prefix('.').unwrap_or(&written).split('.');
        let path: Result<Vec<Member>, _> = fields.map(syn::parse_str).collect();
        match path {
            Ok(path) => Ok(Self::Field {
                path,
                span: text.span(),
            }),
            Err(_) => Err(broken(&text)),
        }
    }
}

fn broken(text: &LitStr) -> syn::Error {
    let message = format!(
        "`{}` is neither a path of fields nor the name of a function: write `by = \"spec.owner\"` for a \
         field, by its name in Rust and through any `Option` and `Vec`, or `by = \"owner_of\"` for a \
         function",
        text.value()
    );
    syn::Error::new(text.span(), message)
}

/// Names become parts of methods and constants.
fn checked_name(name: LitStr) -> syn::Result<LitStr> {
    let written = name.value();
    let is_snake = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    if written.is_empty() || !written.chars().all(is_snake) {
        let message = format!(
            "the name of an index must be snake case, because its accessor is `by_` and the name; \
             `{written}` is not: write `name = \"owner\"`"
        );
        return Err(syn::Error::new(name.span(), message));
    }
    Ok(name)
}

/// Reports an index that has the name of another.
pub(super) fn check_names(indexes: &[Index]) -> syn::Result<()> {
    for (place, index) in indexes.iter().enumerate() {
        let earlier = indexes.get(..place).unwrap_or_default();
        if earlier
            .iter()
            .any(|other| other.name.value() == index.name.value())
        {
            let name = index.name.value();
            let message = format!("duplicate index `{name}`: choose another name");
            return Err(syn::Error::new(index.name.span(), message));
        }
    }
    Ok(())
}

/// Reports a `by` that names a field without its path: a name without dots is that of a function. `fields`
/// are the existing fields with their paths.
pub(super) fn check_fields(indexes: &[Index], fields: &[(String, String)]) -> syn::Result<()> {
    for index in indexes {
        let By::Quoted { text, .. } = &index.by else {
            continue;
        };
        let written = text.value();
        if let Some((name, path)) = fields.iter().find(|(name, _)| *name == written) {
            let message = format!(
                "`{name}` is a field, and a name without dots means a function: write `by = \"{path}\"` for \
                 the field, or `by = {name}` without quotes for a function of this name"
            );
            return Err(syn::Error::new(text.span(), message));
        }
    }
    Ok(())
}

/// The trait with the accessors of all indexes of a kind.
pub(super) fn extension(kind: &Kind) -> TokenStream {
    let Kind {
        ident,
        visibility,
        library,
        indexes,
        ..
    } = kind;
    let name = kind.name("Indexes");
    let about = attributes(&format!(
        "The indexes of [`{ident}`]: with this trait in scope, its informer has an accessor for each."
    ));
    let declared = indexes.iter().map(|index| declared(kind, index));
    let given = indexes.iter().map(|index| given(kind, index));
    quote! {
        #about
        #visibility trait #name {
            #(#declared)*
        }
        impl #name for #library::ResourceInformer<#ident> {
            #(#given)*
        }
    }
}

fn declared(kind: &Kind, index: &Index) -> TokenStream {
    let Kind { ident, library, .. } = kind;
    let Index { name, value, .. } = index;
    let (method, constant) = (index.method(), index.constant());
    let about_constant = attributes(&format!(
        "The definition of the index `{}`, for the options of a factory.",
        name.value()
    ));
    let about_method = attributes(&format!(
        "The index `{}` of [`{ident}`], added if it does not exist.",
        name.value()
    ));
    quote! {
        #about_constant
        const #constant: &'static #library::IndexDefinition<#ident, #value>;
        #about_method
        ///
        /// # Errors
        /// If another part of the program has added another index of this name.
        fn #method(
            &self,
        ) -> ::core::result::Result<#library::Index<#ident, #value>, #library::store::IndexError>;
    }
}

fn given(kind: &Kind, index: &Index) -> TokenStream {
    let Kind { ident, library, .. } = kind;
    let Index { name, value, .. } = index;
    let (method, constant, extension) = (index.method(), index.constant(), kind.name("Indexes"));
    let values = values(kind, index);
    let index = quote_spanned!(of_macro(value.span())=> index);
    quote! {
        const #constant: &'static #library::IndexDefinition<#ident, #value> =
            &#library::IndexDefinition::new(#name, #values);
        #[inline]
        fn #method(
            &self,
        ) -> ::core::result::Result<#library::Index<#ident, #value>, #library::store::IndexError> {
            self.informer().#index(<Self as #extension>::#constant)
        }
    }
}

/// The function from an object to its values.
fn values(kind: &Kind, index: &Index) -> TokenStream {
    let Kind { ident, library, .. } = kind;
    let span = match &index.by {
        By::Function(path) | By::Quoted { path, .. } => of_macro(path.span()),
        By::Field { span, .. } => *span,
    };
    let value = placed(&index.value, span);
    let support = placed(quote!(#library::__private), span);
    match &index.by {
        By::Function(path) | By::Quoted { path, .. } => {
            quote_spanned!(span=> |__object| #support::collected::<#value, _>(#path(__object)))
        }
        By::Field { path, .. } => {
            let mut walk = quote_spanned!(span=> values.push(#support::value::<#value, _>(at)););
            for field in path.iter().rev() {
                for _ in 1..LAYERS {
                    walk = quote_spanned!(span=> for at in #support::Field(at).each() { #walk });
                }
                let field = placed(field, span);
                walk = quote_spanned!(span=> for at in #support::Field(&at.#field).each() { #walk });
            }
            quote_spanned! {span=> {
                fn values(at: &#ident) -> ::std::vec::Vec<#value> {
                    use #support::Plain as _;
                    let mut values = ::std::vec::Vec::new();
                    #walk
                    values
                }
                values
            }}
        }
    }
}

/// The same tokens with another span, so that the compiler points there.
fn placed(tokens: impl ToTokens, span: Span) -> TokenStream {
    let place = |mut token: TokenTree| {
        token.set_span(span);
        token
    };
    tokens.to_token_stream().into_iter().map(place).collect()
}
