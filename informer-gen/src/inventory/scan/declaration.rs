//! Reads the declaration of one kind out of one file of k8s-openapi.

use std::collections::HashMap;
use std::path::Path;

use syn::{Expr, ImplItem, Item, ItemImpl, Lit, Type};

use super::ScanError;
use crate::inventory::Scope;

/// The declaration of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declaration {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) plural: String,
    pub(super) scope: Scope,
    /// Below the root of k8s-openapi, without the folder of the release: users see the modules there.
    pub(super) path: String,
}

/// The kind that `text`, the file at `path` below the folder `release`, declares, if it declares one that can
/// be listed.
pub(super) fn find(release: &Path, path: &Path, text: &str) -> Result<Option<Declaration>, ScanError> {
    // Most of the files declare parts of kinds; parsing them all would take ten times as long.
    if !text.contains("ListableResource") {
        return Ok(None);
    }
    let file = syn::parse_file(text).map_err(|source| ScanError::Parse {
        path: path.to_owned(),
        source,
    })?;
    let resource = only_impl(&file.items, "Resource", path)?;
    let listable = only_impl(&file.items, "ListableResource", path)?;
    let (Some(resource), Some(listable)) = (resource, listable) else {
        return Ok(None);
    };
    let wrong = |problem: String| ScanError::Declaration {
        path: path.to_owned(),
        problem,
    };

    let name = last_segment(&resource.self_ty)
        .filter(|name| Some(name) == last_segment(&listable.self_ty).as_ref())
        .ok_or_else(|| {
            wrong("Resource and ListableResource are implemented for different types".to_owned())
        })?;
    let mut constants = string_constants(resource);
    let mut constant = |name: &str| {
        constants
            .remove(name)
            .ok_or_else(|| wrong(format!("no string constant `{name}`")))
    };
    Ok(Some(Declaration {
        group: constant("GROUP")?,
        version: constant("VERSION")?,
        kind: constant("KIND")?,
        plural: constant("URL_PATH_SEGMENT")?,
        scope: scope(resource).map_err(wrong)?,
        path: module_path(release, path, &name).map_err(wrong)?,
    }))
}

/// The file's `impl crate::<name> for ..`, an error if there are several.
fn only_impl<'a>(items: &'a [Item], name: &str, path: &Path) -> Result<Option<&'a ItemImpl>, ScanError> {
    let mut found = items.iter().filter_map(|item| match item {
        Item::Impl(block) if implements(block, name) => Some(block),
        _ => None,
    });
    let first = found.next();
    if found.next().is_some() {
        let problem = format!("`{name}` is implemented more than once");
        return Err(ScanError::Declaration {
            path: path.to_owned(),
            problem,
        });
    }
    Ok(first)
}

/// Whether `block` is `impl crate::<name> for ..`.
fn implements(block: &ItemImpl, name: &str) -> bool {
    block.trait_.as_ref().is_some_and(|(path, _)| {
        let segments: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        segments == ["crate", name]
    })
}

fn last_segment(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
        _ => None,
    }
}

fn string_constants(block: &ItemImpl) -> HashMap<String, String> {
    let constant = |item: &ImplItem| match item {
        ImplItem::Const(constant) => match &constant.expr {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some((constant.ident.to_string(), text.value())),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    block.items.iter().filter_map(constant).collect()
}

fn scope(block: &ItemImpl) -> Result<Scope, String> {
    let scope = block.items.iter().find_map(|item| match item {
        ImplItem::Type(alias) if alias.ident == "Scope" => last_segment(&alias.ty),
        _ => None,
    });
    match scope.as_deref() {
        Some("NamespaceResourceScope") => Ok(Scope::Namespaced),
        Some("ClusterResourceScope") => Ok(Scope::Cluster),
        Some(other) => Err(format!(
            "`type Scope = {other}` is neither namespaced nor cluster-wide"
        )),
        None => Err("no `type Scope`".to_owned()),
    }
}

/// `<release>/api/core/v1/pod.rs` holds `api::core::v1::Pod`: the file's own module is private.
pub(in crate::inventory) fn module_path(release: &Path, path: &Path, name: &str) -> Result<String, String> {
    let relative = path
        .strip_prefix(release)
        .map_err(|_| "outside the folder of its release".to_owned())?;
    let mut segments: Vec<&str> = relative
        .parent()
        .into_iter()
        .flat_map(Path::iter)
        .map(|segment| segment.to_str().ok_or_else(|| "the path is not UTF-8".to_owned()))
        .collect::<Result<_, _>>()?;
    segments.push(name);
    Ok(segments.join("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GADGET: &str = r#"
        pub struct Gadget;
        impl crate::Resource for Gadget {
            const API_VERSION: &'static str = "example.com/v1";
            const GROUP: &'static str = "example.com";
            const KIND: &'static str = "Gadget";
            const VERSION: &'static str = "v1";
            const URL_PATH_SEGMENT: &'static str = "gadgets";
            type Scope = crate::NamespaceResourceScope;
        }
        impl crate::ListableResource for Gadget {
            const LIST_KIND: &'static str = "GadgetList";
        }
    "#;

    fn find_in(text: &str) -> Result<Option<Declaration>, String> {
        find(
            Path::new("v1_37"),
            Path::new("v1_37/api/example/v1/gadget.rs"),
            text,
        )
        .map_err(|error| error.to_string())
    }

    fn check_error(text: &str, problem: &str) {
        assert_eq!(
            find_in(text),
            Err(format!("v1_37/api/example/v1/gadget.rs: {problem}"))
        );
    }

    #[test]
    fn a_listable_resource_is_a_kind() {
        let expected = Declaration {
            group: "example.com".into(),
            version: "v1".into(),
            kind: "Gadget".into(),
            plural: "gadgets".into(),
            scope: Scope::Namespaced,
            path: "api::example::v1::Gadget".into(),
        };
        assert_eq!(find_in(GADGET), Ok(Some(expected)));
    }

    #[test]
    fn a_resource_that_cannot_be_listed_is_not() {
        assert_eq!(
            find_in(&GADGET.replace("crate::ListableResource", "crate::Metadata")),
            Ok(None)
        );
    }

    #[test]
    fn a_declaration_in_an_unknown_shape_is_an_error_that_names_the_file() {
        check_error(
            &GADGET.replace("VERSION:", "VERSIONS:"),
            "no string constant `VERSION`",
        );
        check_error(
            &GADGET.replace("NamespaceResourceScope", "SubResourceScope"),
            "`type Scope = SubResourceScope` is neither namespaced nor cluster-wide",
        );
        check_error(
            &GADGET.replace("ListableResource for Gadget", "ListableResource for Widget"),
            "Resource and ListableResource are implemented for different types",
        );
    }
}
