//! Types of fields, as the table writes them.

use std::fmt;

/// The type of a field of k8s-openapi. Prints and parses as in `Option<Vec<api::core::v1::Volume>>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RustType {
    /// `Option<..>`.
    Option(Box<RustType>),
    /// `Vec<..>`.
    Vec(Box<RustType>),
    /// `BTreeMap<String, ..>`, written as `Map<..>`.
    Map(Box<RustType>),
    /// `Box<..>`.
    Box(Box<RustType>),
    /// `String`, `bool`, `i32`, `i64`, `f64` or `ByteString`.
    Scalar(String),
    /// A type of k8s-openapi, by its path below the root.
    Path(String),
}

const SCALARS: [&str; 6] = ["String", "bool", "i32", "i64", "f64", "ByteString"];

/// Types with an encoding of their own: newtypes, enums, and wrappers of JSON text.
const SPECIAL: [&str; 10] = [
    "FieldsV1",
    "IntOrString",
    "JSON",
    "JSONSchemaPropsOrArray",
    "JSONSchemaPropsOrBool",
    "JSONSchemaPropsOrStringArray",
    "MicroTime",
    "Quantity",
    "RawExtension",
    "Time",
];

impl RustType {
    /// Parses a type. Returns `None` if the text is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let inner = |name: &str| text.strip_prefix(name)?.strip_prefix('<')?.strip_suffix('>');
        let parse = |text: &str| Self::parse(text).map(Box::new);
        if let Some(text) = inner("Option") {
            return parse(text).map(Self::Option);
        }
        if let Some(text) = inner("Vec") {
            return parse(text).map(Self::Vec);
        }
        if let Some(text) = inner("Map") {
            return parse(text).map(Self::Map);
        }
        if let Some(text) = inner("Box") {
            return parse(text).map(Self::Box);
        }
        if SCALARS.contains(&text) {
            return Some(Self::Scalar(text.to_owned()));
        }
        let is_path = text.contains("::") && !text.contains(['<', '>', ',', ' ']);
        is_path.then(|| Self::Path(text.to_owned()))
    }

    /// The type without `Option`, `Vec`, `Map` and `Box` around it.
    pub fn innermost(&self) -> &Self {
        match self {
            Self::Option(inner) | Self::Vec(inner) | Self::Map(inner) | Self::Box(inner) => inner.innermost(),
            Self::Scalar(_) | Self::Path(_) => self,
        }
    }

    /// The path of the struct that the field contains, if it has fields itself.
    pub fn message(&self) -> Option<&str> {
        match self.innermost() {
            Self::Path(path) if !self.is_special() => Some(path),
            _ => None,
        }
    }

    /// Whether the innermost type has an encoding of its own.
    pub fn is_special(&self) -> bool {
        self.special().is_some()
    }

    /// The name of the innermost type, if it has an encoding of its own.
    pub fn special(&self) -> Option<&str> {
        let Self::Path(path) = self.innermost() else {
            return None;
        };
        let name = path.rsplit("::").next()?;
        SPECIAL.contains(&name).then_some(name)
    }
}

impl fmt::Display for RustType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(inner) => write!(f, "Option<{inner}>"),
            Self::Vec(inner) => write!(f, "Vec<{inner}>"),
            Self::Map(inner) => write!(f, "Map<{inner}>"),
            Self::Box(inner) => write!(f, "Box<{inner}>"),
            Self::Scalar(name) | Self::Path(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_prints_as_it_was_written() {
        for text in [
            "String",
            "Option<Vec<api::core::v1::Volume>>",
            "Option<Map<Vec<String>>>",
            "Option<Box<a::JSONSchemaProps>>",
        ] {
            assert_eq!(
                RustType::parse(text).map(|parsed| parsed.to_string()).as_deref(),
                Some(text)
            );
        }
        for text in ["", "u8", "Option<u8>", "Option<String", "Map<String, String>"] {
            assert_eq!(RustType::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_special_type_is_not_a_message() {
        let time = RustType::parse("Option<apimachinery::pkg::apis::meta::v1::Time>").unwrap();
        assert_eq!((time.special(), time.message()), (Some("Time"), None));
        let volume = RustType::parse("Vec<api::core::v1::Volume>").unwrap();
        assert_eq!(
            (volume.special(), volume.message()),
            (None, Some("api::core::v1::Volume"))
        );
    }
}
