//! Prints the object itself: the struct, and the implementations of a kind.

use super::comments;
use super::docs;
use super::library::Module;
use super::model::{Field, Presence};
use super::paths::Paths;
use super::print::{
    Direction, literal, print_attribute, print_docs, print_fields, print_rest, read_leniently,
};
use crate::crd::definition::{Deprecation, Scale, Scope, StatusSubresource};

/// The struct of the object and its implementations.
pub(super) fn print(module: &Module<'_>, paths: &Paths<'_>) -> String {
    let printer = Printer { module, paths };
    format!("{}\n{}", printer.structure(), printer.implementations())
}

struct Printer<'a> {
    module: &'a Module<'a>,
    paths: &'a Paths<'a>,
}

impl Printer<'_> {
    fn name(&self) -> &str {
        &self.module.name
    }

    fn field(&self, json: &str) -> Option<&Field> {
        self.module.root.fields.iter().find(|field| field.json == json)
    }

    fn docs(&self) -> Vec<String> {
        let schema = self.module.version.schema.as_ref();
        let description = schema.and_then(|schema| schema.description.as_deref());
        let mut lines = comments::object(description.unwrap_or_default(), self.paths.docs());
        if lines.is_empty() {
            lines = docs::lines(&format!(
                "An object of the kind `{}`.",
                self.module.definition.kind
            ));
        }
        let scope = match self.module.definition.scope {
            Scope::Namespaced => "namespaced",
            Scope::Cluster => "cluster-scoped",
        };
        let status = match self.module.version.status {
            StatusSubresource::Present => " Its status is written with separate requests (`/status`).",
            StatusSubresource::Absent => "",
        };
        let mut about = format!(
            "`{}` in `{}/{}`, {scope}.{status}",
            self.module.definition.plural, self.module.definition.group, self.module.version.name
        );
        if let Some(Scale {
            spec_replicas_path,
            status_replicas_path,
            ..
        }) = &self.module.version.scale
        {
            about += &format!(
                " It can be scaled (`/scale`): `{}` is the desired number, `{}` the current one.",
                docs::plain(spec_replicas_path),
                docs::plain(status_replicas_path)
            );
        }
        lines.push(String::new());
        lines.extend(docs::lines(&about));
        let warning = match &self.module.version.deprecation {
            Deprecation::No => return lines,
            Deprecation::Deprecated => "This version is deprecated.".to_owned(),
            Deprecation::Warning(warning) => format!("This version is deprecated: {warning}"),
        };
        lines.push(String::new());
        lines.extend(docs::lines(&warning));
        lines
    }

    fn structure(&self) -> String {
        let root = &self.module.root;
        let mut text = String::new();
        print_docs(&mut text, "", &self.docs());
        text.push_str(&format!(
            "#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]\n\
             #[serde(rename_all = \"camelCase\")]\npub struct {} {{\n",
            self.name()
        ));
        let about = "Standard metadata: name, labels, owners and so on.";
        print_docs(&mut text, "    ", &comments::fixed(about, self.paths.docs()));
        print_attribute(&mut text, &read_leniently());
        text.push_str(&format!("    pub metadata: {},\n", self.paths.of("ObjectMeta")));
        print_fields(&mut text, root, self.paths, Direction::Reading);
        if let Some(rest) = &root.rest {
            let options = ["flatten", "deserialize_with = \"informers::crd::untyped\""].map(str::to_owned);
            print_rest(&mut text, rest, &options, self.paths);
        }
        text.push_str("}\n");
        text
    }

    /// The call of the macro that implements everything which is the same for all kinds.
    fn implementations(&self) -> String {
        let definition = self.module.definition;
        let scope = match definition.scope {
            Scope::Namespaced => "NamespaceResourceScope",
            Scope::Cluster => "ClusterResourceScope",
        };
        let names = [
            &definition.kind,
            &definition.plural,
            &definition.group,
            &self.module.version.name,
        ];
        let names = names.map(|name| literal(name)).join(", ");
        let mut text = format!(
            "informers::crd::object! {{\n    impl Resource<()> for {}: {names}, {scope};\n",
            self.name()
        );
        text += &format!("    impl Serialize {{ {} }}\n", self.written().join(", "));
        let trait_of = |name: &str, json: &str, presence: Presence| {
            let field = self.field(json).filter(|field| field.presence == presence)?;
            let type_ = self.paths.of_type(&field.type_).line();
            Some(format!("    impl {name}: {type_};\n"))
        };
        text.extend(trait_of("HasSpec", "spec", Presence::Required));
        text.extend(trait_of("HasStatus", "status", Presence::Optional));
        text += &self.constructor();
        text.push_str("}\n");
        text
    }

    /// The properties that are written besides the metadata.
    fn written(&self) -> Vec<String> {
        let root = &self.module.root;
        let fields = root.fields.iter();
        let fields = fields.map(|field| format!("{}: {}", literal(&field.json), field.name));
        fields
            .chain(root.rest.iter().map(|rest| format!("..{rest}")))
            .collect()
    }

    fn constructor(&self) -> String {
        let namespace = match self.module.definition.scope {
            Scope::Namespaced => " Set `metadata.namespace` before you create it.",
            Scope::Cluster => "",
        };
        let (parameter, about) = match self.field("spec") {
            None => (String::new(), ""),
            Some(spec) => {
                let type_ = self.paths.of_type(&spec.type_).line();
                let value = match (spec.presence, spec.type_.holds_null()) {
                    (Presence::UnlessNull, _) => "spec",
                    (Presence::Required, _) | (Presence::RequiredNullable, true) => "spec.into()",
                    (Presence::RequiredNullable, false) => "Some(spec).into()",
                    (Presence::OptionalNullable, false) => "Some(Some(spec))",
                    (Presence::Optional | Presence::OptionalNullable, _) => "Some(spec)",
                };
                (format!("spec: {type_} => {value}"), " and spec")
            }
        };
        let mut text = String::new();
        let about = format!("Returns an object with this name{about}.{namespace}");
        print_docs(&mut text, "    ", &docs::lines(&about));
        text += &format!("    fn new({parameter});\n");
        text
    }
}
