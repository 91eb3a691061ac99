//! The structs of one release of k8s-openapi: the Rust type and the JSON name of every field.

use std::collections::BTreeMap;
use std::path::Path;

use super::Empty;
use super::types::RustType;
use crate::inventory::scan::{ScanError, module_path, read_files};

/// A struct with named fields, or with none.
pub(super) struct Struct {
    pub(super) empty: Empty,
    /// By JSON name: the name in Rust, and the type.
    pub(super) fields: BTreeMap<String, (String, RustType)>,
}

/// The structs below the folder of one release, by their paths below the root of k8s-openapi.
pub(super) fn scan(root: &Path) -> Result<BTreeMap<String, Struct>, ScanError> {
    let mut structs = BTreeMap::new();
    for (path, text) in read_files(root)? {
        let wrong = |problem: String| ScanError::Declaration {
            path: path.clone(),
            problem,
        };
        if let Some((name, declared)) = read(&text).map_err(wrong)? {
            structs.insert(module_path(root, &path, name).map_err(wrong)?, declared);
        }
    }
    Ok(structs)
}

/// The struct that a file declares, if it has named fields and no type parameters, or holds JSON.
fn read(text: &str) -> Result<Option<(&str, Struct)>, String> {
    let mut lines = text.lines();
    let mut derives = "";
    let name = loop {
        let Some(line) = lines.next() else { return Ok(None) };
        if line.starts_with("#[derive(") {
            derives = line;
        }
        if let Some(rest) = line.strip_prefix("pub struct ") {
            if let Some(name) = rest.strip_suffix("(pub crate::serde_json::Value);") {
                let (empty, fields) = (Empty::Object, BTreeMap::new());
                return Ok(Some((name, Struct { empty, fields })));
            }
            match rest.strip_suffix(" {") {
                Some(name) if !name.contains('<') => break name,
                _ => return Ok(None),
            }
        }
    };
    let mut types = BTreeMap::new();
    for line in lines.by_ref().take_while(|line| *line != "}") {
        let Some((field, text)) = line
            .strip_prefix("    pub ")
            .and_then(|line| line.split_once(": "))
        else {
            continue;
        };
        let short = shorten(text.trim_end_matches(','));
        let parsed = RustType::parse(&short).ok_or_else(|| format!("unknown type `{short}` of `{field}`"))?;
        types.insert(field, parsed);
    }
    let mut fields = BTreeMap::new();
    for line in lines {
        let arm = line
            .trim()
            .strip_prefix('"')
            .and_then(|arm| arm.split_once("\" => Field::Key_"));
        let Some((json, field)) = arm else { continue };
        let field = field.trim_end_matches(',');
        if let Some((field, found)) = types.remove_entry(field) {
            fields.insert(json.to_owned(), (field.to_owned(), found));
        }
    }
    if let Some(field) = types.keys().next() {
        return Err(format!("the field `{field}` of `{name}` has no JSON name"));
    }
    let empty = match derives.contains("Default") {
        true => Empty::Default,
        false => Empty::Literal,
    };
    Ok(Some((name, Struct { empty, fields })))
}

/// Replaces the paths of the standard library, and of the crate itself.
fn shorten(text: &str) -> String {
    text.replace("std::collections::BTreeMap<std::string::String, ", "Map<")
        .replace("std::string::String", "String")
        .replace("std::vec::Vec", "Vec")
        .replace("std::boxed::Box", "Box")
        .replace("crate::ByteString", "ByteString")
        .replace("crate::", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_their_types_and_json_names() {
        let text = concat!(
            "/// Doc.\n#[derive(Clone, Default)]\npub struct Pair {\n    /// Doc.\n",
            "    pub pod_ip: Option<std::string::String>,\n\n",
            "    pub more: std::collections::BTreeMap<std::string::String, crate::api::v1::X>,\n}\n\n",
            "    \"podIP\" => Field::Key_pod_ip,\n    \"more\" => Field::Key_more,\n",
        );
        let (name, declared) = read(text).unwrap().unwrap();
        assert_eq!((name, declared.empty), ("Pair", Empty::Default));
        let types: Vec<String> = declared
            .fields
            .iter()
            .map(|(json, (rust, found))| format!("{json} {rust} {found}"))
            .collect();
        assert_eq!(
            types,
            ["more more Map<api::v1::X>", "podIP pod_ip Option<String>"]
        );
    }

    #[test]
    fn newtypes_and_generic_structs_are_not_read() {
        assert!(read("pub struct Time(pub X);\n").unwrap().is_none());
        assert!(
            read("pub struct List<T> {\n    pub items: T,\n}\n")
                .unwrap()
                .is_none()
        );
        assert!(read("pub struct A {\n    pub b: bool,\n}\n").is_err());
    }
}
