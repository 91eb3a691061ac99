//! Prints the object itself: the struct, and its implementation of `Resource`.

use super::docs;
use super::model::{Field, Model, Presence};
use super::paths::Paths;
use super::print::{
    Direction, impl_header, literal, print_attribute, print_docs, print_fields, print_rest, read_leniently,
};
use crate::crd::definition::{Definition, Deprecation, Scale, Scope, StatusSubresource, Version};

/// rustfmt's `fn_call_width`.
const CALL_WIDTH: usize = 60;

/// The struct of the object and its implementations.
pub(super) fn print(model: &Model, paths: &Paths<'_>, definition: &Definition, version: &Version) -> String {
    let printer = Printer {
        model,
        paths,
        definition,
        version,
    };
    let parts = [
        printer.structure(),
        printer.constructor(),
        printer.resource(),
        printer.serialize(),
        printer.has_spec(),
        printer.has_status(),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

struct Printer<'a> {
    model: &'a Model,
    paths: &'a Paths<'a>,
    definition: &'a Definition,
    version: &'a Version,
}

impl Printer<'_> {
    fn name(&self) -> &str {
        &self.model.root.name
    }

    fn field(&self, json: &str) -> Option<&Field> {
        self.model.root.fields.iter().find(|field| field.json == json)
    }

    fn docs(&self) -> Vec<String> {
        let schema = self.version.schema.as_ref();
        let description = schema.and_then(|schema| schema.description.as_deref());
        let mut lines = docs::lines(description.unwrap_or_default());
        if lines.is_empty() {
            lines = docs::lines(&format!("An object of the kind `{}`.", self.definition.kind));
        }
        let scope = match self.definition.scope {
            Scope::Namespaced => "namespaced",
            Scope::Cluster => "cluster-scoped",
        };
        let status = match self.version.status {
            StatusSubresource::Present => " Its status is written with separate requests (`/status`).",
            StatusSubresource::Absent => "",
        };
        let mut about = format!(
            "`{}` in `{}/{}`, {scope}.{status}",
            self.definition.plural, self.definition.group, self.version.name
        );
        if let Some(Scale {
            spec_replicas_path,
            status_replicas_path,
            ..
        }) = &self.version.scale
        {
            about += &format!(
                " It can be scaled (`/scale`): `{}` is the desired number, `{}` the current one.",
                docs::plain(spec_replicas_path),
                docs::plain(status_replicas_path)
            );
        }
        lines.push(String::new());
        lines.extend(docs::lines(&about));
        let warning = match &self.version.deprecation {
            Deprecation::No => return lines,
            Deprecation::Deprecated => "This version is deprecated.".to_owned(),
            Deprecation::Warning(warning) => format!("This version is deprecated: {warning}"),
        };
        lines.push(String::new());
        lines.extend(docs::lines(&warning));
        lines
    }

    fn structure(&self) -> String {
        let root = &self.model.root;
        let mut text = String::new();
        print_docs(&mut text, "", &self.docs());
        text.push_str(&format!(
            "#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]\n\
             #[serde(rename_all = \"camelCase\")]\npub struct {} {{\n",
            root.name
        ));
        let about = "Standard metadata: name, labels, owners and so on.".to_owned();
        print_docs(&mut text, "    ", &[about]);
        print_attribute(&mut text, &read_leniently());
        text.push_str(&format!("    pub metadata: {},\n", self.paths.of("ObjectMeta")));
        print_fields(&mut text, root, self.paths, Direction::Reading);
        if let Some(rest) = &root.rest {
            let options = ["flatten", "deserialize_with = \"untyped\""].map(str::to_owned);
            print_rest(&mut text, rest, &options, self.paths);
        }
        text.push_str("}\n");
        text
    }

    fn constructor(&self) -> String {
        let root = &self.model.root;
        let spec = self.field("spec");
        let others = root.fields.len() - usize::from(spec.is_some()) + usize::from(root.rest.is_some());
        let meta = self.paths.of("ObjectMeta");
        let (parameter, about, field) = match spec {
            None => (String::new(), "", String::new()),
            Some(spec) => {
                let type_ = self.paths.of_type(&spec.type_).line();
                let (name, value) = match spec.presence {
                    Presence::UnlessNull => ("", String::new()),
                    Presence::Required => (": ", format!("{}::new(spec)", self.paths.of("Required"))),
                    Presence::RequiredNullable if !spec.type_.holds_null() => {
                        (": ", format!("{}::new(Some(spec))", self.paths.of("Required")))
                    }
                    Presence::RequiredNullable => (": ", format!("{}::new(spec)", self.paths.of("Required"))),
                    Presence::OptionalNullable if !spec.type_.holds_null() => {
                        (": ", "Some(Some(spec))".to_owned())
                    }
                    _ => (": ", "Some(spec)".to_owned()),
                };
                let field = format!("            {}{name}{value},\n", spec.name);
                (format!(", spec: {type_}"), " and spec", field)
            }
        };
        let namespace = match self.definition.scope {
            Scope::Namespaced => " Set `metadata.namespace` before you create it.",
            Scope::Cluster => "",
        };
        let rest = if others > 0 {
            "            ..Self::default()\n"
        } else {
            ""
        };
        let mut text = format!("impl {} {{\n", root.name);
        let about = format!("Returns an object with this name{about}.{namespace}");
        print_docs(&mut text, "    ", &docs::lines(&about));
        let signature = format!("    pub fn new(name: &str{parameter}) -> Self {{\n");
        if signature.len() <= 101 {
            text.push_str(&signature);
        } else {
            let parameter = parameter.trim_start_matches(", ");
            text.push_str(&format!(
                "    pub fn new(\n        name: &str,\n        {parameter},\n    ) -> Self {{\n"
            ));
        }
        text.push_str(&format!(
            "        Self {{
            metadata: {meta} {{
                name: Some(name.to_owned()),
                ..{meta}::default()
            }},
{field}{rest}        }}
    }}
}}
"
        ));
        text
    }

    fn resource(&self) -> String {
        let scope = match self.definition.scope {
            Scope::Namespaced => "NamespaceResourceScope",
            Scope::Cluster => "ClusterResourceScope",
        };
        let mut text = impl_header("kube::Resource", self.name());
        text.push_str(&format!(
            "    type DynamicType = ();\n    type Scope = k8s_openapi::{scope};\n"
        ));
        let api_version = self.api_version();
        let names = [
            ("kind", &self.definition.kind),
            ("group", &self.definition.group),
            ("version", &self.version.name),
            ("api_version", &api_version),
            ("plural", &self.definition.plural),
        ];
        let cow = self.paths.of("Cow");
        for (method, value) in names {
            let value = literal(value);
            text.push_str(&format!(
                "\n    fn {method}(_: &()) -> {cow}<'_, str> {{\n        {cow}::Borrowed({value})\n    }}\n"
            ));
        }
        let meta = self.paths.of("ObjectMeta");
        text.push_str(&format!(
            "\n    fn meta(&self) -> &{meta} {{\n        &self.metadata\n    }}\n\
             \n    fn meta_mut(&mut self) -> &mut {meta} {{\n        &mut self.metadata\n    }}\n}}\n"
        ));
        text
    }

    fn api_version(&self) -> String {
        format!("{}/{}", self.definition.group, self.version.name)
    }

    fn serialize(&self) -> String {
        let mut text = impl_header("serde::Serialize", self.name());
        let result = self.paths.of("Result");
        text.push_str(&format!(
            "    fn serialize<S>(&self, serializer: S) -> {result}<S::Ok, S::Error>\n    where\n        \
             S: serde::Serializer,\n    {{\n        use serde::ser::SerializeMap as _;\n\n        \
             let mut object = serializer.serialize_map(None)?;\n"
        ));
        text.push_str(&entry(8, "\"apiVersion\"", &literal(&self.api_version())));
        text.push_str(&entry(8, "\"kind\"", &literal(&self.definition.kind)));
        text.push_str(&entry(8, "\"metadata\"", "&self.metadata"));
        for field in &self.model.root.fields {
            let (json, name) = (literal(&field.json), &field.name);
            let condition = match field.presence {
                Presence::Required | Presence::RequiredNullable => format!("!self.{name}.is_absent()"),
                Presence::UnlessNull => format!("!self.{name}.is_null()"),
                Presence::Optional | Presence::OptionalNullable => format!("let Some(value) = &self.{name}"),
            };
            let value = match field.presence {
                Presence::Optional | Presence::OptionalNullable => "value".to_owned(),
                _ => format!("&self.{name}"),
            };
            let entry = entry(12, &json, &value);
            text.push_str(&format!("        if {condition} {{\n{entry}        }}\n"));
        }
        if let Some(rest) = &self.model.root.rest {
            let entry = entry(12, "name", "value");
            text.push_str(&format!(
                "        for (name, value) in &self.{rest} {{\n{entry}        }}\n"
            ));
        }
        text.push_str("        object.end()\n    }\n}\n");
        text
    }

    /// kube's trait for an object that always has a spec.
    fn has_spec(&self) -> String {
        let Some(spec) = self
            .field("spec")
            .filter(|spec| spec.presence == Presence::Required)
        else {
            return String::new();
        };
        let type_ = self.paths.of_type(&spec.type_).line();
        let header = impl_header("kube::core::object::HasSpec", self.name());
        format!(
            "{header}    type Spec = {type_};

    fn spec(&self) -> &Self::Spec {{
        &self.spec
    }}

    fn spec_mut(&mut self) -> &mut Self::Spec {{
        &mut self.spec
    }}
}}
"
        )
    }

    /// kube's trait for an object that may have a status.
    fn has_status(&self) -> String {
        let is_optional = |status: &&Field| status.presence == Presence::Optional;
        let Some(status) = self.field("status").filter(is_optional) else {
            return String::new();
        };
        let type_ = self.paths.of_type(&status.type_).line();
        let option = self.paths.of("Option");
        let header = impl_header("kube::core::object::HasStatus", self.name());
        format!(
            "{header}    type Status = {type_};

    fn status(&self) -> {option}<&Self::Status> {{
        self.status.as_ref()
    }}

    fn status_mut(&mut self) -> &mut {option}<Self::Status> {{
        &mut self.status
    }}
}}
"
        )
    }
}

/// The call that writes one property, broken into lines as rustfmt does.
fn entry(indent: usize, name: &str, value: &str) -> String {
    let arguments = format!("{name}, {value}");
    let pad = " ".repeat(indent);
    if arguments.len() <= CALL_WIDTH {
        format!("{pad}object.serialize_entry({arguments})?;\n")
    } else {
        format!("{pad}object.serialize_entry(\n{pad}    {name},\n{pad}    {value},\n{pad})?;\n")
    }
}
