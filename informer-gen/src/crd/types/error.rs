//! Why there are no types for a version.

/// Why there are no types for a version of a kind. Nothing is generated unless everything can be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{group}/{version} {kind}: {problem}")]
pub struct SchemaError {
    /// The group of the kind.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// What is wrong, where, and what to do.
    pub problem: Box<SchemaProblem>,
}

/// What is wrong with a schema, where, and what to do. Paths are those of an object: `spec.template.items[]`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaProblem {
    /// The version has no schema.
    #[error(
        "the version has no schema (`schema.openAPIV3Schema`), so there is nothing to make types from: write the types \
         yourself and name their module with `--types path::to::mod`"
    )]
    NoSchema,
    /// The kind cannot be the name of a type.
    #[error(
        "the kind cannot be the name of a Rust type: write the type yourself under another name, with \
         `#[kube(kind = \"{kind}\")]`, and name its module with `--types path::to::mod`"
    )]
    KindName {
        /// The kind.
        kind: String,
    },
    /// The top of the schema is not an object.
    #[error(
        "the schema is of type `{found}`, but every Kubernetes object is an `object`: correct the definition"
    )]
    NotAnObject {
        /// The type it has.
        found: String,
    },
    /// A part has no type, and no extension that stands for one.
    #[error(
        "`{path}` has no `type`: structural schemas need one everywhere, or `x-kubernetes-int-or-string` or \
         `x-kubernetes-preserve-unknown-fields`; add it to the definition"
    )]
    NoType {
        /// Where.
        path: String,
    },
    /// A type no JSON value has.
    #[error(
        "`{path}` is of type `{found}`, which is none of object, array, string, integer, number and boolean: correct the \
         definition"
    )]
    UnknownType {
        /// Where.
        path: String,
        /// The type.
        found: String,
    },
    /// A reference, which structural schemas do not have.
    #[error(
        "`{path}` refers to `{reference}` with `$ref`, which structural schemas do not have: put what it refers to in its \
         place"
    )]
    Reference {
        /// Where.
        path: String,
        /// What it refers to.
        reference: String,
    },
    /// An array that does not say what is in it.
    #[error("`{path}` is an array without one schema for its `items`: add `items` to the definition")]
    NoItems {
        /// Where.
        path: String,
    },
    /// An object that is a map as well.
    #[error(
        "`{path}` has both `properties` and `additionalProperties`, which structural schemas do not allow: remove one of them"
    )]
    PropertiesOfAMap {
        /// Where.
        path: String,
    },
    /// The schema is nested too deeply.
    #[error(
        "`{path}` is more than {limit} levels deep: set `x-kubernetes-preserve-unknown-fields` further up and leave out the \
         properties below, or use `--types path::to::mod`"
    )]
    TooDeep {
        /// Where.
        path: String,
        /// The most levels there may be.
        limit: usize,
    },
    /// The schema has too many parts.
    #[error(
        "at `{path}` there are more than {limit} fields and values: use `--types path::to::mod` with types that name what \
         you need"
    )]
    TooLarge {
        /// Where the limit was reached.
        path: String,
        /// The most there may be.
        limit: usize,
    },
}
