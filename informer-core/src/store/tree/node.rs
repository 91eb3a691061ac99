//! The nodes of the tree, and their changes.

use std::mem;
use std::sync::Arc;

use super::keys::Keys;

/// The maximum number of children of a branch.
pub(super) const FAN_OUT: usize = 32;

/// One node. Shared nodes are copied before a change; a node that only this tree holds is changed in place.
pub(super) enum Node<B, T> {
    Leaf(Leaf<B, T>),
    Branch(Branch<B, T>),
}

/// Values with their keys: `values[i]` belongs to `keys[i]`. The keys stay shared while only values change.
pub(super) struct Leaf<B, T> {
    pub(super) keys: B,
    pub(super) values: Vec<T>,
}

/// Children with lower bounds: no key below `children[i]` is smaller than `bounds[i]`, and every key below
/// `children[i - 1]` is.
pub(super) struct Branch<B, T> {
    pub(super) bounds: B,
    pub(super) children: Vec<Arc<Node<B, T>>>,
}

/// The result of an insertion.
pub(super) enum Inserted<B, T> {
    Replaced(T),
    Added,
    /// Added, and the node exceeded its limit: this is its new right neighbour.
    Split(Arc<Node<B, T>>),
}

impl<B: Keys, T: Clone> Clone for Node<B, T> {
    fn clone(&self) -> Self {
        match self {
            Self::Leaf(leaf) => Self::Leaf(Leaf {
                keys: leaf.keys.clone(),
                values: leaf.values.clone(),
            }),
            Self::Branch(inner) => Self::Branch(Branch {
                bounds: inner.bounds.clone(),
                children: inner.children.clone(),
            }),
        }
    }
}

impl<B: Keys, T> Node<B, T> {
    fn len(&self) -> usize {
        match self {
            Self::Leaf(leaf) => leaf.values.len(),
            Self::Branch(inner) => inner.children.len(),
        }
    }

    fn limit(&self) -> usize {
        match self {
            Self::Leaf(_) => B::LEAF,
            Self::Branch(_) => FAN_OUT,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The position of the value at a key, or of the child that the key belongs to.
    pub(super) fn position(&self, find: &impl Fn(&B) -> Result<usize, usize>) -> Option<usize> {
        match self {
            Self::Leaf(leaf) => find(&leaf.keys).ok(),
            Self::Branch(inner) => Some(inner.child(find(&inner.bounds))),
        }
    }

    /// A lower bound of all keys below this node.
    pub(super) fn bound(&self) -> B::Ref<'_> {
        match self {
            Self::Leaf(leaf) => leaf.keys.get(0),
            Self::Branch(inner) => inner.bounds.get(0),
        }
    }
}

impl<B: Keys, T> Branch<B, T> {
    /// The child that a key belongs to, given its position among the bounds.
    pub(super) fn child(&self, found: Result<usize, usize>) -> usize {
        match found {
            Ok(at) => at,
            Err(at) => at.saturating_sub(1),
        }
    }

    /// Creates a parent of `children`, which is not empty.
    pub(super) fn of(children: Vec<Arc<Node<B, T>>>) -> Self {
        let bounds = B::collect(&children.iter().map(|child| child.bound()).collect::<Vec<_>>());
        Self { bounds, children }
    }
}

pub(super) fn insert<B: Keys, T: Clone>(
    node: &mut Arc<Node<B, T>>,
    key: B::Ref<'_>,
    value: T,
) -> Inserted<B, T> {
    match Arc::make_mut(node) {
        Node::Leaf(leaf) => match leaf.keys.find(key) {
            Ok(at) => Inserted::Replaced(mem::replace(&mut leaf.values[at], value)),
            Err(at) => {
                leaf.keys.insert(at, key);
                leaf.values.insert(at, value);
                if leaf.values.len() <= B::LEAF {
                    return Inserted::Added;
                }
                let half = leaf.values.len() / 2;
                let right = Leaf {
                    keys: leaf.keys.split_off(half),
                    values: leaf.values.split_off(half),
                };
                leaf.values.shrink_to_fit();
                Inserted::Split(Arc::new(Node::Leaf(right)))
            }
        },
        Node::Branch(inner) => {
            let found = inner.bounds.find(key);
            if found == Err(0) {
                inner.bounds.remove(0);
                inner.bounds.insert(0, key);
            }
            let at = inner.child(found);
            let right = match insert(&mut inner.children[at], key, value) {
                Inserted::Split(right) => right,
                done => return done,
            };
            inner.bounds.insert(at + 1, right.bound());
            inner.children.insert(at + 1, right);
            if inner.children.len() <= FAN_OUT {
                return Inserted::Added;
            }
            let half = inner.children.len() / 2;
            let right = Branch {
                bounds: inner.bounds.split_off(half),
                children: inner.children.split_off(half),
            };
            inner.children.shrink_to_fit();
            Inserted::Split(Arc::new(Node::Branch(right)))
        }
    }
}

/// The value that `step` leads to, to be changed: it is called with each node on the way and its level, and
/// returns the position to go on with.
pub(super) fn descend_mut<B: Keys, T: Clone>(
    root: &mut Arc<Node<B, T>>,
    mut step: impl FnMut(&Node<B, T>, u32) -> Option<usize>,
) -> Option<&mut T> {
    let (mut node, mut level) = (root, 0);
    loop {
        let at = step(node, level)?;
        match Arc::make_mut(node) {
            Node::Leaf(leaf) => return leaf.values.get_mut(at),
            Node::Branch(inner) => node = inner.children.get_mut(at)?,
        }
        level += 1;
    }
}

/// Removes the value at a key. Merges nodes that become nearly empty with a neighbour, and drops empty
/// ones.
pub(super) fn remove<B: Keys, T: Clone>(
    node: &mut Arc<Node<B, T>>,
    find: &impl Fn(&B) -> Result<usize, usize>,
) -> Option<T> {
    match Arc::make_mut(node) {
        Node::Leaf(leaf) => {
            let at = find(&leaf.keys).ok()?;
            leaf.keys.remove(at);
            Some(leaf.values.remove(at))
        }
        Node::Branch(inner) => {
            let at = inner.child(find(&inner.bounds));
            let removed = remove(&mut inner.children[at], find);
            let child = &inner.children[at];
            if child.is_empty() {
                inner.bounds.remove(at);
                inner.children.remove(at);
            } else if child.len() < child.limit() / 4 {
                merge_with_neighbour(inner, at);
            }
            removed
        }
    }
}

/// Merges a small child with the neighbour before or after it, if the result has room for growth.
fn merge_with_neighbour<B: Keys, T: Clone>(inner: &mut Branch<B, T>, at: usize) {
    let fits = |left: usize| {
        let (left, right) = (inner.children.get(left)?, inner.children.get(left + 1)?);
        (left.len() + right.len() <= left.limit() * 3 / 4).then_some(())
    };
    let before = at.checked_sub(1).filter(|before| fits(*before).is_some());
    let Some(left) = before.or_else(|| fits(at).map(|()| at)) else {
        return;
    };
    let right = inner.children.remove(left + 1);
    inner.bounds.remove(left + 1);
    match (
        Arc::make_mut(&mut inner.children[left]),
        Arc::unwrap_or_clone(right),
    ) {
        (Node::Leaf(left), Node::Leaf(right)) => {
            left.keys.append(&right.keys);
            left.values.extend(right.values);
        }
        (Node::Branch(left), Node::Branch(right)) => {
            left.bounds.append(&right.bounds);
            left.children.extend(right.children);
        }
        _ => unreachable!("all leaves have the same depth, so the children of a node have one kind"),
    }
}
