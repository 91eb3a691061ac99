//! Types of fields in code that `informer-gen crd` generates.
//!
//! A controller reads an object, changes a field and writes it back; everything else must stay as it was.
//! These types remember what the values alone do not show: [`Required`] whether a field was missing,
//! [`Quantity`] whether it was a number or a string. [`LabelSelector`] and others are the structs that most
//! definitions contain, made of them.

mod object;
mod parts;
mod schema;

pub use self::object::{Property, named};
pub use self::parts::{KeySelector, LabelSelector, LabelSelectorRequirement, LocalObjectReference};
pub use self::schema::part_of_schema;
pub use crate::{__crd_json_schema as json_schema, __crd_object as object};

use std::ops::{Deref, DerefMut};

use k8s_openapi::apimachinery::pkg::api::resource;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
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

/// Compares the value alone.
impl PartialEq<str> for Required<String> {
    fn eq(&self, other: &str) -> bool {
        self.value == other
    }
}

/// Compares the value alone.
impl PartialEq<&str> for Required<String> {
    fn eq(&self, other: &&str) -> bool {
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

/// A condition of a status, in which every field may be missing.
///
/// k8s-openapi's `Condition` writes a missing string as `""`, and cannot be read without its time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The last time the condition changed from one status to another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// A human-readable description of the change. It may be empty.
    #[serde(default, skip_serializing_if = "Required::is_absent")]
    pub message: Required<String>,
    /// The `metadata.generation` that the condition was set for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The reason of the last change, one word in CamelCase.
    #[serde(default, skip_serializing_if = "Required::is_absent")]
    pub reason: Required<String>,
    /// `True`, `False` or `Unknown`.
    #[serde(default, skip_serializing_if = "Required::is_absent")]
    pub status: Required<String>,
    /// The type of the condition, in CamelCase.
    #[serde(default, skip_serializing_if = "Required::is_absent")]
    pub type_: Required<String>,
}

impl From<meta::Condition> for Condition {
    fn from(condition: meta::Condition) -> Self {
        Self {
            last_transition_time: Some(condition.last_transition_time),
            message: condition.message.into(),
            observed_generation: condition.observed_generation,
            reason: condition.reason.into(),
            status: condition.status.into(),
            type_: condition.type_.into(),
        }
    }
}

impl Condition {
    /// Returns the condition of k8s-openapi, with `""` for missing strings, or `None` if the time is missing.
    pub fn into_meta(self) -> Option<meta::Condition> {
        Some(meta::Condition {
            last_transition_time: self.last_transition_time?,
            message: self.message.into_inner(),
            observed_generation: self.observed_generation,
            reason: self.reason.into_inner(),
            status: self.status.into_inner(),
            type_: self.type_.into_inner(),
        })
    }
}

/// Decodes null as the default, for a field that always exists.
///
/// # Errors
/// If the value is not of the type.
pub fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Decodes null as a value, for an optional field in which null and missing differ.
///
/// # Errors
/// If the value is not of the type.
pub fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// Decodes the properties that the schema of an object does not name, except `apiVersion` and `kind`.
///
/// # Errors
/// If a value is not of the type.
pub fn untyped<'de, D, M, V>(deserializer: D) -> Result<M, D::Error>
where
    D: Deserializer<'de>,
    M: Deserialize<'de> + IntoIterator<Item = (String, V)> + FromIterator<(String, V)>,
{
    let is_own = |name: &String| !matches!(name.as_str(), "apiVersion" | "kind");
    let all = M::deserialize(deserializer)?;
    Ok(all.into_iter().filter(|(name, _)| is_own(name)).collect())
}
