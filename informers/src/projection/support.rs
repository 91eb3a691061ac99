//! Support for derived projections. Not part of the API: it may change in any release.
//!
//! Expanded code is compiled once per projection, so everything that does not depend on its fields is here.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use k8s_openapi::DeepMerge;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::{Projection, probe};

// ===== Reading =====

/// Reads a key of an object and returns its position in the field list of a projection, or the length of the
/// list for any other key.
#[derive(Clone, Copy, Debug)]
pub struct Key(pub &'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Key {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Key {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<usize, E> {
        let Self(names) = self;
        Ok(names
            .iter()
            .position(|known| *known == name)
            .unwrap_or(names.len()))
    }
}

/// Skips a value that the projection does not have.
pub fn skip<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(drop)
}

// ===== Names =====

/// A field of a projection.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub rust: &'static str,
    /// Its name in JSON.
    pub json: &'static str,
    /// The projection that it holds, if it holds one.
    pub part: Option<fn() -> Description>,
}

/// A projection, without its type.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    pub(super) name: &'static str,
    pub(super) whole: &'static str,
    pub(super) names_of_whole: fn() -> Option<&'static [&'static str]>,
    pub(super) fields: &'static [Field],
}

impl Description {
    pub(super) fn of<P: Projection>() -> Self {
        Self {
            name: std::any::type_name::<P>(),
            whole: std::any::type_name::<P::Of>(),
            names_of_whole: probe::names_of::<P::Of>,
            fields: P::FIELDS,
        }
    }
}

/// Tests whether a type is a projection: `Part::<T>::DESCRIPTION` is this constant if it is, else that of
/// [`NotAProjection`], which must be in scope.
pub struct Part<T: ?Sized>(PhantomData<T>);

impl<T: Projection> Part<T> {
    /// It is.
    pub const DESCRIPTION: Option<fn() -> Description> = Some(Description::of::<T>);
}

/// See [`Part`].
pub trait NotAProjection {
    /// It is not.
    const DESCRIPTION: Option<fn() -> Description> = None;
}

impl<T: ?Sized> NotAProjection for Part<T> {}

/// Tests whether a type is from k8s-openapi, by a trait that only those implement: `Origin::<T>::IS_BUILT_IN`
/// is this constant if it is, else that of [`Foreign`], which must be in scope.
pub struct Origin<T>(PhantomData<T>);

impl<T: DeepMerge> Origin<T> {
    /// It is.
    pub const IS_BUILT_IN: bool = true;
}

/// See [`Origin`].
pub trait Foreign {
    /// It is not.
    const IS_BUILT_IN: bool = false;
}

impl<T> Foreign for Origin<T> {}

/// Returns whether two names are equal, at compile time.
pub const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut place = 0;
    while place < one.len() {
        if one[place] != other[place] {
            return false;
        }
        place += 1;
    }
    true
}

// ===== Types =====

/// The type of a field of the whole type, to compare with the type in the projection. It is never run.
pub struct Whole<T>(PhantomData<T>);

impl<T> Whole<T> {
    /// The type of a field.
    pub fn of(_: &T) -> Self {
        Self(PhantomData)
    }

    /// The type of the elements of a `Vec`.
    pub fn elements<E>(self) -> Whole<E>
    where
        T: Holds<Vec<E>>,
    {
        Whole(PhantomData)
    }

    /// The type of the values of a map.
    pub fn values<K, V>(self) -> Whole<V>
    where
        T: Holds<BTreeMap<K, V>>,
    {
        Whole(PhantomData)
    }

    /// Requires that `P` fits.
    pub fn is_projected_to<P: Fits<T, H> + ?Sized, H>(self) {}
}

/// A type equals another one, possibly in an `Option` or a `Box`.
#[diagnostic::on_unimplemented(
    message = "the field of the whole type is a `{Self}`, not a `{Inner}`",
    label = "does not have the shape of the whole type's field",
    note = "write `#[projection(any)]` on the field to leave its type unchecked"
)]
pub trait Holds<Inner> {}

#[diagnostic::do_not_recommend]
impl<T> Holds<T> for T {}
#[diagnostic::do_not_recommend]
impl<T> Holds<T> for Option<T> {}
#[diagnostic::do_not_recommend]
impl<T> Holds<T> for Box<T> {}
#[diagnostic::do_not_recommend]
impl<T> Holds<T> for Option<Box<T>> {}

/// A type can replace `Real` in a projection, in the way `How`, which is always inferred.
#[diagnostic::on_unimplemented(
    message = "the field of the whole type is a `{Real}`, and `{Self}` is neither that nor a projection of \
        it",
    label = "does not fit the whole type's field",
    note = "take the type itself, or one with `#[derive(Projection)]` and `#[projection(of = ..)]`",
    note = "write `#[projection(any)]` on the field to leave its type unchecked"
)]
pub trait Fits<Real, How> {}

/// As the same type.
pub enum AsItIs {}
/// As a projection.
pub enum InPart {}
/// As text of fixed length.
pub enum AsText {}

#[diagnostic::do_not_recommend]
impl<T, R: Holds<T>> Fits<R, AsItIs> for T {}
#[diagnostic::do_not_recommend]
impl<P: Projection, R: Holds<P::Of>> Fits<R, InPart> for P {}
#[diagnostic::do_not_recommend]
impl<R: Holds<String>> Fits<R, AsText> for str {}
