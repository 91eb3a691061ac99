//! Finds the fields that a type deserializes, without input.

use std::fmt;

use serde::de::{Deserializer, Visitor};
use serde::forward_to_deserialize_any;

/// Returns the names of the fields that `T` requests when it is deserialized, if it requests a struct.
pub(super) fn names_of<T: for<'de> serde::Deserialize<'de>>() -> Option<&'static [&'static str]> {
    let mut asked = Asked(None);
    // It always fails: only the request matters.
    let refused = T::deserialize(&mut asked);
    debug_assert!(refused.is_err() || asked.0.is_none());
    asked.0
}

/// Records the first struct that is requested, and fails every request.
struct Asked(Option<&'static [&'static str]>);

impl<'de> Deserializer<'de> for &mut Asked {
    type Error = Refused;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Refused> {
        self.0 = Some(fields);
        Err(Refused)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Refused> {
        Err(Refused)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// The error of every request.
#[derive(Debug)]
struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no input")
    }
}

impl std::error::Error for Refused {}

impl serde::de::Error for Refused {
    fn custom<T: fmt::Display>(_message: T) -> Self {
        Self
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::PodIP;
    use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

    use super::*;

    #[test]
    fn a_struct_says_which_fields_it_reads() {
        assert_eq!(names_of::<PodIP>(), Some(["ip"].as_slice()));
        assert_eq!(names_of::<Option<Box<PodIP>>>(), Some(["ip"].as_slice()));
    }

    #[test]
    fn what_is_not_a_struct_says_nothing() {
        assert_eq!(names_of::<Quantity>(), None);
        assert_eq!(names_of::<Vec<PodIP>>(), None);
    }
}
