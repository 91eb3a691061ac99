//! Errors of generating types.

/// Error of generating the types of a version. Everything is generated, or nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{group}/{version} {kind}: {problem}")]
pub struct SchemaError {
    /// The group of the kind.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The problem, its place, and the fix.
    pub problem: Box<SchemaProblem>,
}

/// A problem of a schema, with its place and the fix. Paths are those of an object: `spec.template.items[]`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaProblem {
    /// The version has no schema.
    #[error(
        "the version has no schema (`schema.openAPIV3Schema`); write the types by hand and name their module \
         with `--types path::to::mod`"
    )]
    NoSchema,
    /// The kind is no valid name of a Rust type.
    #[error(
        "the kind is no valid name of a Rust type; write the type by hand under another name, with \
         `#[kube(kind = \"{kind}\")]`, and name its module with `--types path::to::mod`"
    )]
    KindName {
        /// The kind.
        kind: String,
    },
    /// The root of the schema is not an object.
    #[error("the schema has type `{found}`, but a Kubernetes object must be of type `object`")]
    NotAnObject {
        /// Its type.
        found: String,
    },
    /// A field has neither a type nor an extension that replaces it.
    #[error(
        "`{path}` has no `type`; add `type`, `x-kubernetes-int-or-string` or \
         `x-kubernetes-preserve-unknown-fields` to the definition"
    )]
    NoType {
        /// The path.
        path: String,
    },
    /// An unknown type.
    #[error("`{path}` has the unknown type `{found}`; use object, array, string, integer, number or boolean")]
    UnknownType {
        /// The path.
        path: String,
        /// The type.
        found: String,
    },
    /// A reference, which structural schemas do not allow.
    #[error(
        "`{path}` has a `$ref` to `{reference}`, which structural schemas do not allow; replace it by its \
         target"
    )]
    Reference {
        /// The path.
        path: String,
        /// The target of the reference.
        reference: String,
    },
    /// An array without a schema of its items.
    #[error("the array `{path}` has no schema of its items; add `items` to the definition")]
    NoItems {
        /// The path.
        path: String,
    },
    /// An object with both properties and additional properties.
    #[error(
        "`{path}` has both `properties` and `additionalProperties`, which structural schemas do not allow; \
         remove one of them"
    )]
    PropertiesOfAMap {
        /// The path.
        path: String,
    },
    /// The schema has too many levels.
    #[error(
        "`{path}` is more than {limit} levels deep; set `x-kubernetes-preserve-unknown-fields` on a parent \
         and remove the properties below it, or use `--types path::to::mod`"
    )]
    TooDeep {
        /// The path.
        path: String,
        /// The most levels allowed.
        limit: usize,
    },
    /// The schema has too many parts.
    #[error(
        "more than {limit} fields and values, reached at `{path}`; use `--types path::to::mod` with \
         hand-written types"
    )]
    TooLarge {
        /// The path at which the limit was reached.
        path: String,
        /// The most parts allowed.
        limit: usize,
    },
}
