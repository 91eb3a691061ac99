//! The generated items: aliases, and traits whose methods are one call each.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Ident, Path, Visibility};

use super::index::{self, Index};
use super::kube::Scope;

/// The input for the items of a kind.
pub(super) struct Kind {
    /// The type of its objects, the prefix of all names: `Order` has an `OrderInformer`.
    pub(super) ident: Ident,
    /// The method of the factory: `orders`.
    pub(super) accessor: Ident,
    pub(super) scope: Scope,
    /// The visibility of the struct with the derive.
    pub(super) visibility: Visibility,
    /// The path of the crate `informers`.
    pub(super) library: Path,
    pub(super) indexes: Vec<Index>,
}

impl Kind {
    /// A name with the kind as prefix.
    pub(super) fn name(&self, ending: &str) -> Ident {
        format_ident!("{}{ending}", self.ident)
    }
}

/// All items of a kind.
pub(super) fn items(kind: &Kind) -> TokenStream {
    let aliases = aliases(kind);
    let factory = factory_extension(kind);
    let lister = match kind.scope {
        Scope::Namespaced => lister_extension(kind),
        Scope::Cluster | Scope::Unknown => TokenStream::new(),
    };
    let indexes = match kind.indexes.is_empty() {
        true => TokenStream::new(),
        false => index::extension(kind),
    };
    quote!(#aliases #factory #lister #indexes)
}

/// `#[doc]`, and `#[allow(dead_code)]`, because a user need not use all items.
pub(super) fn attributes(text: &str) -> TokenStream {
    let text = format!(" {text}");
    quote! {
        #[doc = #text]
        #[allow(dead_code, reason = "generated items may be unused")]
    }
}

fn aliases(kind: &Kind) -> TokenStream {
    let Kind {
        ident,
        accessor,
        visibility,
        library,
        ..
    } = kind;
    let informer = kind.name("Informer");
    let lister = kind.name("Lister");
    let about_informer = attributes(&format!(
        "The informer and the lister of [`{ident}`] in one factory: what `factory.{accessor}()` returns."
    ));
    let about_lister = attributes(&format!(
        "Reads every [`{ident}`] from the cache of its informer: `factory.{accessor}().lister()`."
    ));
    let of_namespace = match kind.scope {
        Scope::Cluster => TokenStream::new(),
        Scope::Namespaced | Scope::Unknown => {
            let of_namespace = kind.name("NamespaceLister");
            let about = attributes(&format!(
                "Reads every [`{ident}`] of one namespace from the cache of its informer."
            ));
            quote! {
                #about
                #visibility type #of_namespace = #library::NamespaceLister<#ident>;
            }
        }
    };
    quote! {
        #about_informer
        #visibility type #informer = #library::ResourceInformer<#ident>;
        #about_lister
        #visibility type #lister = #library::Lister<#ident>;
        #of_namespace
    }
}

/// `factory.orders()`.
fn factory_extension(kind: &Kind) -> TokenStream {
    let Kind {
        ident,
        accessor,
        visibility,
        library,
        ..
    } = kind;
    let name = kind.name("FactoryExt");
    let about = attributes(&format!(
        "Adds to a factory the accessor of [`{ident}`]: with this trait in scope, `factory.{accessor}()` \
         works."
    ));
    let about_method = attributes(&format!(
        "The informer and the lister of [`{ident}`]. Neither is created before it is requested."
    ));
    quote! {
        #about
        #visibility trait #name {
            #about_method
            fn #accessor(&self) -> #library::ResourceInformer<#ident>;
        }
        impl #name for #library::SharedInformerFactory {
            #[inline]
            fn #accessor(&self) -> #library::ResourceInformer<#ident> {
                self.kind()
            }
        }
    }
}

/// `lister.orders("web")`.
fn lister_extension(kind: &Kind) -> TokenStream {
    let Kind {
        ident,
        accessor,
        visibility,
        library,
        ..
    } = kind;
    let name = kind.name("ListerExt");
    let about = attributes(&format!(
        "Adds to the lister of [`{ident}`] the name of its kind: with this trait in scope, \
         `lister.{accessor}(\"web\")` is `lister.namespace(\"web\")`."
    ));
    let about_method = attributes(&format!("Reads every [`{ident}`] of one namespace."));
    quote! {
        #about
        #visibility trait #name {
            #about_method
            fn #accessor(&self, namespace: &str) -> #library::NamespaceLister<#ident>;
        }
        impl #name for #library::Lister<#ident> {
            #[inline]
            fn #accessor(&self, namespace: &str) -> #library::NamespaceLister<#ident> {
                self.namespace(namespace)
            }
        }
    }
}
