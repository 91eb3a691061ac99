//! The text of the files of a tree, except the types: aliases and one-line accessors.
//!
//! They are written as text instead of tokens, so that they have rustfmt's layout for names of any length.

use super::plan::{Group, Kind, KindTypes, Version};
use super::{MARKER, Root, TreeError};
use crate::crd::types::library::Library;

/// rustfmt's default width.
const WIDTH: usize = 100;

/// The lints that a generated tree cannot avoid, by name: the others hold for it.
const ALLOWED: &str = "\
#[allow(dead_code, missing_docs, unreachable_pub, unused_imports, reason = \"a program uses a part of it\")]
#[allow(clippy::enum_variant_names, clippy::upper_case_acronyms, reason = \"names of the schema\")]
#[allow(clippy::struct_excessive_bools, clippy::struct_field_names, reason = \"fields of the schema\")]
#[allow(clippy::doc_markdown, clippy::must_use_candidate, clippy::option_option, \
reason = \"as the schema says\")]
";

/// The first line of a generated file. It names neither a version of this program nor a local path, so that
/// the file is the same on every machine.
fn marker(comment: &str, of: &str) -> String {
    format!(
        "{comment} {MARKER}{of}; do not edit. To write it anew: informer-gen crd -f <CRDs> --out <folder>\n"
    )
}

/// The first line of the record.
pub(super) fn record_marker() -> String {
    marker("#", "")
}

/// `mod.rs` or `lib.rs`: the groups and the prelude. A `mod.rs` has no inner attributes, so that `include!`
/// works.
pub(super) fn root(groups: &[Group<'_>], library: &Library<'_>, root: &Root) -> String {
    let mut text = marker("//", "");
    let names: Vec<String> = groups.iter().map(|group| format!("`{}`", group.name)).collect();
    let about = format!(
        "Informers, listers and types of custom resources: {}, and a `prelude`.",
        names.join(", ")
    );
    text += &match root {
        Root::Module => format!("// {about}\n"),
        Root::Crate(_) => format!(
            "//! {about}\n//!\n\
             //! `use prelude::*` gives a `SharedInformerFactory` and the listers their accessors.\n"
        ),
    };
    for group in groups {
        let (name, module) = (group.name, &group.module);
        text += &format!("\n/// The kinds of `{name}`.\n{ALLOWED}#[rustfmt::skip]\npub mod {module};\n");
    }
    if library.shared_count() > 0 {
        text += &format!("\n/// Types of several kinds.\n{ALLOWED}#[rustfmt::skip]\npub mod shared;\n");
    }
    text += "\n/// The extension traits, which give factories and listers the accessors of these kinds.\n";
    text += &format!("{ALLOWED}#[rustfmt::skip]\npub mod prelude {{\n");
    for group in groups {
        let module = &group.module;
        for version in &group.versions {
            for kind in version.kinds.iter().filter(|kind| kind.is_namespaced()) {
                let (version, extension) = (&version.module, kind.alias("ListerExt"));
                text += &format!("    pub use super::{module}::{version}::{extension} as _;\n");
            }
        }
        text += &format!(
            "    pub use super::{module}::{}FactoryExt as _;\n",
            group.type_name
        );
    }
    text + "}\n"
}

/// The module of a group: its versions, and the accessor of the factory.
pub(super) fn group(group: &Group<'_>) -> String {
    let Group {
        name,
        module,
        type_name,
        versions,
    } = group;
    let listed: Vec<String> = versions
        .iter()
        .map(|version| format!("`{}`", version.module))
        .collect();
    let mut text = marker("//", "");
    text += &format!(
        "//! The kinds of `{name}` by version: {}.

/// The kinds of `{name}` by version; `factory.{module}()` returns it.
#[derive(Clone, Debug)]
pub struct {type_name}(::informers::SharedInformerFactory);

impl {type_name} {{\n",
        listed.join(", ")
    );
    let accessors = versions.iter().map(|version| {
        let Version {
            module, type_name, ..
        } = version;
        let head = signature(
            "    pub fn ",
            module,
            "&self",
            &format!("{module}::{type_name}"),
            " {",
        );
        format!(
            "    /// The kinds of {}.
    #[inline]
{head}        {module}::{type_name}(self.0.clone())
    }}
",
            version.title()
        )
    });
    text += &accessors.collect::<Vec<_>>().join("\n");
    let [declared, defined] =
        [";", " {"].map(|ending| signature("    fn ", module, "&self", type_name, ending));
    let extension = format!("{type_name}FactoryExt");
    let implementation = implementation(&extension, "::informers::SharedInformerFactory");
    text += &format!(
        "}}

/// Gives a factory the accessor of `{name}`.
pub trait {extension} {{
    /// The kinds of `{name}`.
{declared}}}

{implementation}    #[inline]
{defined}        {type_name}(self.clone())
    }}
}}\n"
    );
    for version in versions {
        text += &format!(
            "\n/// The kinds of {}.\npub mod {};\n",
            version.title(),
            version.module
        );
    }
    text
}

impl Version<'_> {
    /// Its name and its kinds, for documentation.
    fn title(&self) -> String {
        let kinds: Vec<String> = self
            .kinds
            .iter()
            .map(|kind| format!("`{}`", kind.definition.kind))
            .collect();
        format!("`{}`: {}", self.api_version, kinds.join(", "))
    }
}

/// The module of a version: its kinds' aliases, and their accessors.
pub(super) fn version(group: &Group<'_>, version: &Version<'_>) -> String {
    let (api_version, type_name) = (&version.api_version, &version.type_name);
    let way = format!("factory.{}().{}()", group.module, version.module);
    let mut text = marker("//", "");
    text += &format!(
        "//! Informers and listers of {}.

/// The kinds of `{api_version}`; `{way}` returns it.
#[derive(Clone, Debug)]
pub struct {type_name}(pub(super) ::informers::SharedInformerFactory);

impl {type_name} {{\n",
        version.title()
    );
    let accessors = version.kinds.iter().map(|kind| {
        let head = signature(
            "    pub fn ",
            &kind.accessor,
            "&self",
            &kind.alias("Informer"),
            " {",
        );
        format!(
            "    /// The informer of {} objects.\n    #[inline]\n{head}        self.0.kind()\n    }}\n",
            kind.link()
        )
    });
    text += &accessors.collect::<Vec<_>>().join("\n");
    text += "}\n";
    for kind in &version.kinds {
        text.push('\n');
        text += &self::kind(kind, &way);
    }
    text
}

impl Kind<'_> {
    /// Its type, as a link.
    fn link(&self) -> String {
        match &self.types {
            KindTypes::Generated(_) => format!("[`{}`]", self.type_name),
            KindTypes::Existing(path) => format!("[`{}`]({path})", self.type_name),
        }
    }
}

fn kind(kind: &Kind<'_>, way: &str) -> String {
    let (link, accessor, path) = (kind.link(), &kind.accessor, kind.path());
    let [informer, lister, namespace_lister, extension] =
        ["Informer", "Lister", "NamespaceLister", "ListerExt"].map(|ending| kind.alias(ending));
    let mut text = String::new();
    if let KindTypes::Generated(_) = kind.types {
        let (module, type_name) = (&kind.module, &kind.type_name);
        text += &format!("/// The types of {link} objects.\npub mod {module};\n\n");
        text += &format!("pub use self::{module}::{type_name};\n\n");
    }
    text += &format!("/// Informer of {link} objects; `{way}.{accessor}()` returns it.\n");
    text += &alias(&informer, "ResourceInformer", path);
    text += &format!("\n/// Lister of {link} objects; `{way}.{accessor}().lister()` returns it.\n");
    text += &alias(&lister, "Lister", path);
    if !kind.is_namespaced() {
        return text;
    }
    text += &format!(
        "\n/// Lister of the {link} objects in one namespace; `lister.{accessor}(namespace)` returns it.\n"
    );
    text += &alias(&namespace_lister, "NamespaceLister", path);
    let [declared, defined] = [";", " {"].map(|ending| {
        signature(
            "    fn ",
            accessor,
            "&self, namespace: &str",
            &namespace_lister,
            ending,
        )
    });
    let implementation = implementation(&extension, &lister);
    text += &format!(
        "
/// Gives [`{lister}`] an accessor of namespaces that names the kind.
pub trait {extension} {{
    /// The {link} objects of one namespace, as [`namespace`](::informers::Lister::namespace).
{declared}}}

{implementation}    #[inline]
{defined}        self.namespace(namespace)
    }}
}}\n"
    );
    text
}

/// The file of a kind's types.
pub(super) fn types(kind: &Kind<'_>, text: &str) -> String {
    marker("//", &format!(" from {}", kind.definition.name())) + text
}

/// The file of the types of several kinds.
pub(super) fn shared(text: &str) -> String {
    marker("//", "") + text
}

/// Any other text with the first line of a generated file.
pub(super) fn marked(text: &str) -> String {
    marker("//", "") + text
}

/// Whether a file has types of kinds, by its first sentence.
pub(super) fn is_of_types(text: &str) -> bool {
    let about = text.lines().nth(1).unwrap_or_default();
    about.ends_with("from its schema.") || about.ends_with("from their schemas.")
}

/// `pub type name = ::informers::generic<of>;`, as rustfmt breaks it.
fn alias(name: &str, generic: &str, of: &str) -> String {
    let forms = [
        format!("pub type {name} = ::informers::{generic}<{of}>;\n"),
        format!("pub type {name} =\n    ::informers::{generic}<{of}>;\n"),
        format!("pub type {name} =\n    ::informers::{generic}<\n        {of},\n    >;\n"),
    ];
    first_that_fits(forms)
}

/// The first line of an implementation, as rustfmt breaks it.
fn implementation(of: &str, by: &str) -> String {
    first_that_fits([
        format!("impl {of} for {by} {{\n"),
        format!("impl {of}\n    for {by}\n{{\n"),
    ])
}

/// The line or lines of a function up to `ending`, as rustfmt breaks them.
fn signature(start: &str, name: &str, parameters: &str, returned: &str, ending: &str) -> String {
    let broken: String = parameters
        .split(", ")
        .map(|parameter| format!("        {parameter},\n"))
        .collect();
    first_that_fits([
        format!("{start}{name}({parameters}) -> {returned}{ending}\n"),
        format!("{start}{name}(\n{broken}    ) -> {returned}{ending}\n"),
    ])
}

/// The first form whose lines all fit, or the last one.
fn first_that_fits<const N: usize>(forms: [String; N]) -> String {
    let fits = |form: &String| form.lines().all(|line| line.len() <= WIDTH);
    let last = forms.last().cloned();
    forms.into_iter().find(fits).or(last).unwrap_or_default()
}

/// Checks that the generated text is valid Rust, before anything is written.
pub(super) fn check(path: &str, text: &str) -> Result<(), TreeError> {
    match path.ends_with(".rs").then(|| syn::parse_file(text)) {
        Some(Err(source)) => Err(TreeError::Syntax {
            path: path.to_owned(),
            source,
        }),
        _ => Ok(()),
    }
}
