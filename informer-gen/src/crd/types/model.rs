//! The model of the types of one version, before they have names: structs, enums, and their fields.

/// All types of a version. The first struct is the object itself.
pub(in crate::crd) struct Model {
    /// The name of the object's type.
    pub(in crate::crd) name: String,
    pub(in crate::crd) root: Struct,
    /// The types below it, each after the type that contains it.
    pub(in crate::crd) items: Vec<Item>,
}

/// A position in an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::crd) struct Place {
    /// As text, `spec.parts[].name`; empty at the root.
    pub(in crate::crd) path: String,
    /// The properties on the way to it.
    pub(in crate::crd) steps: Vec<Step>,
}

/// A property on the way to a [`Place`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::crd) struct Step {
    /// Its name in JSON.
    pub(in crate::crd) property: String,
    pub(in crate::crd) target: Target,
}

/// The value of a property at which a [`Step`] ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::crd) enum Target {
    /// The value itself.
    Value,
    /// An element of the array, or a value of the map.
    Element,
}

/// A type that is generated.
#[derive(Clone)]
pub(in crate::crd) enum Item {
    Struct(Struct),
    Enum(Enum),
}

impl Item {
    pub(in crate::crd) fn place(&self) -> &Place {
        match self {
            Self::Struct(item) => &item.place,
            Self::Enum(item) => &item.place,
        }
    }

    pub(in crate::crd) fn fields(&self) -> &[Field] {
        match self {
            Self::Struct(item) => &item.fields,
            Self::Enum(_) => &[],
        }
    }
}

/// An object with known properties.
#[derive(Clone)]
pub(in crate::crd) struct Struct {
    pub(in crate::crd) place: Place,
    pub(in crate::crd) fields: Vec<Field>,
    /// The field for unknown properties, if the schema keeps them.
    pub(in crate::crd) rest: Option<String>,
}

/// A property of an object.
#[derive(Clone)]
pub(in crate::crd) struct Field {
    /// Its name in JSON.
    pub(in crate::crd) json: String,
    /// Its name in Rust.
    pub(in crate::crd) name: String,
    /// Its description in the schema.
    pub(in crate::crd) description: Option<String>,
    /// The value that the server sets if the field is missing, as JSON, if it is short.
    pub(in crate::crd) default: Option<String>,
    /// The type of a value that is present and not null.
    pub(in crate::crd) type_: Type,
    pub(in crate::crd) presence: Presence,
}

/// How a missing or null field is decoded and encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::crd) enum Presence {
    /// `Required<T>`: missing and null are read as absent, which is not written.
    Required,
    /// `Value`: missing is read as null, which is not written.
    UnlessNull,
    /// `Option<T>`: missing and null are read as `None`, which is not written.
    Optional,
    /// `Required<Option<T>>`, or `Required<Value>`: missing is read as absent, which is not written, and null
    /// as null.
    RequiredNullable,
    /// `Option<Option<T>>`: missing and null differ, since the server sets a default only if the field is
    /// missing.
    OptionalNullable,
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::crd) enum Type {
    Basic(Basic),
    Array(Box<Type>),
    Map(Box<Type>),
    /// A value that may be null: an element of an array or a value of a map.
    Nullable(Box<Type>),
    /// One of the items, by its position.
    Item(usize),
    /// A struct of another crate.
    Reused(Reused),
}

/// A struct of another crate that takes the place of a generated one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::crd) enum Reused {
    /// Of k8s-openapi, by its path below the root.
    Kubernetes(&'static str),
    /// Of `informers::crd`, by its name.
    Informers(&'static str),
}

impl Reused {
    /// Its path, without leading colons.
    pub(in crate::crd) fn path(self) -> String {
        match self {
            Self::Kubernetes(path) => format!("k8s_openapi::{path}"),
            Self::Informers(name) => format!("informers::crd::{name}"),
        }
    }
}

/// A type that is not generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::crd) enum Basic {
    Bool,
    I32,
    I64,
    /// A number with its original text, in any format: an `f64` would encode `3` as `3.0`.
    Number,
    String,
    ByteString,
    Time,
    MicroTime,
    IntOrString,
    Quantity,
    Value,
    Condition,
    ObjectMeta,
}

/// A string with known values.
#[derive(Clone)]
pub(in crate::crd) struct Enum {
    pub(in crate::crd) place: Place,
    pub(in crate::crd) variants: Vec<Variant>,
    /// The variant for every other value.
    pub(in crate::crd) other: String,
}

/// One value of an [`Enum`].
#[derive(Clone)]
pub(in crate::crd) struct Variant {
    pub(in crate::crd) value: String,
    pub(in crate::crd) name: String,
}

impl Type {
    /// Whether `Default` is implemented. k8s-openapi's times and numbers have none.
    pub(in crate::crd) fn has_default(&self) -> bool {
        !matches!(self, Self::Basic(Basic::Time | Basic::MicroTime | Basic::Number))
    }

    /// Whether the type can represent null without an `Option`.
    pub(in crate::crd) fn holds_null(&self) -> bool {
        matches!(self, Self::Basic(Basic::Value) | Self::Nullable(_))
    }
}
