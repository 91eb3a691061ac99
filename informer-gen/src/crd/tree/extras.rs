//! Implementations that contain the definition: kube's `CustomResourceExt`, and `JsonSchema`.

use serde_json::{Value, json};

use super::options::{Extra, Style};
use super::plan::{Group, Kind, KindTypes, Version};
use crate::crd::read::Found;
use crate::crd::types::library::Library;
use crate::crd::types::parts::{NamedPart, Part};
use crate::names::constant;

/// The module of a group with the text of definitions and schemas.
pub(super) const MODULE: &str = "definitions";

/// Metadata that a server sets, and that a new definition does not have.
const OF_SERVERS: [&str; 6] = [
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Whether any of the implementations is wanted.
pub(super) fn is_wanted(style: &Style) -> bool {
    style.extras.contains(&Extra::Definition) || style.extras.contains(&Extra::JsonSchema)
}

/// The definition as it was read, without what a server adds.
fn manifest(found: &Found) -> Value {
    let mut manifest = found.manifest.clone();
    manifest["apiVersion"] = "apiextensions.k8s.io/v1".into();
    manifest["kind"] = "CustomResourceDefinition".into();
    if let Value::Object(fields) = &mut manifest {
        fields.remove("status");
    }
    if let Some(metadata) = manifest.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|name, _| !OF_SERVERS.contains(&name.as_str()));
        metadata.insert("name".to_owned(), found.definition.name().into());
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        }
    }
    manifest
}

/// The text of the module `definitions` of a group.
pub(super) fn module(group: &Group<'_>, found: &[Found], style: &Style) -> String {
    let mut text = format!("//! The definitions of `{}` as JSON.\n", group.name);
    for found in found.iter().filter(|found| found.definition.group == group.name) {
        let (name, plural) = (found.definition.name(), constant(&found.definition.plural));
        let manifest = manifest(found);
        if style.extras.contains(&Extra::Definition) {
            let value = format!("{:?}", manifest.to_string());
            text += &format!("\n/// The definition `{name}`.\npub const {plural}: &str = {value};\n");
        }
        let versions = manifest["spec"]["versions"].as_array().into_iter().flatten();
        for version in versions.filter(|_| style.extras.contains(&Extra::JsonSchema)) {
            let version_name = version["name"].as_str().unwrap_or_default();
            let schema = match &version["schema"]["openAPIV3Schema"] {
                Value::Object(schema) => Value::Object(schema.clone()),
                _ => json!({ "type": "object" }),
            };
            let value = format!("{:?}", schema.to_string());
            text += &format!(
                "\n/// The schema of `{name}` in `{version_name}`.\npub const {plural}_{}: &str = {value};\n",
                constant(version_name)
            );
        }
    }
    text
}

/// The implementations for a kind, at the end of the file of its types.
pub(super) fn implementations(
    kind: &Kind<'_>,
    version: &Version<'_>,
    library: &Library<'_>,
    style: &Style,
) -> String {
    let (type_name, plural) = (&kind.type_name, constant(&kind.definition.plural));
    let decode = "k8s_openapi::serde_json::from_str";
    let reason = "the generator wrote valid JSON";
    let mut text = String::new();
    if style.extras.contains(&Extra::Definition) {
        let short = format!("{:?}", kind.definition.short_names);
        let name = kind.definition.name();
        let dynamic = if style.only.is_empty() {
            "()"
        } else {
            "::informers::Projected"
        };
        text += &format!(
            "
/// The definition as it was read.
impl kube::core::crd::v1::CustomResourceExt for {type_name} {{
    fn crd()
    -> k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition {{
        {decode}(super::super::{MODULE}::{plural}).expect(\"{reason}\")
    }}

    fn crd_name() -> &'static str {{
        \"{name}\"
    }}

    fn api_resource() -> kube::core::discovery::ApiResource {{
        kube::core::discovery::ApiResource::erase::<Self>(&{dynamic})
    }}

    fn shortnames() -> &'static [&'static str] {{
        &{short}
    }}
}}
"
        );
    }
    if style.extras.contains(&Extra::JsonSchema) {
        let version = constant(version.api_version.rsplit('/').next().unwrap_or_default());
        let schema = format!("super::super::{MODULE}::{plural}_{version}");
        text.push('\n');
        text += &json_schema(type_name, &kind.definition.kind, &schema, "");
        if let KindTypes::Generated(position) = kind.types {
            let parts = library.parts(Part::OfKind(position)).into_iter();
            text.extend(parts.map(|part| part_schema(&part, "super::super")));
        }
    }
    text
}

/// The implementations for types of several kinds.
pub(super) fn of_shared(library: &Library<'_>, style: &Style) -> String {
    if !style.extras.contains(&Extra::JsonSchema) {
        return String::new();
    }
    let parts = library.parts(Part::Shared).into_iter();
    let parts = parts.map(|part| part_schema(&part, &format!("super::{}", part.group)));
    parts.fold("\n".to_owned(), |text, part| text + &part)
}

/// The schema of a type below a kind: a part of the schema of the kind, at the first place of the type.
fn part_schema(part: &NamedPart<'_>, group: &str) -> String {
    let (plural, version) = (constant(&part.definition.plural), constant(&part.version.name));
    let schema = format!("{group}::{MODULE}::{plural}_{version}");
    json_schema(part.name, part.name, &schema, &part.pointer)
}

fn json_schema(type_: &str, name: &str, schema: &str, pointer: &str) -> String {
    format!("informers::crd::json_schema!({type_}, {name:?}, {schema}, {pointer:?});\n")
}
