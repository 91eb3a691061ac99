//! Tests of trees: the modules, names and lines that users rely on.

use super::*;
use crate::crd::read::read;

fn definition(group: &str, kind: &str, plural: &str, scope: &str, versions: &[&str]) -> String {
    let versions = versions.iter().map(|version| {
        let schema = "schema: { openAPIV3Schema: { type: object } }";
        format!("  - {{ name: {version}, served: true, storage: false, {schema} }}\n")
    });
    format!(
        "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
         spec:\n  group: {group}\n  names: {{ kind: {kind}, plural: {plural} }}\n  \
         scope: {scope}\n  versions:\n{}",
        versions.collect::<String>()
    )
}

fn made(text: &str, options: &TreeOptions) -> Result<Tree, TreeError> {
    tree(&read("a.yaml", text).expect("valid definitions").found, options)
}

/// The file of a tree with the default options.
fn file(text: &str, path: &str) -> String {
    let mut tree = made(text, &TreeOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let files: Vec<&String> = tree.files.keys().collect();
    let files = format!("{files:?}");
    tree.files
        .remove(path)
        .unwrap_or_else(|| panic!("no {path} in {files}"))
}

#[track_caller]
fn check_lines(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(
            text.lines().any(|there| there.trim() == *line),
            "no `{line}` in:\n{text}"
        );
    }
}

#[test]
fn a_namespaced_kind_has_everything() {
    let text = definition("example.com", "Foo", "foos", "Namespaced", &["v1"]);
    check_lines(
        &file(&text, "example_com/v1.rs"),
        &[
            "pub struct V1(pub(super) ::informers::SharedInformerFactory);",
            "pub fn foos(&self) -> FooInformer {",
            "pub use self::foo::Foo;",
            "pub type FooInformer = ::informers::ResourceInformer<Foo>;",
            "pub type FooLister = ::informers::Lister<Foo>;",
            "pub type FooNamespaceLister = ::informers::NamespaceLister<Foo>;",
            "pub trait FooListerExt {",
            "fn foos(&self, namespace: &str) -> FooNamespaceLister;",
            "impl FooListerExt for FooLister {",
        ],
    );
    check_lines(
        &file(&text, "example_com.rs"),
        &[
            "pub struct ExampleCom(::informers::SharedInformerFactory);",
            "pub trait ExampleComFactoryExt {",
            "fn example_com(&self) -> ExampleCom;",
            "pub fn v1(&self) -> v1::V1 {",
        ],
    );
    check_lines(
        &file(&text, "mod.rs"),
        &[
            "pub mod example_com;",
            "pub use super::example_com::ExampleComFactoryExt as _;",
            "pub use super::example_com::v1::FooListerExt as _;",
        ],
    );
}

#[test]
fn a_cluster_scoped_kind_has_no_namespace_lister() {
    let text = definition("example.com", "Foo", "foos", "Cluster", &["v1"]);
    let version = file(&text, "example_com/v1.rs");
    assert!(
        version.contains("FooLister") && !version.contains("Namespace"),
        "{version}"
    );
    assert!(!file(&text, "mod.rs").contains("ListerExt"));
}

#[test]
fn every_served_version_has_a_module() {
    let text = definition("example.com", "Foo", "foos", "Namespaced", &["v1", "v2beta1"])
        + "  - { name: v3, served: false, storage: false }\n";
    let tree = made(&text, &TreeOptions::default()).expect("a tree");
    let of: Vec<&str> = tree.kinds.iter().map(|kind| kind.api_version.as_str()).collect();
    assert_eq!(of, ["example.com/v1", "example.com/v2beta1"]);
    check_lines(
        &tree.files["example_com.rs"],
        &["pub fn v2beta1(&self) -> v2beta1::V2beta1 {"],
    );
}

#[test]
fn long_names_are_broken_as_rustfmt_does() {
    let kind = format!("Foo{}", "bar".repeat(20));
    let text = definition(
        "example.com",
        &kind,
        &format!("{}s", kind.to_lowercase()),
        "Namespaced",
        &["v1"],
    );
    check_lines(
        &file(&text, "example_com/v1.rs"),
        &[
            &format!("pub type {kind}Informer ="),
            &format!("::informers::ResourceInformer<{kind}>;"),
            "namespace: &str,",
            &format!(") -> {kind}NamespaceLister;"),
        ],
    );
}

#[test]
fn a_crate_has_a_manifest_and_a_root() {
    let options = TreeOptions {
        root: Root::Crate("example-client".to_owned()),
        ..TreeOptions::default()
    };
    let text = definition("example.com", "Foo", "foos", "Namespaced", &["v1"]);
    let tree = made(&text, &options).expect("a tree");
    let files: Vec<&str> = tree.files.keys().map(String::as_str).collect();
    assert_eq!(
        files,
        [
            "Cargo.toml",
            "src/crds.txt",
            "src/example_com.rs",
            "src/example_com/v1.rs",
            "src/example_com/v1/foo.rs",
            "src/lib.rs",
        ]
    );
    check_lines(
        &tree.files["Cargo.toml"],
        &["name = \"example-client\"", "publish = false"],
    );
    // Generated code uses k8s-openapi's re-export of serde_json.
    let any = text.replace(
        "{ type: object }",
        "{ type: object, x-kubernetes-preserve-unknown-fields: true }",
    );
    let tree = made(&any, &options).expect("a tree");
    assert!(tree.files["src/example_com/v1/foo.rs"].contains("serde_json::Value"));
    assert!(!tree.files["Cargo.toml"].contains("serde_json"));
}

#[test]
fn a_module_of_types_must_be_a_path() {
    let text = definition("example.com", "Foo", "foos", "Namespaced", &["v1"]);
    let check = |path: &str, expected: Option<&str>| {
        let types = Types::Existing(path.to_owned());
        let made = made(
            &text,
            &TreeOptions {
                types,
                ..TreeOptions::default()
            },
        );
        match (made, expected) {
            (Ok(tree), Some(expected)) => check_lines(
                &tree.files["example_com/v1.rs"],
                &[&format!(
                    "pub type FooInformer = ::informers::ResourceInformer<{expected}>;"
                )],
            ),
            (Err(TreeError::TypesPath { .. }), None) => {}
            (made, _) => panic!("{path:?}: {:?}", made.map(|tree| tree.files)),
        }
    };
    check("crate", Some("crate::Foo"));
    check("crate::api::{version}", Some("crate::api::v1::Foo"));
    check("my_types::{group}::", Some("my_types::example_com::Foo"));
    check("::my_types", Some("::my_types::Foo"));
    for bad in [
        "",
        "::",
        " ",
        "a b",
        "super::a",
        "self",
        "Self",
        "a::crate",
        "a::self::b",
        "::crate::a",
        "crate2::::a",
        "a // b",
        "a/* */::b",
        "a::<B>",
        "{kind}",
        "1a",
        "a-b",
        "a;b",
        " a",
        "\n",
    ] {
        check(bad, None);
    }
}

/// Two folders would not help: the version has its type in both.
#[test]
fn a_kind_called_like_its_version_needs_types() {
    let text = definition("example.com", "V1", "v1s", "Namespaced", &["v1"]);
    let error = made(&text, &TreeOptions::default()).expect_err("two types have one name");
    assert!(matches!(error, TreeError::KindOfVersion { .. }), "{error}");
    assert!(error.to_string().contains("--types"), "{error}");
    let types = Types::Existing("crate::api".to_owned());
    let options = TreeOptions {
        types,
        ..TreeOptions::default()
    };
    made(&text, &options).expect("an existing type has its own path");
}

#[test]
fn every_file_has_the_marker_and_no_root_module_has_inner_attributes() {
    let text = definition("example.com", "Foo", "foos", "Namespaced", &["v1"]);
    let tree = made(&text, &TreeOptions::default()).expect("a tree");
    for (path, text) in &tree.files {
        assert!(is_marked(text.lines().next().unwrap_or_default()), "{path}");
    }
    let root = &tree.files["mod.rs"];
    assert!(
        !root
            .lines()
            .any(|line| line.starts_with("//!") || line.starts_with("#!")),
        "{root}"
    );
    for other in [
        "// mine",
        "@generated by informer-gen crd",
        "",
        "// @generated by `cargo xtask codegen`",
    ] {
        assert!(!is_marked(other), "{other}");
    }
}

#[test]
fn files_do_not_depend_on_the_place_of_the_definition() {
    let text = definition("example.com", "Foo", "foos", "Namespaced", &["v1"]);
    let found = |origin: &str| {
        tree(
            &read(origin, &text).expect("valid definitions").found,
            &TreeOptions::default(),
        )
    };
    let (one, other) = (found("/some/where/a.yaml"), found("b.json"));
    assert_eq!(one.expect("a tree").files, other.expect("a tree").files);
}

#[test]
fn the_same_definition_counts_once_and_the_order_does_not_matter() {
    let foo = definition("example.com", "Foo", "foos", "Namespaced", &["v1"]);
    let bar = definition("example.com", "Bar", "bars", "Namespaced", &["v1"]);
    let of = |text: String| made(&text, &TreeOptions::default()).expect("a tree").files;
    let expected = of(format!("{foo}{bar}"));
    assert_eq!(of(format!("{bar}{foo}{bar}")), expected);
}
