//! The command line.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use informer_gen::crd::{Derive, FieldPath, IndexBy};
use informer_gen::inventory::{NEWEST, OLDEST, Release};

/// Typed informers and listers for Kubernetes custom resources.
#[derive(Debug, Parser)]
#[command(name = "informer-gen", version, arg_required_else_help = true)]
pub(crate) struct Program {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write informers, listers and types for CustomResourceDefinitions
    #[command(after_help = EXAMPLES)]
    Crd(Crd),
}

/// The examples of `--help`, at its end.
const EXAMPLES: &str = "\
Examples:
  informer-gen crd -f crds/ --out src/generated            from files, into a module; add `mod generated;`
  informer-gen crd -f crds/ --out src/generated --check    the same in CI: fails if it would change anything
  kubectl get crd -o yaml | informer-gen crd -f - --group example.com --out src/generated
  informer-gen crd --cluster --group example.com --crate example-client --informers-path ../informers
  informer-gen crd --cluster --check --out src/generated   fails if the schemas of the cluster changed
  informer-gen crd -f crds/ --types crate::api::{version} --out src/generated     with types of your own
  informer-gen crd -f crds/ --out - --docs none            one file, to the standard output
  informer-gen crd -f crds/ --out src/slim --only spec.replicas,status.conditions     a projection

For a kind Foo of example.com/v1 that gives FooInformer, FooLister and FooNamespaceLister, and with
`use generated::prelude::*` also `factory.example_com().v1().foos()` and `lister.foos(namespace)`.

Exit code: 0 success, 1 invalid input or differences with --check, 2 wrong usage.
After an error nothing is written.";

/// Parses a release that k8s-openapi supports.
fn release(text: &str) -> Result<Release, String> {
    let release = text.parse().ok();
    let supported = release.filter(|release| (OLDEST..=NEWEST).contains(release));
    supported.ok_or_else(|| format!("not a release that k8s-openapi supports: {OLDEST} to {NEWEST}"))
}

/// The values of `--docs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Docs {
    None,
    Short,
    Full,
}

/// `informer-gen crd`.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("source").required(true).args(["file", "cluster"])))]
#[command(group(ArgGroup::new("target").required(true).multiple(true).args(["out", "crate_name"])))]
pub(crate) struct Crd {
    /// Only these definitions, such as `foos.example.com`, or `foos.example.com/v1` for one version
    ///
    /// Default: all that are found, or with `--cluster --check` those of the generated code.
    #[arg(value_name = "NAME", verbatim_doc_comment)]
    pub(crate) names: Vec<String>,

    /// Read a file or folder of YAML or JSON, or `-` for the standard input; may be repeated
    ///
    /// In a folder and its subfolders, all *.yaml, *.yml and *.json files are read. Files may have several
    /// documents, lists, and other manifests.
    #[arg(short, long, value_name = "FILE|DIR|-", verbatim_doc_comment)]
    pub(crate) file: Vec<PathBuf>,

    /// Read from the cluster of the current kubeconfig, or the one this program runs in
    #[arg(long)]
    pub(crate) cluster: bool,

    /// Only definitions of this API group; may be repeated
    #[arg(long, value_name = "GROUP")]
    pub(crate) group: Vec<String>,

    /// The folder to write: a module tree with a mod.rs, or with --crate the folder of the crate
    ///
    /// A path that ends in `.rs` is one file with all modules; `-` prints that file to the standard output.
    #[arg(short, long, value_name = "DIR|FILE.rs|-", verbatim_doc_comment)]
    pub(crate) out: Option<PathBuf>,

    /// Write a whole crate of this name; the default of --out is a folder of this name
    #[arg(long = "crate", value_name = "NAME", conflicts_with = "types")]
    pub(crate) crate_name: Option<String>,

    /// Make the crate depend on the `informers` in this folder, such as a checkout of its repository
    ///
    /// As in a Cargo.toml: absolute, or relative to the folder of the crate.
    #[arg(long, value_name = "DIR", requires = "crate_name", verbatim_doc_comment)]
    pub(crate) informers_path: Option<String>,

    /// Make the crate depend on these releases of `informers`, as in a Cargo.toml
    #[arg(
        long,
        value_name = "VERSION",
        requires = "crate_name",
        conflicts_with = "informers_path"
    )]
    pub(crate) informers_version: Option<String>,

    /// Use existing types of this module instead of generating them: `PATH::Foo` for the kind Foo
    ///
    /// `{group}` and `{version}` are replaced by the names of the modules, such as `example_com` and `v1`.
    #[arg(long, value_name = "PATH", verbatim_doc_comment)]
    pub(crate) types: Option<String>,

    /// How much of the descriptions becomes documentation: the first sentence, all of them, or nothing
    #[arg(long, value_name = "LENGTH", value_enum, default_value_t = Docs::Short)]
    pub(crate) docs: Docs,

    /// Generate every type, also those that k8s-openapi or `informers::crd` has
    #[arg(long)]
    pub(crate) no_reuse: bool,

    /// Generate this type, such as `Toleration`, although one exists that could be used; may be repeated
    #[arg(long, value_name = "TYPE", conflicts_with = "no_reuse")]
    pub(crate) own: Vec<String>,

    /// The oldest Kubernetes release that k8s-openapi is compiled for, such as `1.35`
    ///
    /// A type of k8s-openapi is used only if it has all fields of a schema in this and all later releases.
    #[arg(
        long,
        value_name = "RELEASE",
        default_value_t = OLDEST,
        value_parser = release,
        verbatim_doc_comment
    )]
    pub(crate) kubernetes: Release,

    #[command(flatten)]
    pub(crate) style: StyleArgs,

    /// Write nothing; fail and list the differences
    ///
    /// With --cluster, these are the fields that differ between the cluster's schemas and those the code was
    /// generated from; otherwise the files that would change.
    #[arg(long, conflicts_with = "dry_run", verbatim_doc_comment)]
    pub(crate) check: bool,

    /// Write nothing; list what would be written
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// The options of generated types.
#[derive(Args, Debug)]
#[command(next_help_heading = "Options of generated types")]
pub(crate) struct StyleArgs {
    /// Derive a trait in addition; may be repeated
    ///
    /// `Eq` on every type, `@struct=Eq` on structs, `@enum=Copy` on enums, `FooSpec=Eq` on one type.
    #[arg(
        long,
        value_name = "[TYPE=]TRAIT",
        conflicts_with = "types",
        verbatim_doc_comment
    )]
    pub(crate) derive: Vec<Derive>,

    /// The type of maps in `std::collections`
    #[arg(
        long,
        value_name = "TYPE",
        conflicts_with = "types",
        default_value = "btreemap",
        hide_default_value = true
    )]
    pub(crate) map: MapArg,

    /// Add methods `with_<field>` to every struct, which set a field and return the struct
    #[arg(long, conflicts_with_all = ["types", "only"])]
    pub(crate) builders: bool,

    /// Implement kube's `CustomResourceExt`: the definition as it was read, with its columns and short names
    #[arg(long, conflicts_with = "types")]
    pub(crate) crd: bool,

    /// Implement `schemars::JsonSchema` for every type: the schema as it was read
    #[arg(long, conflicts_with_all = ["types", "only"])]
    pub(crate) json_schema: bool,

    /// Make a field a raw JSON value, so that no types are generated for what is below it; may be repeated
    ///
    /// `spec.template`, through arrays and maps, or `foos.example.com:spec.template` for one definition.
    #[arg(
        long,
        value_name = "PATH",
        conflicts_with = "types",
        value_delimiter = ',',
        verbatim_doc_comment
    )]
    pub(crate) skip: Vec<FieldPath>,

    /// Generate projections: types that have only these fields and the metadata, and are never written
    #[arg(long, value_name = "PATH", conflicts_with = "types", value_delimiter = ',')]
    pub(crate) only: Vec<FieldPath>,

    /// Add an index by strings, enums, integers or booleans: the informer gets `by_<name>()`; may be repeated
    ///
    /// `owner=spec.owner`, or `foos.example.com:owner=spec.owner` for one definition.
    #[arg(
        long,
        value_name = "NAME=PATH",
        conflicts_with = "types",
        verbatim_doc_comment
    )]
    pub(crate) index: Vec<IndexBy>,
}

/// `--map`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum MapArg {
    /// `BTreeMap`
    Btreemap,
    /// `HashMap`
    Hashmap,
}
