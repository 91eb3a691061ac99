//! Compares the reserved accessor names with the existing methods.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use syn::{FnArg, ImplItem, Item, Type, Visibility};

/// Returns the public methods of a type in the given files.
fn methods_of(type_name: &str, files: &[&str]) -> BTreeSet<String> {
    let mut methods = BTreeSet::new();
    for file in files {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
        let source = syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap();
        for item in source.items {
            let Item::Impl(block) = item else { continue };
            let Type::Path(subject) = &*block.self_ty else {
                continue;
            };
            let is_subject = subject
                .path
                .segments
                .last()
                .is_some_and(|one| one.ident == type_name);
            if is_subject && block.trait_.is_none() {
                methods.extend(block.items.iter().filter_map(public_method));
            }
        }
    }
    assert!(!methods.is_empty(), "no methods of {type_name} in {files:?}");
    methods
}

/// Returns the name of a public method with a receiver.
fn public_method(item: &ImplItem) -> Option<String> {
    let ImplItem::Fn(function) = item else { return None };
    let is_public = matches!(function.vis, Visibility::Public(_));
    let is_method = matches!(function.sig.inputs.first(), Some(FnArg::Receiver(_)));
    (is_public && is_method).then(|| function.sig.ident.to_string())
}

fn check(reserved: impl Iterator<Item = &'static str>, real: &BTreeSet<String>) {
    let reserved: BTreeSet<String> = reserved.map(str::to_owned).collect();
    let difference: Vec<&String> = reserved.symmetric_difference(real).collect();
    assert!(
        difference.is_empty(),
        "{difference:?}: add missing methods to informer-gen/src/derive/accessor.rs and remove those that do \
         not exist"
    );
}

#[test]
fn exactly_the_methods_of_the_factory_are_reserved() {
    let files = [
        "informers/src/factory.rs",
        "informers/src/factory/rights.rs",
        "informers/src/factory/status.rs",
        "informers/src/generated.rs",
    ];
    check(
        informer_gen::derive::factory_methods(),
        &methods_of("SharedInformerFactory", &files),
    );
}

#[test]
fn exactly_the_methods_of_listers_are_reserved() {
    let files = ["listers/src/lister.rs"];
    check(
        informer_gen::derive::lister_methods(),
        &methods_of("Lister", &files),
    );
}
