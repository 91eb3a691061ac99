//! An ordered map as a copy-on-write B+tree: cheap to clone, so that every commit can keep the previous
//! state.

mod iter;
mod keys;
mod node;
mod path;
#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;

use std::sync::Arc;

pub(super) use self::iter::{Difference, Iter, diff};
pub(super) use self::keys::{Keys, Packed, Plain};
use self::node::{Branch, FAN_OUT, Inserted, Leaf, Node};
pub(super) use self::path::Path;

/// An ordered map. A clone increments one reference count and is independent of the original: a change
/// copies the shared nodes on its path, and only those.
pub(super) struct Tree<B, T> {
    root: Option<Arc<Node<B, T>>>,
    len: usize,
}

impl<B, T> Clone for Tree<B, T> {
    fn clone(&self) -> Self {
        Self {
            root: self.root.clone(),
            len: self.len,
        }
    }
}

impl<B, T> Default for Tree<B, T> {
    fn default() -> Self {
        Self { root: None, len: 0 }
    }
}

impl<B: Keys, T: Clone> Tree<B, T> {
    /// Builds a tree from entries in strictly ascending order. Leaves some room in each node, so that the
    /// next inserts do not split.
    pub(super) fn from_sorted<'a>(entries: impl IntoIterator<Item = (B::Ref<'a>, T)>) -> Self
    where
        B: 'a,
    {
        let room = |limit: usize| limit - limit / 8;
        let (mut len, mut level) = (0, Vec::new());
        let mut entries = entries.into_iter().peekable();
        while entries.peek().is_some() {
            let (keys, values): (Vec<B::Ref<'a>>, Vec<T>) = entries.by_ref().take(room(B::LEAF)).unzip();
            len += values.len();
            level.push(Arc::new(Node::Leaf(Leaf {
                keys: B::collect(&keys),
                values,
            })));
        }
        while level.len() > 1 {
            let mut children = level.into_iter().peekable();
            level = Vec::new();
            while children.peek().is_some() {
                let group = children.by_ref().take(room(FAN_OUT)).collect();
                level.push(Arc::new(Node::Branch(Branch::of(group))));
            }
        }
        Self {
            root: level.pop(),
            len,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether both have the same root, and so are equal.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (&self.root, &other.root) {
            (Some(this), Some(that)) => Arc::ptr_eq(this, that),
            (None, None) => true,
            _ => false,
        }
    }

    pub(super) fn get(&self, key: B::Ref<'_>) -> Option<&T> {
        self.get_by(|keys| keys.find(key))
    }

    /// The value at the key that `find` locates among a node's keys.
    pub(super) fn get_by(&self, find: impl Fn(&B) -> Result<usize, usize>) -> Option<&T> {
        let mut node = self.root.as_deref()?;
        loop {
            match node {
                Node::Leaf(leaf) => return find(&leaf.keys).ok().map(|at| &leaf.values[at]),
                Node::Branch(inner) => node = &inner.children[inner.child(find(&inner.bounds))],
            }
        }
    }

    /// The value at a key, to be changed. Copies the path to it if the key exists.
    pub(super) fn get_mut(&mut self, key: B::Ref<'_>) -> Option<&mut T> {
        self.get(key)?;
        self.find_mut(key).map(|(value, _)| value)
    }

    /// Like [`get_mut`](Self::get_mut), but searches once, and copies a part of the path also if the key is
    /// missing. Returns where the value is as well.
    pub(super) fn find_mut(&mut self, key: B::Ref<'_>) -> Option<(&mut T, Path)> {
        let mut path = Path::default();
        let value = node::descend_mut(self.root.as_mut()?, |node, level| {
            let at = node.position(&|keys: &B| keys.find(key))?;
            path.set(level, at);
            Some(at)
        })?;
        Some((value, path))
    }

    /// The value at a path, to be changed. Copies the path to it. A path leads to the same key as long as
    /// keys are neither added nor removed, and in a tree to which the same was done.
    pub(super) fn at_mut(&mut self, path: Path) -> Option<&mut T> {
        node::descend_mut(self.root.as_mut()?, |_, level| path.get(level))
    }

    pub(super) fn insert(&mut self, key: B::Ref<'_>, value: T) -> Option<T> {
        let Some(root) = &mut self.root else {
            let leaf = Leaf {
                keys: B::collect(&[key]),
                values: vec![value],
            };
            *self = Self {
                root: Some(Arc::new(Node::Leaf(leaf))),
                len: 1,
            };
            return None;
        };
        match node::insert(root, key, value) {
            Inserted::Replaced(old) => return Some(old),
            Inserted::Added => {}
            Inserted::Split(right) => {
                let parent = Branch::of(vec![root.clone(), right]);
                *root = Arc::new(Node::Branch(parent));
            }
        }
        self.len += 1;
        None
    }

    /// Removes the value at a key. Copies nothing if the key does not exist.
    pub(super) fn remove(&mut self, key: B::Ref<'_>) -> Option<T> {
        self.get(key)?;
        let root = self.root.as_mut()?;
        let removed = node::remove(root, &|keys: &B| keys.find(key))?;
        self.len -= 1;
        while let Node::Branch(inner) = &**root
            && let [only] = &inner.children[..]
        {
            *root = only.clone();
        }
        if root.is_empty() {
            self.root = None;
        }
        Some(removed)
    }

    /// All entries in order.
    pub(super) fn iter(&self) -> Iter<'_, B, T> {
        self.iter_by(|_| Err(0))
    }

    /// An iterator at the end.
    pub(super) fn iter_end(&self) -> Iter<'_, B, T> {
        Iter::new(None, |_| Err(0))
    }

    /// The entries from the first key that is not smaller than `key`.
    pub(super) fn iter_from(&self, key: B::Ref<'_>) -> Iter<'_, B, T> {
        self.iter_by(|keys| keys.find(key))
    }

    fn iter_by(&self, find: impl Fn(&B) -> Result<usize, usize>) -> Iter<'_, B, T> {
        Iter::new(self.root.as_deref(), find)
    }
}
