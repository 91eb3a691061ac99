//! What the expansions of the derive macros call. Not part of the API: it may change in any release.

use std::iter;
use std::option;
use std::slice;

pub use crate::projection::support as projection;
pub use {k8s_openapi, kube, serde};

/// The values that an index function gives, whatever it gives them in.
#[inline]
pub fn collected<V>(values: impl IntoIterator<Item = V>) -> Vec<V> {
    values.into_iter().collect()
}

/// A field on the way to the values of an index. [`each`](Self::each) goes through one container.
///
/// A macro does not know the type of a field. The compiler does, and takes the method for containers if the field is one,
/// because inherent methods come before those of traits; else that of [`Plain`].
#[derive(Debug)]
pub struct Field<'a, T>(pub &'a T);

impl<'a, T> Field<'a, Option<T>> {
    /// What is in it, if anything.
    #[inline]
    pub fn each(self) -> option::Iter<'a, T> {
        self.0.iter()
    }
}

impl<'a, T> Field<'a, Vec<T>> {
    /// Its items.
    #[inline]
    pub fn each(self) -> slice::Iter<'a, T> {
        self.0.iter()
    }
}

/// A field that is no container.
pub trait Plain<'a, T> {
    /// The field itself.
    fn each(self) -> iter::Once<&'a T>;
}

impl<'a, T> Plain<'a, T> for Field<'a, T> {
    #[inline]
    fn each(self) -> iter::Once<&'a T> {
        iter::once(self.0)
    }
}
