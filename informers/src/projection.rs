//! Projections: types with only some fields of a kind, so that a cache keeps only these.
//!
//! A program that reads three or four fields of a Pod still caches all of them. A projection names the fields
//! to keep:
//!
//! ```
//! use informers::{Informer, Projection, SharedInformerFactory};
//! use k8s_openapi::api::core::v1::{Pod, PodSpec, PodStatus};
//! use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
//!
//! #[derive(Informer)]
//! #[informer(of = Pod, accessor = "pods_on_nodes")]
//! pub struct PodOnNode {
//!     pub metadata: ObjectMeta,
//!     pub spec: Option<OnNode>,
//!     pub status: Option<Address>,
//! }
//!
//! #[derive(Projection)]
//! #[projection(of = PodSpec)]
//! pub struct OnNode {
//!     pub node_name: Option<String>,
//! }
//!
//! #[derive(Projection)]
//! #[projection(of = PodStatus)]
//! pub struct Address {
//!     pub phase: Option<String>,
//!     pub pod_ip: Option<String>,
//! }
//!
//! fn addresses(factory: &SharedInformerFactory) -> PodOnNodeLister {
//!     factory.pods_on_nodes().lister()
//! }
//! ```
//!
//! The decoder skips all other fields: they are never in memory. Measured with Pods of 12 KB of JSON, this
//! projection takes 2.5 KB of heap per Pod instead of 41 KB (99 KB with managedFields), and 40 % of the
//! decoding time. `docs/projections.md` in the repository has the table.
//!
//! The factory treats a projection as a separate kind, with its own informer and cache; a program may also
//! use the whole kind. The server still sends whole objects.
//!
//! # What is checked
//!
//! - **Names.** A field has the same name as in the whole type. A name that the whole type does not have is a
//!   compile error.
//! - **JSON names.** The JSON names of k8s-openapi's types are known: `pod_ip` is read from `podIP`, where
//!   `rename_all = "camelCase"` would silently read nothing from `podIp`. Fields of other types are read
//!   under the camelCase form of their name; `#[projection(rename = "..")]` on a field overrides it, and is
//!   rejected where the name is known. A macro cannot see the JSON names of other types, so call [`verify`]
//!   in a test.
//! - **Types.** A field has the type of the whole type's field, or a projection of it, through `Option`,
//!   `Box`, `Vec` and maps; `Box<str>` may replace `String`, and `Box<[T]>` may replace `Vec<T>`. `Option` is
//!   optional: a missing field or `null` becomes the `Default` of the type. `#[projection(any)]` allows any
//!   type that can be deserialized, such as a custom enum or `Arc<str>`.
//!
//! Serde attributes are rejected on a projection: they would have no effect.

mod probe;
#[doc(hidden)]
pub mod support;

use std::fmt;

use serde::de::DeserializeOwned;

use self::support::{Description, Field};

/// A type that has some fields of another, whole type. Derive it: `#[derive(Projection)] #[projection(of =
/// PodSpec)]`, or `#[derive(Informer)] #[informer(of = Pod)]` for an object.
pub trait Projection: DeserializeOwned {
    /// The whole type.
    type Of: DeserializeOwned;

    /// Every field of the projection.
    #[doc(hidden)]
    const FIELDS: &'static [Field];
}

/// Checks that the whole type has every field of a projection, by JSON name, and the same for every part that
/// is itself a projection.
///
/// The derive knows the names of k8s-openapi's types. For any other type, such as a custom resource with
/// renamed fields, call this in a test:
///
/// ```
/// use informers::Informer;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
///
/// #[derive(Informer)]
/// #[informer(of = ConfigMap, accessor = "slim_config_maps")]
/// struct SlimConfigMap {
///     metadata: ObjectMeta,
///     immutable: Option<bool>,
/// }
///
/// informers::projection::verify::<SlimConfigMap>()?;
/// # Ok::<(), informers::projection::UnknownFields>(())
/// ```
///
/// It takes microseconds. It skips types that do not declare their fields (`#[serde(flatten)]`, or a
/// hand-written `Deserialize` for any map).
///
/// # Errors
/// Every name that the whole type does not read, with the names that it reads.
pub fn verify<P: Projection>() -> Result<(), UnknownFields> {
    let mut unknown = Vec::new();
    compare(&Description::of::<P>(), &[], &mut Vec::new(), &mut unknown);
    match unknown.is_empty() {
        true => Ok(()),
        false => Err(UnknownFields {
            projection: std::any::type_name::<P>(),
            fields: unknown,
        }),
    }
}

/// Compares one projection, and those within it that are not in `seen` yet: a type may contain itself.
fn compare(
    projection: &Description,
    path: &[&'static str],
    seen: &mut Vec<&'static str>,
    unknown: &mut Vec<UnknownField>,
) {
    if seen.contains(&projection.name) {
        return;
    }
    seen.push(projection.name);
    let known = (projection.names_of_whole)();
    for field in projection.fields {
        let path = [path, &[field.json]].concat();
        match known {
            Some(known) if !known.contains(&field.json) => unknown.push(UnknownField {
                field: field.rust,
                path: path.join("."),
                of: projection.whole,
                known,
            }),
            _ => {
                if let Some(part) = field.part {
                    compare(&part(), &path, seen, unknown);
                }
            }
        }
    }
}

/// A projection names fields that its whole type does not read.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{projection} has fields that the whole type does not read: {}", list(fields))]
#[non_exhaustive]
pub struct UnknownFields {
    /// The projection.
    pub projection: &'static str,
    /// The unknown fields.
    pub fields: Vec<UnknownField>,
}

informer_core::__debug_is_the_message!(UnknownFields);

/// A field that the whole type does not read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownField {
    /// The field of the projection.
    pub field: &'static str,
    /// Its path in the JSON: `spec.nodeName`.
    pub path: String,
    /// The whole type.
    pub of: &'static str,
    /// The names that the whole type reads.
    pub known: &'static [&'static str],
}

impl fmt::Display for UnknownField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            field,
            path,
            of,
            known,
        } = self;
        let known = known.join("`, `");
        write!(
            f,
            "`{path}` (known fields of {of}: `{known}`); \
             set #[projection(rename = \"..\")] on the field `{field}`"
        )
    }
}

fn list(fields: &[UnknownField]) -> String {
    let each: Vec<String> = fields.iter().map(UnknownField::to_string).collect();
    each.join("; ")
}

/// Compiles the examples of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../docs/projections.md")]
struct Guide;
