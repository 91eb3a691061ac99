//! What the tests of the typed layer need of the generator: a file that pins types, and one that shows every
//! kind to a visitor.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};

use super::gate;
use super::plan::{Group, Kind, Version, ident};
use super::source::module_doc;

/// `tests/it/generated/pins.rs`: constants that compile only if a type is the one in the table.
pub(super) fn pins(groups: &[Group<'_>]) -> TokenStream {
    let head = module_doc(&[
        "Pins the type of every accessor and alias: constants that compile if it is right, and compile to \
         nothing."
            .to_owned(),
    ]);
    let names = kinds(groups).map(|(_, _, kind)| {
        let (cfg, name) = (
            kind.gate.attribute(),
            format!("{} {}", kind.row.api_version(), kind.row.kind),
        );
        quote!(#cfg #name)
    });
    let releases = gate::releases().map(|minor| {
        let (name, minor) = (gate::at_least(minor), Literal::u8_unsuffixed(minor));
        quote!(#[cfg(#name)] #minor)
    });
    let modules = groups
        .iter()
        .flat_map(|group| group.versions.iter().map(move |version| pins_of(group, version)));
    quote! {
        #head
        use informers::{Lister, NamespaceLister, ResourceInformer, SharedInformerFactory};
        /// The releases that the build script says this build has caught up with, by the number after `1.`.
        pub(crate) const RELEASES: &[u8] = &[#(#releases),*];
        /// What is pinned below in this build.
        pub(crate) const PINNED: &[&str] = &[#(#names),*];
        #(#modules)*
    }
}

fn pins_of(group: &Group<'_>, version: &Version<'_>) -> TokenStream {
    let (cfg, name) = (
        version.gate.attribute(),
        format_ident!("{}_{}", group.module, version.module),
    );
    let (group_module, module) = (ident(&group.module), ident(&version.module));
    let (group_holder, holder) = (ident(&group.type_name), ident(&version.type_name));
    let (group_accessor, types) = (ident(&group.module), version.types_path());
    let kinds = version.kinds.iter().map(|kind| {
        let cfg = kind.gate.within(&version.gate);
        let (api, accessor) = (ident(&kind.row.kind), ident(&kind.accessor));
        let (informer, lister) = (kind.alias("Informer"), kind.alias("Lister"));
        let one = kind.alias("NamespaceLister");
        let of_namespace = kind.is_namespaced().then(|| {
            quote! {
                #cfg const _: Option<typed::#one> = None::<NamespaceLister<api::#api>>;
                #cfg const _: fn(&Lister<api::#api>, &str) -> NamespaceLister<api::#api> =
                    Lister::<api::#api>::#accessor;
            }
        });
        quote! {
            #cfg const _: fn(&typed::#holder) -> ResourceInformer<api::#api> = typed::#holder::#accessor;
            #cfg const _: Option<typed::#informer> = None::<ResourceInformer<api::#api>>;
            #cfg const _: Option<typed::#lister> = None::<Lister<api::#api>>;
            #of_namespace
        }
    });
    quote! {
        #cfg
        mod #name {
            use super::*;
            use informers::#group_module::{#group_holder, #module as typed};
            use #types as api;
            const _: fn(&SharedInformerFactory) -> #group_holder = SharedInformerFactory::#group_accessor;
            const _: fn(&#group_holder) -> typed::#holder = #group_holder::#module;
            #(#kinds)*
        }
    }
}

/// `tests/it/generated/every_kind.rs`: a call per kind, without other logic.
pub(super) fn every_kind(groups: &[Group<'_>]) -> TokenStream {
    let head = module_doc(&["Shows every kind, with its own accessors, to a visitor.".to_owned()]);
    let calls = kinds(groups).map(|(group, version, kind)| {
        let (cfg, accessor) = (kind.gate.attribute(), ident(&kind.accessor));
        let (group_accessor, module) = (ident(&group.module), ident(&version.module));
        let informer = quote!(|factory| factory.#group_accessor().#module().#accessor());
        if kind.is_namespaced() {
            quote!(#cfg visitor.namespaced(#informer, |lister, namespace| lister.#accessor(namespace));)
        } else {
            quote!(#cfg visitor.cluster(#informer);)
        }
    });
    let kubernetes = gate::releases().map(|minor| {
        let (only, minor) = (format_ident!("k8s_if_1_{minor}"), Literal::u8_unsuffixed(minor));
        quote! {
            k8s_openapi::#only! {
                /// The Kubernetes release of this build, by the number after `1.`.
                pub const KUBERNETES: u8 = #minor;
            }
        }
    });
    quote! {
        #head
        #(#kubernetes)*
        /// Shows every kind that this release has and that can be watched to the visitor.
        pub fn every_kind(visitor: &mut impl super::Visitor) {
            #(#calls)*
        }
    }
}

fn kinds<'a>(
    groups: &'a [Group<'a>],
) -> impl Iterator<Item = (&'a Group<'a>, &'a Version<'a>, &'a Kind<'a>)> {
    groups.iter().flat_map(|group| {
        let versions = group.versions.iter();
        versions.flat_map(move |version| version.kinds.iter().map(move |kind| (group, version, kind)))
    })
}
