//! Tests of the generated items. The errors of the macros are tested in `tests/custom/ui`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{File, Ident, ImplItem, Item, ItemTrait, TraitItem, Visibility};

use super::informer;

fn expanded(input: TokenStream) -> File {
    let output = informer(input);
    let text = output.to_string();
    assert!(!text.contains("compile_error"), "{text}");
    syn::parse2(output).expect("the output is Rust")
}

/// The names of all aliases and traits, and of the methods of those.
fn check_names(input: TokenStream, expected: &[&str]) {
    let file = expanded(input);
    let names: Vec<String> = file.items.iter().flat_map(names_of).collect();
    assert_eq!(names, expected);
}

fn names_of(item: &Item) -> Vec<String> {
    match item {
        Item::Type(alias) => vec![alias.ident.to_string()],
        Item::Trait(one) => {
            let methods = one.items.iter().filter_map(member_of).map(Ident::to_string);
            let methods: Vec<String> = methods.collect();
            vec![format!("{}: {}", one.ident, methods.join(", "))]
        }
        _ => Vec::new(),
    }
}

fn member_of(item: &TraitItem) -> Option<&Ident> {
    match item {
        TraitItem::Fn(method) => Some(&method.sig.ident),
        TraitItem::Const(constant) => Some(&constant.ident),
        _ => None,
    }
}

#[test]
fn a_namespaced_kind_has_all_names() {
    check_names(
        quote! {
            #[kube(group = "shop.example", version = "v1", kind = "IPAddressPool", namespaced)]
            struct Spec {}
        },
        &[
            "IPAddressPoolInformer",
            "IPAddressPoolLister",
            "IPAddressPoolNamespaceLister",
            "IPAddressPoolFactoryExt: ip_address_pools",
            "IPAddressPoolListerExt: ip_address_pools",
        ],
    );
}

#[test]
fn a_cluster_scoped_kind_has_no_names_for_namespaces() {
    check_names(
        quote! {
            #[kube(group = "shop.example", version = "v1", kind = "Order")]
            struct Spec {}
        },
        &["OrderInformer", "OrderLister", "OrderFactoryExt: orders"],
    );
}

#[test]
fn a_resource_of_unknown_scope_has_the_alias_and_no_method() {
    check_names(
        quote! {
            #[informer(accessor = "orders")]
            struct Order {}
        },
        &[
            "OrderInformer",
            "OrderLister",
            "OrderNamespaceLister",
            "OrderFactoryExt: orders",
        ],
    );
}

#[test]
fn an_index_has_a_constant_and_a_method() {
    check_names(
        quote! {
            #[kube(group = "shop.example", version = "v1", kind = "Order")]
            #[informer(index(name = "owner", by = "spec.owner"), index(name = "size_2", by = size))]
            struct Spec {}
        },
        &[
            "OrderInformer",
            "OrderLister",
            "OrderFactoryExt: orders",
            "OrderIndexes: BY_OWNER, by_owner, BY_SIZE_2, by_size_2",
        ],
    );
}

/// Every generated item has the visibility of the struct.
fn check_visibility(visibility: Visibility) {
    let file = expanded(quote! {
        #[kube(group = "shop.example", version = "v1", kind = "Order", namespaced)]
        #[informer(index(name = "owner", by = "spec.owner"))]
        #visibility struct Spec {}
    });
    let expected = visibility.to_token_stream().to_string();
    for item in &file.items {
        let (Item::Type(syn::ItemType { vis, .. }) | Item::Trait(ItemTrait { vis, .. })) = item else {
            continue;
        };
        let text = item.to_token_stream();
        assert_eq!(vis.to_token_stream().to_string(), expected, "{text}");
    }
}

#[test]
fn the_visibility_is_that_of_the_struct() {
    check_visibility(syn::parse_quote!());
    check_visibility(syn::parse_quote!(pub));
    check_visibility(syn::parse_quote!(pub(crate)));
}

#[test]
fn every_method_is_one_inlined_call_and_every_item_is_documented() {
    let file = expanded(quote! {
        #[kube(group = "shop.example", version = "v1", kind = "Order", namespaced)]
        #[informer(index(name = "owner", by = "spec.owner"))]
        struct Spec {}
    });
    for item in &file.items {
        let text = item.to_token_stream().to_string();
        match item {
            Item::Impl(block) => block.items.iter().for_each(check_body),
            Item::Trait(one) => assert_eq!(text.matches("doc =").count(), documented(one), "{text}"),
            _ => assert!(text.contains("doc ="), "{text}"),
        }
    }
}

fn check_body(item: &ImplItem) {
    let ImplItem::Fn(method) = item else { return };
    let text = method.to_token_stream().to_string();
    assert_eq!(method.block.stmts.len(), 1, "{text}");
    assert!(text.starts_with("# [inline]"), "{text}");
}

/// The lines of documentation of a trait: one for itself and each member, and three for the errors of an
/// index.
fn documented(one: &ItemTrait) -> usize {
    let is_fallible = |item: &&TraitItem| item.to_token_stream().to_string().contains("Result");
    1 + one.items.len() + 3 * one.items.iter().filter(is_fallible).count()
}
