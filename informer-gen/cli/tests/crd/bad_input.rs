//! Every kind of bad input: an error that says where and what to do, the exit code, and not one file or
//! folder more than before.

use super::support::{Folder, definition, foo};

/// Runs in a folder with these files; it must fail with code 1, say this, and change nothing.
#[track_caller]
fn check(files: &[(&str, &str)], arguments: &str, error: &[&str]) {
    check_in(&Folder::with(files), arguments, error);
}

#[track_caller]
fn check_in(folder: &Folder, arguments: &str, error: &[&str]) {
    let before = (folder.files(), folder.folders());
    folder.run(arguments).fails(1, error, &[]);
    assert_eq!(
        (folder.files(), folder.folders()),
        before,
        "something was written"
    );
}

const ARGUMENTS: &str = "-f crd.yaml --out generated";

#[test]
fn a_manifest_of_another_kind_is_no_definition() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: { name: a }\n";
    check(
        &[("crd.yaml", pod)],
        ARGUMENTS,
        &[
            "no CustomResourceDefinition in crd.yaml",
            "only one object of another kind",
        ],
    );
    check(&[("crd.yaml", "# nothing\n")], ARGUMENTS, &["which is empty"]);
    check(
        &[("crd.yaml", "just words\n")],
        ARGUMENTS,
        &[
            "no CustomResourceDefinition in crd.yaml",
            "only one document that is no object (an array or plain text)",
        ],
    );
    check(
        &[("crd.yaml", "[1]\n---\nkind: Pod\n---\nwords\n")],
        ARGUMENTS,
        &["only one object of another kind and 2 documents that are no objects"],
    );
}

#[test]
fn a_module_is_not_written_into_the_root_of_a_crate() {
    for file in ["lib.rs", "main.rs"] {
        check(
            &[("crd.yaml", &foo()), (&format!("src/{file}"), "mod generated;\n")],
            "-f crd.yaml --out src",
            &[
                &format!("--out src is the root of a crate, because it has a {file}"),
                "--out src/generated",
            ],
        );
    }
}

#[test]
fn a_definition_with_another_name_is_refused() {
    let text = foo().replace("name: foos.example.com", "name: foo.example.com");
    check(
        &[("crd.yaml", &text)],
        ARGUMENTS,
        &[
            "the definition is called `foo.example.com`",
            "give `foos.example.com`",
        ],
    );
}

#[test]
fn a_missing_file_and_an_empty_folder_are_named() {
    check(&[], ARGUMENTS, &["cannot read crd.yaml", "because: "]);
    check(
        &[("crds/README.md", "words")],
        "-f crds --out generated",
        &["no *.yaml, *.yml or *.json file in the folder crds"],
    );
    check(
        &[("crds/a.yaml", "kind: Pod\n"), ("crds/deep/b.json", "{}")],
        "-f crds --out generated",
        &["no CustomResourceDefinition in crds", "only 2 objects"],
    );
}

#[test]
fn a_mistake_in_yaml_or_json_is_told_with_its_line_and_column() {
    let second = format!("{}---\na: 1\n b: 2\n", foo());
    let line = second.lines().count();
    check(
        &[("crd.yaml", &second)],
        ARGUMENTS,
        &[&format!("crd.yaml:{line}:3: invalid YAML")],
    );
    check(
        &[("crd.json", "{\n  \"a\": ]\n}")],
        "-f crd.json --out generated",
        &["crd.json:2:8: invalid JSON"],
    );
}

#[test]
fn a_definition_of_the_wrong_form_is_told_with_its_line() {
    let text = foo().replace("scope: Namespaced", "scope: Everywhere");
    check(
        &[("crd.yaml", &text)],
        ARGUMENTS,
        &[
            "crd.yaml:7:",
            "foos.example.com is not a valid CustomResourceDefinition",
            "Everywhere",
        ],
    );
    let text = foo().replace("  group: example.com\n", "");
    check(&[("crd.yaml", &text)], ARGUMENTS, &["missing field `group`"]);
    let text = foo().replace("group: example.com", "group: ../../etc");
    check(
        &[("crd.yaml", &text)],
        ARGUMENTS,
        &["invalid group `../../etc`", "lower-case letters"],
    );
}

#[test]
fn an_old_version_of_the_api_is_refused_with_what_to_do() {
    let text = foo().replace("k8s.io/v1", "k8s.io/v1beta1");
    check(
        &[("crd.yaml", &text)],
        ARGUMENTS,
        &[
            "crd.yaml:1: foos.example.com uses apiextensions.k8s.io/v1beta1",
            "kubectl get crd foos.example.com -o yaml",
        ],
    );
}

#[test]
fn a_definition_that_serves_nothing_is_refused() {
    let text = foo().replace("served: true", "served: false");
    check(
        &[("crd.yaml", &text)],
        ARGUMENTS,
        &[
            "crd.yaml:1: foos.example.com has no served version",
            "set `served: true`",
        ],
    );
}

#[test]
fn a_version_that_is_there_twice_is_refused() {
    let text = foo() + "    - { name: v1, served: false, storage: false }\n";
    check(
        &[("crd.yaml", &text)],
        ARGUMENTS,
        &[
            "crd.yaml:1: foos.example.com has the version `v1` twice",
            "remove one",
        ],
    );
}

#[test]
fn a_version_without_a_schema_needs_types() {
    let text = foo();
    let text = text.split_once("      schema:").unwrap().0;
    check(
        &[("crd.yaml", text)],
        ARGUMENTS,
        &["example.com/v1 Foo", "no schema", "--types"],
    );
    let folder = Folder::with(&[("crd.yaml", text)]);
    folder
        .run("-f crd.yaml --out generated --types crate::api")
        .says(&["example.com/v1 Foo -> generated/example_com/v1.rs (types of crate::api)"]);
}

#[test]
fn a_kind_that_cannot_be_a_type_is_refused() {
    let text = definition("example.com", "Self", "selves");
    check(
        &[("crd.yaml", &text)],
        ARGUMENTS,
        &[
            "the kind `Self` of selves.example.com",
            "select the other definitions",
        ],
    );
}

#[test]
fn names_that_clash_are_refused_with_both_owners() {
    // The words of one kind are the plural of the other.
    let accessors = definition("example.com", "FooBar", "foobars")
        + "---\n"
        + &definition("example.com", "Other", "foo-bars");
    check(
        &[("crd.yaml", &accessors)],
        ARGUMENTS,
        &[
            "an accessor would have the name `foo_bars` twice",
            "example.com/v1 FooBar",
            "example.com/v1 Other",
            "two folders",
        ],
    );
    let groups = foo() + "---\n" + &definition("example-com", "Bar", "bars");
    check(
        &[("crd.yaml", &groups)],
        ARGUMENTS,
        &[
            "the module of a group would have the name `example_com` twice",
            "the group example-com",
            "the group example.com",
        ],
    );
    let aliases = foo() + "---\n" + &definition("example.com", "FooLister", "foolisters");
    check(&[("crd.yaml", &aliases)], ARGUMENTS, &["`FooLister` twice"]);
}

#[test]
fn a_definition_that_is_there_twice_must_be_the_same() {
    let other = foo().replace("int32", "int64");
    check(
        &[("crds/a.yaml", &foo()), ("crds/b.yaml", &other)],
        "-f crds --out generated",
        &["foos.example.com is defined twice with differences, at crds/a.yaml:1 and at crds/b.yaml:1"],
    );
    let folder = Folder::with(&[("crds/a.yaml", &foo()), ("crds/b.yaml", &foo())]);
    folder
        .run("-f crds --out generated")
        .says(&["example.com/v1 Foo ->"]);
}

#[test]
fn names_and_groups_that_are_not_there_are_refused_with_what_is() {
    let files = [("crd.yaml", foo())];
    let files = [(files[0].0, files[0].1.as_str())];
    check(
        &files,
        "-f crd.yaml --out generated bars.example.com",
        &["no definition `bars.example.com` in crd.yaml: found foos.example.com"],
    );
    check(
        &files,
        "-f crd.yaml --out generated --group example.org",
        &["no definition of the group `example.org` in crd.yaml: found example.com"],
    );
}

#[test]
fn a_folder_that_cannot_be_written_is_refused() {
    check(
        &[("crd.yaml", &foo()), ("generated", "a file")],
        ARGUMENTS,
        &["generated is a file", "--out"],
    );
    check(
        &[("crd.yaml", &foo()), ("file", "")],
        "-f crd.yaml --out file/generated",
        &["file/generated", "because: "],
    );
    // A folder stands where a file has to be.
    check(
        &[("crd.yaml", &foo()), ("generated/example_com.rs/a", "")],
        ARGUMENTS,
        &["generated/example_com.rs is a folder"],
    );
}

/// Not even the superuser can make a folder there.
#[cfg(target_os = "linux")]
#[test]
fn a_file_system_that_refuses_is_named() {
    check(
        &[("crd.yaml", &foo())],
        "-f crd.yaml --out /proc/self/generated",
        &["cannot write /proc/self/generated", "because: "],
    );
}

/// What fails only while files are written leaves neither files nor folders behind.
#[cfg(unix)]
#[test]
fn a_failure_half_way_leaves_nothing_behind() {
    let folder = Folder::with(&[
        (
            "crd.yaml",
            &(definition("a.example", "Bar", "bars") + "---\n" + &foo()),
        ),
        ("generated/mine", ""),
    ]);
    // It is not there when it is looked at, and in the way when it is made.
    std::os::unix::fs::symlink("nowhere", folder.path("generated/example_com")).unwrap();
    check_in(
        &folder,
        ARGUMENTS,
        &["cannot write generated/example_com/v1", "because: "],
    );
}

#[test]
fn a_file_of_somebody_else_is_never_overwritten() {
    let files = [
        ("crd.yaml", foo()),
        ("generated/example_com.rs", "// mine\n".to_owned()),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    check(
        &files,
        ARGUMENTS,
        &["did not write: generated/example_com.rs", "move or delete"],
    );
    check(
        &files,
        "-f crd.yaml --out generated --dry-run",
        &["did not write: generated/example_com.rs"],
    );
}

#[test]
fn a_crate_needs_a_name_that_cargo_takes() {
    for name in ["../up", "Big", "1st", "core"] {
        check(
            &[("crd.yaml", &foo())],
            &format!("-f crd.yaml --crate {name}"),
            &[&format!("invalid name of a crate: `{name}`")],
        );
    }
}

#[test]
fn a_crate_is_not_called_like_one_it_depends_on() {
    for name in ["informers", "serde", "serde_json", "kube", "k8s-openapi"] {
        check(
            &[("crd.yaml", &foo())],
            &format!("-f crd.yaml --crate {name}"),
            &[&format!("the crate cannot be called `{name}`"), "depends on"],
        );
    }
}

#[test]
fn a_module_of_types_must_mean_the_same_everywhere() {
    for path in ["super::api", "crate::", "a-b", "a::<B>", ""] {
        let arguments = format!("-f crd.yaml --out generated --types={path}");
        match path {
            // An empty path below `crate` is the root of the crate, which is fine.
            "crate::" => Folder::with(&[("crd.yaml", &foo())])
                .run(&arguments)
                .says(&["types of crate"]),
            path => check(
                &[("crd.yaml", &foo())],
                &arguments,
                &[&format!("invalid module of types: `{path}`")],
            ),
        }
    }
}

#[test]
fn wrong_usage_has_another_exit_code() {
    let folder = Folder::with(&[("crd.yaml", &foo())]);
    for arguments in [
        "",
        "-f crd.yaml",
        "--out generated",
        "-f crd.yaml --cluster --out generated",
        "-f crd.yaml --out generated --check --dry-run",
        "-f crd.yaml --crate a --types b",
        "-f crd.yaml --out a --informers-path b",
        "-f crd.yaml --crate a --informers-path b --informers-version 1",
        "-f crd.yaml --out generated --nonsense",
    ] {
        folder.run(arguments).fails(2, &["Usage"], &[]);
    }
    assert_eq!(folder.files().len(), 1);
}
