//! Support for code expanded by the derive macros. Not part of the API: it may change in any release.

use std::iter;

pub use crate::projection::support as projection;
pub use {k8s_openapi, kube, serde};

/// Compiles for kinds only. Never called.
pub fn is_kind<K: Kind>() {}

/// A type that can have an informer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a kind: it does not implement `kube::Resource`",
    label = "not a kind",
    note = "derive kube's `CustomResource` beside `Informer` on the spec, or `kube::Resource` on the type; \
            `#[informer(of = ..)]` makes it a projection of a kind"
)]
pub trait Kind {}

// Without this the compiler would list the kinds of Kubernetes.
#[diagnostic::do_not_recommend]
impl<K: kube::Resource> Kind for K {}

/// Collects the values that an index function returns.
#[inline]
pub fn collected<V, I: IndexValues<V>>(values: I) -> Vec<V> {
    values.collected()
}

/// A return type of an index function.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be iterated over for values of the type `{V}`",
    label = "this function returns `{Self}`",
    note = "return `Option<{V}>`, `Vec<{V}>` or any other iterator of `{V}`; `value = ..` sets another \
        type of values"
)]
pub trait IndexValues<V> {
    /// Returns all values.
    fn collected(self) -> Vec<V>;
}

// Without this the compiler would explain iterators instead of the fix.
#[diagnostic::do_not_recommend]
impl<V, I: IntoIterator<Item = V>> IndexValues<V> for I {
    #[inline]
    fn collected(self) -> Vec<V> {
        self.into_iter().collect()
    }
}

/// Returns the index value of a field.
#[inline]
pub fn value<V, F: IndexField<V>>(field: &F) -> V {
    field.value()
}

/// A field that can be an index value: of the value type, or a box of it.
#[diagnostic::on_unimplemented(
    message = "the field is of the type `{Self}`, and the values of the index are of the type `{V}`",
    label = "this field is of the type `{Self}`",
    note = "write `value = {Self}` beside `by`, or name a function for `by` that returns values of the \
        type `{V}`"
)]
pub trait IndexField<V> {
    /// Returns a copy.
    fn value(&self) -> V;
}

impl<V: Clone> IndexField<V> for V {
    #[inline]
    fn value(&self) -> V {
        self.clone()
    }
}

// Not only for boxes: with a single implementation the compiler would infer the type of the field from it.
#[diagnostic::do_not_recommend]
impl<V: Clone> IndexField<V> for Box<V> {
    #[inline]
    fn value(&self) -> V {
        V::clone(self)
    }
}

/// A field on the path to the values of an index. [`each`](Self::each) iterates over one container.
///
/// A macro does not know the type of a field. The compiler does: it picks the inherent method if the field is
/// a container, because inherent methods come before trait methods, else the method of [`Plain`].
#[derive(Debug)]
pub struct Field<'a, T>(pub &'a T);

impl<'a, C: Container> Field<'a, C> {
    /// Returns the items of the container.
    #[inline]
    pub fn each(self) -> impl Iterator<Item = &'a C::Item> {
        self.0.items()
    }
}

/// A container that a path of fields can pass through.
pub trait Container {
    /// The type of its items.
    type Item;

    /// Returns all items.
    fn items(&self) -> impl Iterator<Item = &Self::Item>;
}

impl<T> Container for Option<T> {
    type Item = T;

    #[inline]
    fn items(&self) -> impl Iterator<Item = &T> {
        self.iter()
    }
}

impl<T> Container for Vec<T> {
    type Item = T;

    #[inline]
    fn items(&self) -> impl Iterator<Item = &T> {
        self.iter()
    }
}

impl<T> Container for crate::crd::Required<T> {
    type Item = T;

    #[inline]
    fn items(&self) -> impl Iterator<Item = &T> {
        self.as_option().into_iter()
    }
}

/// A field that is not a container.
pub trait Plain<'a, T> {
    /// Returns the field itself.
    fn each(self) -> iter::Once<&'a T>;
}

impl<'a, T> Plain<'a, T> for Field<'a, T> {
    #[inline]
    fn each(self) -> iter::Once<&'a T> {
        iter::once(self.0)
    }
}
