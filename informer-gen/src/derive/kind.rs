//! `#[derive(Informer)]` on the spec of a custom resource, or on a type that is a resource itself.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Ident, Path};

use super::items::{self, Kind};
use super::kube::{KubeKeys, Scope};
use super::options::Options;
use super::{accessor, index, of_macro};

/// Generates the names of the kind's informer and listers, and the factory's accessor.
pub(super) fn expand(input: &DeriveInput, options: Options) -> syn::Result<TokenStream> {
    let keys = KubeKeys::read(&input.attrs)?;
    check_shape(input, keys.as_ref())?;
    let (ident, accessor, scope) = match &keys {
        Some(keys) => (type_name(keys)?, of_spec(keys, &options)?, keys.scope),
        None => (input.ident.clone(), of_resource(input, &options)?, Scope::Unknown),
    };
    index::check_fields(&options.indexes, &fields(input, keys.as_ref()))?;
    let library = options.library();
    // The type that kube generates is a kind.
    let is_kind = keys.is_none().then(|| is_kind(&ident, &library));
    let items = items::items(&Kind {
        ident,
        accessor,
        scope,
        visibility: input.vis.clone(),
        library,
        indexes: options.indexes,
    });
    Ok(quote!(#is_kind #items))
}

/// Makes the compiler report at the derive, instead of at the first use of the accessor, that the type is not
/// a kind.
fn is_kind(ident: &Ident, library: &Path) -> TokenStream {
    quote_spanned!(of_macro(ident.span())=> const _: fn() = #library::__private::is_kind::<#ident>;)
}

/// The fields that an index may refer to, with their paths from the root of the object.
pub(super) fn fields(input: &DeriveInput, keys: Option<&KubeKeys>) -> Vec<(String, String)> {
    let Data::Struct(data) = &input.data else {
        return Vec::new();
    };
    let names = data.fields.iter().filter_map(|field| field.ident.as_ref());
    let names = names.map(|ident| ident.unraw().to_string());
    match keys {
        None => names.map(|name| (name.clone(), format!(".{name}"))).collect(),
        Some(_) => {
            let root = ["metadata", "spec", "status"].map(|name| (name.to_owned(), format!(".{name}")));
            let spec = names.map(|name| (name.clone(), format!("spec.{name}")));
            spec.chain(root).collect()
        }
    }
}

/// The derive beside kube's `CustomResource`, where the plural is known.
fn of_spec(keys: &KubeKeys, options: &Options) -> syn::Result<Ident> {
    match &options.accessor {
        Some(chosen) => accessor::chosen(chosen, keys.scope),
        None => accessor::of_kube(keys),
    }
}

/// The derive on a type that implements `kube::Resource` by other means. The type knows its plural, but a
/// macro cannot call it.
fn of_resource(input: &DeriveInput, options: &Options) -> syn::Result<Ident> {
    match &options.accessor {
        Some(chosen) => accessor::chosen(chosen, Scope::Unknown),
        None => Err(syn::Error::new_spanned(
            &input.ident,
            format!(
                "`Informer` cannot derive the name of the accessor of `{}`: write `#[informer(accessor = \
                 \"{}\")]`. (On the spec of a custom resource, derive kube's `CustomResource` beside it; \
                 its `#[kube(..)]` has the name.)",
                input.ident,
                accessor::guess(&input.ident)
            ),
        )),
    }
}

/// The type that kube generates for a spec.
fn type_name(keys: &KubeKeys) -> syn::Result<Ident> {
    let root = keys.root();
    let name = root.value();
    match syn::parse_str::<Ident>(&name) {
        // If the type does not exist, the compiler points at the kind.
        Ok(ident) if ident == name => Ok(Ident::new(&name, of_macro(root.span()))),
        _ => Err(syn::Error::new(
            root.span(),
            format!(
                "`{name}` is not a valid type name: set one with `#[kube(root = \"..\")]`; the kind does \
                 not change"
            ),
        )),
    }
}

/// Reports items that cannot have the derive.
pub(super) fn check_shape(input: &DeriveInput, keys: Option<&KubeKeys>) -> syn::Result<()> {
    let problem = match &input.data {
        Data::Union(_) => Some("a union cannot be a Kubernetes object".to_owned()),
        // A spec may be an enum: the object is the type that kube generates around it.
        Data::Enum(_) if keys.is_none() => {
            Some("an enum cannot be a Kubernetes object, which has fields such as `metadata`".to_owned())
        }
        Data::Enum(_) | Data::Struct(_) => None,
    };
    if let Some(problem) = problem {
        let message = format!("{problem}: put `Informer` on a struct");
        return Err(syn::Error::new_spanned(&input.ident, message));
    }
    if !input.generics.params.is_empty() {
        return Err(syn::Error::new_spanned(
            &input.generics,
            format!(
                "`Informer` needs one concrete kind, and `{0}` has parameters: remove them, or use \
                 `factory.kind::<{0}<..>>()` for each type you need",
                input.ident
            ),
        ));
    }
    Ok(())
}
