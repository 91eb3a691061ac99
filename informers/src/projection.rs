//! Projections: types that have only some of the fields of a kind, so that a cache keeps only those.
//!
//! A program that looks at three or four fields of a Pod caches all of them. A projection names those that are wanted:
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
//! What is not named is skipped while the JSON is read: it is never in memory. Measured with Pods of 12 KB of JSON, this projection
//! takes 2.5 KB of heap for each, where the whole Pod takes 41 KB (99 KB with its managedFields), and is decoded in 40 % of the time.
//! `docs/projections.md` in the repository has the table.
//!
//! A projection is a kind of its own to the factory: it has its own informer and its own cache, and may stand beside the whole kind.
//! The server still sends whole objects.
//!
//! # What is checked
//!
//! - **Names.** A field has the name it has in the whole type. One that the whole type does not have is an error of the compiler.
//! - **JSON names.** Those of k8s-openapi's types are known: `pod_ip` is read from `podIP`, where `rename_all = "camelCase"` would look
//!   for `podIp`, find nothing and say nothing. Fields of other types are read under camelCase of their name;
//!   `#[projection(rename = "..")]` on a field says otherwise, and is refused where the name is known. A macro cannot see what
//!   another type's fields are called in JSON, so a test of your own should call [`verify`], which asks the whole type.
//! - **Types.** A field has the type it has in the whole type, or a projection of it, through `Option`, `Box`, `Vec` and maps; `Box<str>`
//!   stands for a `String` and `Box<[T]>` for a `Vec<T>`. Whether it is an `Option` is your choice: what is missing or `null` is the
//!   `Default` of the type. `#[projection(any)]` on a field leaves its type to you: an enum of your own, `Arc<str>`, anything that
//!   can be deserialized.
//!
//! Serde's own attributes have no effect on a projection, and are refused.

mod probe;
#[doc(hidden)]
pub mod support;

use std::fmt;

use serde::de::DeserializeOwned;

use self::support::{Description, Field};

/// A type that has some of the fields of another, whole one. Derived: `#[derive(Projection)] #[projection(of = PodSpec)]`, or
/// `#[derive(Informer)] #[informer(of = Pod)]` for a whole object.
pub trait Projection: DeserializeOwned {
    /// The whole type.
    type Of: DeserializeOwned;

    /// Every field of the projection.
    #[doc(hidden)]
    const FIELDS: &'static [Field];
}

/// Checks that the whole type has every field a projection names, by the JSON names both read, and so for every part that is itself
/// a projection.
///
/// For k8s-openapi's types the derive knows the names; for any other type, such as a custom resource whose fields have names of
/// their own, call this in a test:
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
/// It takes microseconds. A type that does not say which fields it reads (one with `#[serde(flatten)]`, or with a `Deserialize`
/// written by hand for any map) cannot be asked, and is passed over.
///
/// # Errors
/// Every name that is not there, with the names that are.
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
#[error("{projection} would always find nothing in: {}", list(fields))]
#[non_exhaustive]
pub struct UnknownFields {
    /// The projection.
    pub projection: &'static str,
    /// What is not there.
    pub fields: Vec<UnknownField>,
}

informer_core::__debug_is_the_message!(UnknownFields);

/// A field that the whole type does not read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownField {
    /// The field of the projection.
    pub field: &'static str,
    /// Where it is looked for in the JSON: `spec.nodeName`.
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
            "`{path}`, which {of} does not read: it reads `{known}`; \
             write #[projection(rename = \"..\")] on the field `{field}`"
        )
    }
}

fn list(fields: &[UnknownField]) -> String {
    let each: Vec<String> = fields.iter().map(UnknownField::to_string).collect();
    each.join("; ")
}

/// Compiles the example of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../docs/projections.md")]
struct Guide;
