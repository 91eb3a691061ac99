//! `--cluster`, against an API server on a port of its own, with a kubeconfig in the test's folder.

use informer_testing::{ApiServer, Fault, Rule, Verb};
use serde_json::Value;

use super::support::{Folder, definition, exists, foo};

/// A server with definitions, and a folder whose kubeconfig names it.
struct Cluster {
    server: ApiServer,
    folder: Folder,
    runtime: tokio::runtime::Runtime,
}

impl Cluster {
    fn new(definitions: &[String]) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let mut server = runtime.block_on(async { ApiServer::start() });
        runtime.block_on(server.serve_http()).unwrap();
        let mut folder = Folder::new();
        folder.use_cluster(&server.kubeconfig().unwrap());
        for definition in definitions {
            server.create(&json(definition)).unwrap();
        }
        Self {
            server,
            folder,
            runtime,
        }
    }

    /// Replaces a definition.
    fn update(&self, definition: &str) {
        self.server.update(&json(definition)).unwrap();
    }

    fn end(self) {
        self.runtime.block_on(self.server.shutdown());
    }
}

fn json(definition: &str) -> Value {
    serde_saphyr::from_str(definition).unwrap()
}

#[test]
fn a_tree_from_a_cluster_is_the_one_from_a_file() {
    let cluster = Cluster::new(&[foo(), definition("example.org", "Bar", "bars")]);
    let folder = &cluster.folder;
    folder.write("crd.yaml", &foo());
    folder.run("-f crd.yaml --out files").says(&[]);
    folder
        .run("--cluster foos.example.com --out named")
        .says(&["example.com/v1 Foo -> named/"]);
    folder
        .run("--cluster --group example.com --out grouped")
        .says(&["example.com/v1 Foo -> grouped/"]);
    folder
        .run("--cluster --out all")
        .says(&["example.com/v1 Foo -> all/", "example.org/v1 Bar -> all/"]);
    for path in [
        "mod.rs",
        "example_com.rs",
        "example_com/v1.rs",
        "example_com/v1/foo.rs",
        "crds.txt",
    ] {
        let expected = folder.read(&format!("files/{path}"));
        assert_eq!(folder.read(&format!("named/{path}")), expected, "{path}");
        assert_eq!(folder.read(&format!("grouped/{path}")), expected, "{path}");
    }
    cluster.end();
}

#[test]
fn all_pages_of_definitions_are_read() {
    let definitions: Vec<String> = (0..120)
        .map(|number| definition("example.com", &format!("Foo{number}"), &format!("foo{number}s")))
        .collect();
    let cluster = Cluster::new(&definitions);
    let ran = cluster.folder.run("--cluster --out all");
    ran.says(&["example.com/v1 Foo0 ->", "example.com/v1 Foo119 ->"]);
    assert_eq!(
        ran.output
            .lines()
            .filter(|line| line.starts_with("example.com/v1 Foo"))
            .count(),
        120
    );
    assert_eq!(
        cluster
            .server
            .requests()
            .of("customresourcedefinitions")
            .lists()
            .len(),
        3
    );
    cluster.end();
}

#[test]
fn a_definition_that_a_cluster_does_not_have_is_an_error() {
    let cluster = Cluster::new(&[foo()]);
    let folder = &cluster.folder;
    folder.run("--cluster bars.example.com --out generated").fails(
        1,
        &["no definition `bars.example.com` in the cluster"],
        &[],
    );
    folder.run("--cluster --group example.org --out generated").fails(
        1,
        &["no definition of the group `example.org` in the cluster: found example.com"],
        &[],
    );
    assert!(!exists(&folder.path("generated")));
    cluster.end();
}

/// Without a cluster: the name is rejected before any request.
#[test]
fn a_name_that_no_definition_has_never_becomes_a_part_of_a_url() {
    let folder = Folder::new();
    for name in [
        "..",
        "../../pods",
        "foos.example.com?watch=true",
        "a%2fb",
        "Foo",
        "a..b",
    ] {
        folder.run(&format!("--cluster {name} --out generated")).fails(
            1,
            &["invalid name of a definition"],
            &[],
        );
    }
    assert!(folder.files().is_empty());
}

#[test]
fn drift_is_told_field_by_field() {
    let cluster = Cluster::new(&[foo()]);
    let folder = &cluster.folder;
    folder.write("crd.yaml", &foo());
    folder.run("-f crd.yaml --out generated").says(&[]);
    let check = "--cluster --check --out generated";
    folder
        .run(check)
        .says(&["the cluster matches the generated code: foos.example.com"]);

    // Words are no drift.
    cluster.update(&foo().replace(
        "required: [size]",
        "required: [size]\n              description: words",
    ));
    folder.run(check).says(&[]);

    let changed = foo()
        .replace("required: [size]", "required: [colour]")
        .replace(
            "size: { type: integer, format: int32 }",
            "size: { type: string }\n                colour: { type: string }",
        )
        .replace("scope: Namespaced", "scope: Cluster");
    cluster.update(&changed);
    folder.run(check).fails(
        1,
        &["the cluster differs from the generated code"],
        &[
            "foos.example.com: the scope is Cluster, it was Namespaced\n",
            "foos.example.com v1: `spec.colour` was added (string, required)\n",
            "foos.example.com v1: `spec.size` is string, it was ",
            "foos.example.com v1: `spec.size` is optional now\n",
        ],
    );

    cluster.update(&foo().replace("- name: v1", "- name: v2"));
    folder.run(check).fails(
        1,
        &[],
        &[
            "foos.example.com v1: no longer served\n",
            "foos.example.com v2: served, but not generated\n",
        ],
    );
    cluster.server.delete(&json(&foo())).unwrap();
    folder
        .run(check)
        .fails(1, &[], &["foos.example.com: the definition was removed\n"]);
    cluster.end();
}

#[test]
fn a_version_that_was_left_out_is_no_drift() {
    let second =
        "    - { name: v2, served: true, storage: false, schema: { openAPIV3Schema: { type: object } } }\n";
    let cluster = Cluster::new(&[foo() + second]);
    let folder = &cluster.folder;
    folder
        .run("--cluster --out generated foos.example.com/v1")
        .says(&["example.com/v1 Foo"]);
    folder.run("--cluster --check --out generated").says(&[]);
    folder
        .run("--cluster --check --out generated foos.example.com/v1")
        .says(&[]);
    cluster.end();
}

#[test]
fn drift_needs_code_to_compare_with() {
    let cluster = Cluster::new(&[foo()]);
    let folder = &cluster.folder;
    folder
        .run("--cluster --check --out generated")
        .fails(1, &["cannot read generated/crds.txt"], &[]);
    folder.run("--cluster --out generated").says(&[]);
    folder
        .run("--cluster --check --out generated bars.example.com")
        .fails(
            1,
            &["no definition `bars.example.com` in generated/crds.txt: found foos.example.com"],
            &[],
        );
    folder.write(
        "generated/crds.txt",
        "# @generated by informer-gen crd\nformat 9\n",
    );
    folder
        .run("--cluster --check --out generated")
        .fails(1, &["invalid line 2: `format 9`"], &[]);
    cluster.end();
}

#[test]
fn a_cluster_that_refuses_or_is_not_there_is_told() {
    let cluster = Cluster::new(&[foo()]);
    cluster
        .server
        .faults()
        .add(Rule::new(Fault::Forbidden).on(Verb::List));
    cluster.folder.run("--cluster --out generated").fails(
        1,
        &["cannot read the definitions", "kubectl auth can-i list crd"],
        &[],
    );
    cluster.end();
    let mut nowhere = Folder::new();
    nowhere
        .run("--cluster --out generated")
        .fails(1, &["no cluster", "No such file"], &[]);
    assert!(nowhere.files().is_empty());
    nowhere.use_cluster("users:\n  - name: u\n    user: { token: [hunter2] }\n");
    let ran = nowhere.run("--cluster --out generated");
    ran.fails(1, &["no cluster", "(line 3, column "], &[]);
    assert!(!ran.errors.contains("hunter2"), "{}", ran.errors);
}
