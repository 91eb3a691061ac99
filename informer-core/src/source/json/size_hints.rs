//! Adds the numbers of elements to JSON arrays while an object is decoded, so that lists have no unused
//! capacity.

use std::cell::{Cell, RefCell};

use serde::de::{DeserializeSeed, MapAccess, SeqAccess};

use super::adaptor::{Adapted, Adaptor};
use super::element_counts::ElementCounts;

/// The numbers of elements of the arrays of a text, and the position of the decoder.
///
/// A key that is borrowed from the text is also the position of its value. That cannot get out of step with
/// the decoder, whatever a type ignores or reads in an unusual way: a value without such a key, or that is
/// not an array in the text, has no hint.
pub(super) struct SizeHints<'t> {
    counts: RefCell<ElementCounts<'t>>,
    /// The address of the byte after the key whose value is read next. None before an element of an array.
    key_end: Cell<Option<usize>>,
}

impl<'t> SizeHints<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self {
            counts: RefCell::new(ElementCounts::of(text)),
            key_end: Cell::new(None),
        }
    }

    /// Wraps the deserializer of the text.
    pub(super) fn add<D>(&self, inner: D) -> Adapted<D, Hinted<'_, 't>> {
        Adapted {
            inner,
            adaptor: Hinted(self),
        }
    }
}

/// The adaptor of a value.
pub(super) struct Hinted<'h, 't>(&'h SizeHints<'t>);

/// The adaptor of a key.
struct Key<'h, 't>(&'h SizeHints<'t>);

impl Clone for Hinted<'_, '_> {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for Hinted<'_, '_> {}

impl Clone for Key<'_, '_> {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for Key<'_, '_> {}

impl Adaptor for Hinted<'_, '_> {
    fn map<'de, A: MapAccess<'de>>(self, inner: A) -> impl MapAccess<'de, Error = A::Error> {
        Entries {
            inner,
            hints: self.0,
            remaining: None,
        }
    }

    fn seq<'de, A: SeqAccess<'de>>(self, inner: A) -> impl SeqAccess<'de, Error = A::Error> {
        let key_end = self.0.key_end.take();
        Entries {
            inner,
            hints: self.0,
            remaining: key_end.and_then(|key_end| self.0.counts.borrow_mut().of_value(key_end)),
        }
    }
}

impl Adaptor for Key<'_, '_> {
    fn borrowed_text(self, text: &str) {
        let end = text.as_bytes().as_ptr_range().end.addr();
        self.0.key_end.set(Some(end));
    }
}

/// The entries of a map or of a sequence.
struct Entries<'h, 't, A> {
    inner: A,
    hints: &'h SizeHints<'t>,
    /// The number of elements that are not yet read.
    remaining: Option<usize>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Entries<'_, '_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        // A key with escapes is not borrowed.
        self.hints.key_end.set(None);
        self.inner.next_key_seed(Adapted {
            inner: seed,
            adaptor: Key(self.hints),
        })
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.next_value_seed(Adapted {
            inner: seed,
            adaptor: Hinted(self.hints),
        })
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Entries<'_, '_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.hints.key_end.set(None);
        self.remaining = self.remaining.and_then(|elements| elements.checked_sub(1));
        self.inner.next_element_seed(Adapted {
            inner: seed,
            adaptor: Hinted(self.hints),
        })
    }

    fn size_hint(&self) -> Option<usize> {
        self.remaining.or_else(|| self.inner.size_hint())
    }
}

#[cfg(test)]
#[path = "size_hints_tests.rs"]
mod tests;
