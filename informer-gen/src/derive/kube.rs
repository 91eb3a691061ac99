//! Reads the `#[kube(..)]` attributes of kube's derive, as far as names depend on them.

use proc_macro2::{TokenStream, TokenTree};
use syn::{Attribute, Lit, LitStr, Meta};

use crate::names;

/// The keys of `#[kube(..)]` that names depend on. kube's derive reads the others, and reports errors in any
/// of them.
pub(super) struct KubeKeys {
    pub(super) kind: LitStr,
    pub(super) scope: Scope,
    /// The name of the generated type, if it is not the kind.
    root: Option<LitStr>,
    plural: Option<LitStr>,
    singular: Option<LitStr>,
}

/// Whether objects of a kind are in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// They are.
    Namespaced,
    /// They are not.
    Cluster,
    /// Only the type knows, and a macro cannot call it.
    Unknown,
}

impl KubeKeys {
    /// Reads the attributes; `None` without any.
    pub(super) fn read(attributes: &[Attribute]) -> syn::Result<Option<Self>> {
        let of_kube: Vec<&Attribute> = attributes
            .iter()
            .filter(|one| one.path().is_ident("kube"))
            .collect();
        let Some(first) = of_kube.first() else {
            return Ok(None);
        };
        let (mut kind, mut root, mut plural, mut singular) = (None, None, None, None);
        let mut scope = Scope::Cluster;
        for (key, value) in of_kube.iter().flat_map(|one| keys(one)) {
            match (key.as_str(), value) {
                ("kind", Value::Literal(Lit::Str(value))) => kind = Some(value),
                ("root", Value::Literal(Lit::Str(value))) => root = Some(value),
                ("plural", Value::Literal(Lit::Str(value))) => plural = Some(value),
                ("singular", Value::Literal(Lit::Str(value))) => singular = Some(value),
                ("namespaced", value) if value.is_true() => scope = Scope::Namespaced,
                _ => {}
            }
        }
        let Some(kind) = kind else {
            return Err(syn::Error::new_spanned(
                first,
                "`#[kube(..)]` has no kind: write `#[kube(group = \"example.com\", version = \"v1\", kind = \
                 \"Order\")]`",
            ));
        };
        Ok(Some(Self {
            kind,
            scope,
            root,
            plural,
            singular,
        }))
    }

    /// The name of the type that kube generates.
    pub(super) fn root(&self) -> &LitStr {
        self.root.as_ref().unwrap_or(&self.kind)
    }

    /// The plural by the rule of kube's derive, and the source it follows from.
    pub(super) fn plural(&self) -> (String, &LitStr) {
        match (&self.plural, &self.singular) {
            (Some(plural), _) => (plural.value(), plural),
            (None, Some(singular)) => (names::plural(&singular.value()), singular),
            (None, None) => (names::plural_of_kind(&self.kind.value()), &self.kind),
        }
    }
}

/// The value of a key.
enum Value {
    /// `namespaced`.
    None,
    /// `kind = "Order"`.
    Literal(Lit),
    /// `scale(..)`, `status = a::Path`.
    Other,
}

impl Value {
    /// Whether kube treats it as `true`.
    fn is_true(&self) -> bool {
        match self {
            Self::None => true,
            Self::Literal(Lit::Bool(value)) => value.value,
            Self::Literal(Lit::Str(value)) => value.value() == "true",
            Self::Literal(_) | Self::Other => false,
        }
    }
}

/// The keys of one attribute and their values. Invalid ones are left out: kube's derive reports them.
fn keys(attribute: &Attribute) -> Vec<(String, Value)> {
    let Meta::List(list) = &attribute.meta else {
        return Vec::new();
    };
    let mut pieces: Vec<Vec<TokenTree>> = vec![Vec::new()];
    for token in list.tokens.clone() {
        match (&token, pieces.last_mut()) {
            (TokenTree::Punct(comma), _) if comma.as_char() == ',' => pieces.push(Vec::new()),
            (_, Some(piece)) => piece.push(token),
            (_, None) => {}
        }
    }
    pieces.iter().filter_map(|piece| key_and_value(piece)).collect()
}

fn key_and_value(piece: &[TokenTree]) -> Option<(String, Value)> {
    let (key, value) = match piece {
        [TokenTree::Ident(key)] => (key, Value::None),
        [TokenTree::Ident(key), TokenTree::Punct(equals), value] if equals.as_char() == '=' => {
            let literal = syn::parse2(TokenStream::from(value.clone()));
            (key, literal.map_or(Value::Other, Value::Literal))
        }
        [TokenTree::Ident(key), ..] => (key, Value::Other),
        _ => return None,
    };
    Some((key.to_string(), value))
}

#[cfg(test)]
mod tests {
    use syn::{DeriveInput, parse_quote};

    use super::*;

    /// The type, the plural and the scope that follow from the attributes.
    fn check(input: DeriveInput, expected: (&str, &str, Scope)) {
        let keys = KubeKeys::read(&input.attrs);
        let keys = keys
            .expect("the keys can be read")
            .expect("there is such an attribute");
        let (plural, _) = keys.plural();
        assert_eq!(
            (keys.root().value().as_str(), plural.as_str(), keys.scope),
            expected
        );
    }

    #[test]
    fn keys_may_be_in_any_order_and_in_several_attributes() {
        check(
            parse_quote! {
                #[kube(namespaced)]
                #[kube(version = "v1", kind = "Foo", group = "a")]
                struct S;
            },
            ("Foo", "foos", Scope::Namespaced),
        );
        check(
            parse_quote! { #[kube(kind = "Foo", root = "FooV1", plural = "foox",)] struct S; },
            ("FooV1", "foox", Scope::Cluster),
        );
    }

    #[test]
    fn the_scope_may_have_a_value() {
        check(
            parse_quote! { #[kube(kind = "A", namespaced = true)] struct S; },
            ("A", "as", Scope::Namespaced),
        );
        check(
            parse_quote! { #[kube(kind = "A", namespaced = "true")] struct S; },
            ("A", "as", Scope::Namespaced),
        );
        check(
            parse_quote! { #[kube(kind = "A", namespaced = false)] struct S; },
            ("A", "as", Scope::Cluster),
        );
    }

    #[test]
    fn keys_of_other_shapes_are_passed_over() {
        check(
            parse_quote! {
                #[kube(status = a::B<c, d>, scale(kind = "Not", namespaced), crates(kube = "k"))]
                #[kube(doc = "kind, root")]
                #[kube(validation = Rule::new("a, b").message("kind"), no_spec, kind = "Foo", unheard_of)]
                #[kube = "nonsense"]
                #[other(kind = "Other", plural = "others")]
                struct S;
            },
            ("Foo", "foos", Scope::Cluster),
        );
    }

    #[test]
    fn without_the_attribute_there_is_nothing_to_read() {
        let input: DeriveInput = parse_quote! { #[resource(inherit = A)] struct S; };
        assert!(KubeKeys::read(&input.attrs).is_ok_and(|keys| keys.is_none()));
    }
}
