//! What the expansions of the derive macros call. Not part of the API: it may change in any release.

use std::iter;

pub use crate::projection::support as projection;
pub use {k8s_openapi, kube, serde};

/// Compiles for kinds only. Never called.
pub fn is_kind<K: Kind>() {}

/// What an informer can be of.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no kind: it does not implement `kube::Resource`",
    label = "not a kind",
    note = "derive kube's `CustomResource` beside `Informer` on the spec, or `kube::Resource` on the type; \
            `#[informer(of = ..)]` makes it a projection of a kind"
)]
pub trait Kind {}

// Without this the compiler would list the kinds of Kubernetes.
#[diagnostic::do_not_recommend]
impl<K: kube::Resource> Kind for K {}

/// The values that an index function gives, whatever it gives them in.
#[inline]
pub fn collected<V, I: IndexValues<V>>(values: I) -> Vec<V> {
    values.collected()
}

/// What an index function may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be iterated over for values of the type `{V}`",
    label = "this function returns `{Self}`",
    note = "return `Option<{V}>`, `Vec<{V}>` or any other iterator of `{V}`; `value = \"..\"` sets another type of values"
)]
pub trait IndexValues<V> {
    /// All of them.
    fn collected(self) -> Vec<V>;
}

// Without this the compiler would say what an iterator is, and not what to write.
#[diagnostic::do_not_recommend]
impl<V, I: IntoIterator<Item = V>> IndexValues<V> for I {
    #[inline]
    fn collected(self) -> Vec<V> {
        self.into_iter().collect()
    }
}

/// The value that an index has of a field.
#[inline]
pub fn value<V, F: IndexField<V>>(field: &F) -> V {
    field.value()
}

/// A field that an index may have as a value: one of the type of the values, or a box of it.
#[diagnostic::on_unimplemented(
    message = "the field is of the type `{Self}`, and the values of the index are of the type `{V}`",
    label = "this field is of the type `{Self}`",
    note = "write `value = \"{Self}\"` beside `by`, or name a function for `by` that returns values of the type `{V}`"
)]
pub trait IndexField<V> {
    /// A copy.
    fn value(&self) -> V;
}

impl<V: Clone> IndexField<V> for V {
    #[inline]
    fn value(&self) -> V {
        self.clone()
    }
}

// Good for more than boxes: with one implementation alone the compiler would conclude from it what the field has to be.
#[diagnostic::do_not_recommend]
impl<V: Clone> IndexField<V> for Box<V> {
    #[inline]
    fn value(&self) -> V {
        V::clone(self)
    }
}

/// A field on the way to the values of an index. [`each`](Self::each) goes through one container.
///
/// A macro does not know the type of a field. The compiler does, and takes the method for containers if the field is one,
/// because inherent methods come before those of traits; else that of [`Plain`].
#[derive(Debug)]
pub struct Field<'a, T>(pub &'a T);

impl<'a, C: Container> Field<'a, C> {
    /// What is in the container.
    #[inline]
    pub fn each(self) -> impl Iterator<Item = &'a C::Item> {
        self.0.items()
    }
}

/// What a path of fields goes through.
pub trait Container {
    /// What is in it.
    type Item;

    /// All of it.
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
