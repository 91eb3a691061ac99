//! The informers crate: an accessor per group, version and kind, and an alias per kind.

use proc_macro2::TokenStream;
use quote::quote;

use super::plan::{Group, Kind, Version, ident};
use super::source::{doc, module_doc};

/// `informers/src/generated.rs`.
pub(super) fn root(groups: &[Group<'_>]) -> TokenStream {
    let head = module_doc(&[
        "A module for each group of built-in kinds, and the factory's accessors of them.".to_owned(),
    ]);
    let modules = groups.iter().map(|group| {
        let (cfg, module) = (group.attribute(), ident(&group.module));
        quote!(#cfg pub mod #module;)
    });
    let accessors = groups.iter().map(|group| {
        let (cfg, module, holder) = (group.attribute(), ident(&group.module), ident(&group.type_name));
        let about = doc(&format!("{}: {}.", group.title(), group.about));
        quote! {
            #about
            #cfg
            pub fn #module(&self) -> #module::#holder { #module::#holder(self.clone()) }
        }
    });
    quote! {
        #head
        #(#modules)*
        impl crate::SharedInformerFactory { #(#accessors)* }
    }
}

/// `informers/src/generated/<group>.rs`.
pub(super) fn group(group: &Group<'_>) -> TokenStream {
    let head = module_doc(&[format!("{}: {}.", group.title(), group.about)]);
    let holder = ident(&group.type_name);
    let about = doc(&format!(
        "{} by version; `factory.{}()` returns it.",
        group.title(),
        group.module
    ));
    let accessors = group.versions.iter().map(|version| {
        let (cfg, module, holder) = (
            version.gate.within(&group.gate),
            ident(&version.module),
            ident(&version.type_name),
        );
        let about = doc(&format!("The kinds of `{}`.", version.api_version));
        quote! {
            #about
            #cfg
            pub fn #module(&self) -> #module::#holder { #module::#holder(self.0.clone()) }
        }
    });
    let versions = group.versions.iter().map(|version| self::version(group, version));
    quote! {
        #head
        #about
        #[derive(Clone, Debug)]
        pub struct #holder(pub(super) crate::SharedInformerFactory);
        impl #holder { #(#accessors)* }
        #(#versions)*
    }
}

fn version(group: &Group<'_>, version: &Version<'_>) -> TokenStream {
    let (cfg, module, holder) = (
        version.gate.within(&group.gate),
        ident(&version.module),
        ident(&version.type_name),
    );
    let first = format!(
        "Informers and listers of {}: {}.",
        version.title(),
        version.list()
    );
    let paragraphs: Vec<String> = [first].into_iter().chain(version.absent()).collect();
    let (head, types) = (module_doc(&paragraphs), version.types_path());
    let group_module = ident(&group.module);
    let about = doc(&format!(
        "The kinds of `{}`; `factory.{}().{}()` returns it.",
        version.api_version, group.module, version.module
    ));
    let accessors = version.kinds.iter().map(|kind| accessor(version, kind));
    let aliases = version.kinds.iter().map(|kind| alias(group, version, kind));
    quote! {
        #cfg
        pub mod #module {
            #head
            use #types as api;
            #[doc(inline)]
            pub use listers::#group_module::#module::*;
            #about
            #[derive(Clone, Debug)]
            pub struct #holder(pub(super) crate::SharedInformerFactory);
            impl #holder { #(#accessors)* }
            #(#aliases)*
        }
    }
}

fn accessor(version: &Version<'_>, kind: &Kind<'_>) -> TokenStream {
    let (cfg, name, alias) = (
        kind.gate.within(&version.gate),
        ident(&kind.accessor),
        kind.alias("Informer"),
    );
    let about = doc(&format!(
        "The informer of {} objects.{}",
        kind.link(),
        kind.note()
    ));
    quote! {
        #about
        #cfg
        #[inline]
        pub fn #name(&self) -> #alias { self.0.kind() }
    }
}

fn alias(group: &Group<'_>, version: &Version<'_>, kind: &Kind<'_>) -> TokenStream {
    let (cfg, name, api) = (
        kind.gate.within(&version.gate),
        kind.alias("Informer"),
        ident(&kind.row.kind),
    );
    let about = doc(&format!(
        "Informer of {} objects; `{}` returns it.{}",
        kind.link(),
        kind.got(group, version),
        kind.note()
    ));
    quote! {
        #about
        #cfg
        pub type #name = crate::ResourceInformer<api::#api>;
    }
}
