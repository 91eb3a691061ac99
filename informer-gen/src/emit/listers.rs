//! The listers crate: two aliases per kind, and the method that names the kind instead of `namespace`.
//!
//! The generic types are named by their paths, because an imported `NamespaceLister` would look like the
//! lister of namespaces.

use proc_macro2::TokenStream;
use quote::quote;

use super::plan::{Group, Kind, Version, ident};
use super::source::{doc, module_doc};

/// `listers/src/generated.rs`.
pub(super) fn root(groups: &[Group<'_>]) -> TokenStream {
    let head = module_doc(&["A module for each group of built-in kinds.".to_owned()]);
    let modules = groups.iter().map(|group| {
        let (cfg, module) = (group.attribute(), ident(&group.module));
        quote!(#cfg pub mod #module;)
    });
    quote!(#head #(#modules)*)
}

/// `listers/src/generated/<group>.rs`.
pub(super) fn group(group: &Group<'_>) -> TokenStream {
    let head = module_doc(&[format!("{}: {}.", group.title(), group.about)]);
    let versions = group.versions.iter().map(|version| {
        let (cfg, module) = (version.gate.within(&group.gate), ident(&version.module));
        let paragraphs: Vec<String> = [format!("Listers of {}.", version.title())]
            .into_iter()
            .chain(version.absent())
            .collect();
        let (head, types) = (module_doc(&paragraphs), version.types_path());
        let kinds = version.kinds.iter().map(|kind| self::kind(group, version, kind));
        quote! {
            #cfg
            pub mod #module {
                #head
                use #types as api;
                #(#kinds)*
            }
        }
    });
    quote!(#head #(#versions)*)
}

fn kind(group: &Group<'_>, version: &Version<'_>, kind: &Kind<'_>) -> TokenStream {
    let (cfg, api) = (kind.gate.within(&version.gate), ident(&kind.row.kind));
    let (lister, namespace_lister) = (kind.alias("Lister"), kind.alias("NamespaceLister"));
    let (link, got) = (kind.link(), kind.got(group, version));
    let about_lister = doc(&format!(
        "Lister of {link} objects; `{got}.lister()` returns it.{}",
        kind.note()
    ));
    let all = quote! {
        #about_lister
        #cfg
        pub type #lister = crate::Lister<api::#api>;
    };
    if !kind.is_namespaced() {
        return all;
    }
    let accessor = ident(&kind.accessor);
    let about_one = doc(&format!(
        "Lister of the {link} objects in one namespace; `lister.{accessor}(namespace)` returns it.{}",
        kind.note()
    ));
    let about_accessor = doc(&format!(
        "The {link} objects of one namespace, as [`namespace`](crate::Lister::namespace)."
    ));
    quote! {
        #all
        #about_one
        #cfg
        pub type #namespace_lister = crate::NamespaceLister<api::#api>;
        #cfg
        impl crate::Lister<api::#api> {
            #about_accessor
            #[inline]
            pub fn #accessor(&self, namespace: &str) -> #namespace_lister { self.namespace(namespace) }
        }
    }
}
