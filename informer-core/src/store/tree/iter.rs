//! Iterates over a tree in key order, and over the difference of two trees.

use std::cmp::Ordering;

use super::Tree;
use super::keys::Keys;
use super::node::{Branch, Leaf, Node};

/// The entries of a tree in order.
pub(in crate::store) struct Iter<'a, B, T> {
    /// The branches above the leaf, each with the child to visit next.
    above: Vec<(&'a Branch<B, T>, usize)>,
    leaf: Option<&'a Leaf<B, T>>,
    at: usize,
}

impl<'a, B: Keys, T> Iter<'a, B, T> {
    pub(super) fn new(root: Option<&'a Node<B, T>>, find: impl Fn(&B) -> Result<usize, usize>) -> Self {
        let mut iter = Self {
            above: Vec::new(),
            leaf: None,
            at: 0,
        };
        let Some(mut node) = root else {
            return iter;
        };
        loop {
            match node {
                Node::Leaf(leaf) => {
                    iter.leaf = Some(leaf);
                    iter.at = find(&leaf.keys).unwrap_or_else(|at| at);
                    iter.settle();
                    return iter;
                }
                Node::Branch(inner) => {
                    let at = inner.child(find(&inner.bounds));
                    iter.above.push((inner, at + 1));
                    node = &inner.children[at];
                }
            }
        }
    }

    /// Moves to the next leaf if this one is exhausted.
    fn settle(&mut self) {
        while self.leaf.is_some_and(|leaf| self.at >= leaf.values.len()) {
            self.next_leaf();
        }
    }

    fn next_leaf(&mut self) {
        self.leaf = None;
        self.at = 0;
        while let Some((inner, at)) = self.above.last_mut() {
            let Some(mut node) = inner.children.get(*at).map(|child| &**child) else {
                self.above.pop();
                continue;
            };
            *at += 1;
            loop {
                match node {
                    Node::Leaf(leaf) => {
                        self.leaf = Some(leaf);
                        return;
                    }
                    Node::Branch(inner) => {
                        self.above.push((inner, 1));
                        node = &inner.children[0];
                    }
                }
            }
        }
    }

    fn peek(&self) -> Option<(B::Ref<'a>, &'a T)> {
        let leaf = self.leaf?;
        Some((leaf.keys.get(self.at), &leaf.values[self.at]))
    }

    /// The remaining values of one leaf, up to `end`, an iterator over the same tree. Does not read keys.
    pub(in crate::store) fn next_slice(&mut self, end: &Self) -> Option<&'a [T]> {
        let leaf = self.leaf?;
        let rest = &leaf.values[self.at..];
        if end.leaf.is_some_and(|last| std::ptr::eq(leaf, last)) {
            let slice = &rest[..end.at.saturating_sub(self.at)];
            self.leaf = None;
            self.above.clear();
            return (!slice.is_empty()).then_some(slice);
        }
        self.next_leaf();
        Some(rest)
    }

    /// The current leaf, if the iterator is at its first entry.
    fn whole_leaf(&self) -> Option<&'a Leaf<B, T>> {
        self.leaf.filter(|_| self.at == 0)
    }
}

impl<'a, B: Keys, T> Iterator for Iter<'a, B, T> {
    type Item = (B::Ref<'a>, &'a T);

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.peek()?;
        self.at += 1;
        self.settle();
        Some(entry)
    }
}

/// One key at which two trees may differ.
pub(in crate::store) struct Difference<'a, B: Keys + 'a, T> {
    pub(in crate::store) key: B::Ref<'a>,
    pub(in crate::store) old: Option<&'a T>,
    pub(in crate::store) new: Option<&'a T>,
}

/// Calls `visit` for every key whose entry may differ between the trees, in order. Skips leaves that both
/// share, so the difference of a tree and a changed clone costs about the number of changes. An entry of a
/// copied leaf is visited even if it is the same in both.
pub(in crate::store) fn diff<'a, B: Keys, T: Clone>(
    old: &'a Tree<B, T>,
    new: &'a Tree<B, T>,
    mut visit: impl FnMut(Difference<'a, B, T>),
) where
    B::Ref<'a>: Ord,
{
    let (mut before, mut after) = (old.iter(), new.iter());
    loop {
        if let (Some(this), Some(that)) = (before.whole_leaf(), after.whole_leaf())
            && std::ptr::eq(this, that)
        {
            before.next_leaf();
            after.next_leaf();
            continue;
        }
        let order = match (before.peek(), after.peek()) {
            (None, None) => return,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((this, _)), Some((that, _))) => this.cmp(&that),
        };
        let old = if order.is_le() { before.next() } else { None };
        let new = if order.is_ge() { after.next() } else { None };
        if let Some((key, _)) = old.or(new) {
            visit(Difference {
                key,
                old: old.map(|(_, value)| value),
                new: new.map(|(_, value)| value),
            });
        }
    }
}
