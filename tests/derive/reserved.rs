//! The names no accessor can have, against the methods that there are.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use syn::{FnArg, ImplItem, Item, Type, Visibility};

/// The public methods of a type, in the file and in those given besides.
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

/// The name of a public function that is called on a value.
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
        "{difference:?}: put into informer-gen/src/derive/accessor.rs what there is, and take out what there is not"
    );
}

#[test]
fn the_factory_s_methods_are_all_reserved_and_no_others() {
    let files = ["informers/src/factory.rs", "informers/src/generated.rs"];
    check(
        informer_gen::derive::factory_methods(),
        &methods_of("SharedInformerFactory", &files),
    );
}

#[test]
fn the_listers_methods_are_all_reserved_and_no_others() {
    let files = ["listers/src/lister.rs"];
    check(
        informer_gen::derive::lister_methods(),
        &methods_of("Lister", &files),
    );
}
