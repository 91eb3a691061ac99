//! Types of fields in code that `informer-gen crd` generates.
//!
//! A controller reads an object, changes a field and writes it back; everything else must stay as it was.
//! These types remember what the values alone do not show: [`Required`] whether a field was missing,
//! [`Quantity`] whether it was a number or a string.

use std::ops::{Deref, DerefMut};

use k8s_openapi::apimachinery::pkg::api::resource;
use k8s_openapi::serde_json::Number;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A field that the schema requires, with its value.
///
/// An object that is older than its schema may lack it. Then it reads as the default of its type, and it is
/// not written until it is changed: any mutable access to the value counts as a change, even if the value
/// stays the same.
///
/// It dereferences to the value. `value.into()` makes one, and `*field = value` or `field = value.into()`
/// changes it. The default is an absent field, so a new object has only the fields that were set, and the API
/// server names the missing ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Required<T> {
    value: T,
    presence: Presence,
}

/// Whether a field exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Presence {
    /// It was not read, and not changed.
    #[default]
    Absent,
    /// It was read or changed.
    Present,
}

impl<T> Required<T> {
    /// Returns a field with this value.
    pub fn new(value: T) -> Self {
        Self {
            value,
            presence: Presence::Present,
        }
    }

    /// Whether the field was missing or null, and was not changed.
    pub fn is_absent(&self) -> bool {
        self.presence == Presence::Absent
    }

    /// Returns the value, or `None` if the field is absent.
    pub fn as_option(&self) -> Option<&T> {
        match self.presence {
            Presence::Absent => None,
            Presence::Present => Some(&self.value),
        }
    }

    /// Returns the value, which is the default of its type if the field is absent.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// Decodes a field for which null is a value.
    ///
    /// # Errors
    /// If the value is not of the type.
    pub fn nullable<'de, D>(deserializer: D) -> Result<Self, D::Error>
    where
        D: Deserializer<'de>,
        T: Deserialize<'de>,
    {
        T::deserialize(deserializer).map(Self::new)
    }
}

impl<T> Deref for Required<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Required<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.presence = Presence::Present;
        &mut self.value
    }
}

impl<T> From<T> for Required<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

/// Compares the value alone.
impl<T: PartialEq> PartialEq<T> for Required<T> {
    fn eq(&self, other: &T) -> bool {
        self.value == *other
    }
}

/// Encodes the value. Generated code skips an absent field.
impl<T: Serialize> Serialize for Required<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

/// Decodes null as an absent field.
impl<'de, T: Default + Deserialize<'de>> Deserialize<'de> for Required<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Option::deserialize(deserializer)?;
        Ok(value.map(Self::new).unwrap_or_default())
    }
}

/// A quantity such as `500m`, in the form in which it was read.
///
/// `3` and `"3"` are the same to Kubernetes, but a custom resource in which one became the other has changed,
/// and so has its generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Quantity {
    /// A number: `3`.
    Number(Number),
    /// A string: `"500m"`.
    Text(resource::Quantity),
}

impl Default for Quantity {
    fn default() -> Self {
        Self::Text(resource::Quantity::default())
    }
}

impl From<resource::Quantity> for Quantity {
    fn from(quantity: resource::Quantity) -> Self {
        Self::Text(quantity)
    }
}

impl From<&str> for Quantity {
    fn from(text: &str) -> Self {
        Self::Text(resource::Quantity(text.to_owned()))
    }
}

/// The type of built-in kinds, which is always a string.
impl From<Quantity> for resource::Quantity {
    fn from(quantity: Quantity) -> Self {
        match quantity {
            Quantity::Number(number) => Self(number.to_string()),
            Quantity::Text(quantity) => quantity,
        }
    }
}
