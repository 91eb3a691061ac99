//! The tree against a naive ordered map.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::node::{FAN_OUT, Node};
use super::*;
use crate::key::ObjectKey;
use crate::store::key_ref::KeyRef;

type Names = Tree<Packed, u32>;
type Model = BTreeMap<ObjectKey, u32>;

/// Keys are few enough that operations hit the same ones, and many enough for several levels:
/// cluster-scoped ones, namespaces that are prefixes of others, bytes around the separator of a text
/// encoding, long names, names that differ behind their heads.
fn key(number: u16) -> ObjectKey {
    let name = match number % 7 {
        0 => format!("n{number}-{}", "x".repeat(usize::from(number % 300))),
        1 => format!("ü\0/{number}"),
        2 | 3 => format!("checkout-6d4cf-{number}"),
        _ => format!("pod-{number}"),
    };
    match number % 11 {
        0 => ObjectKey::cluster(name),
        1 => ObjectKey::namespaced("a", name),
        2 => ObjectKey::namespaced("a\0b", name),
        3 => ObjectKey::namespaced("a-b", name),
        _ => ObjectKey::namespaced("web", name),
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u16, u32),
    Remove(u16),
    /// Many neighbours at once, so that nodes split and merge.
    InsertRun {
        from: u16,
        count: u16,
    },
    RemoveRun {
        from: u16,
        count: u16,
    },
    Difference(u16),
    Hold,
    Rebuild,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let number = 0..4000u16;
    let step = prop_oneof![
        4 => (number.clone(), any::<u32>()).prop_map(|(at, value)| Step::Insert(at, value)),
        4 => number.clone().prop_map(Step::Remove),
        3 => (number.clone(), 1..400u16).prop_map(|(from, count)| Step::InsertRun { from, count }),
        3 => (number.clone(), 1..400u16).prop_map(|(from, count)| Step::RemoveRun { from, count }),
        2 => number.prop_map(Step::Difference),
        1 => Just(Step::Hold),
        1 => Just(Step::Rebuild),
    ];
    prop::collection::vec(step, 1..40)
}

fn apply(step: &Step, tree: &mut Names, model: &mut Model) {
    let insert = |tree: &mut Names, model: &mut Model, at: u16, value: u32| {
        assert_eq!(
            tree.insert((&key(at)).into(), value),
            model.insert(key(at), value)
        );
    };
    let remove = |tree: &mut Names, model: &mut Model, at: u16| {
        assert_eq!(tree.remove((&key(at)).into()), model.remove(&key(at)));
    };
    match *step {
        Step::Insert(at, value) => insert(tree, model, at, value),
        Step::Remove(at) => remove(tree, model, at),
        Step::InsertRun { from, count } => (from..from + count).for_each(|at| insert(tree, model, at, 1)),
        Step::RemoveRun { from, count } => (from..from + count).for_each(|at| remove(tree, model, at)),
        Step::Difference(at) => {
            let changed = tree
                .get_mut((&key(at)).into())
                .map(|value| std::mem::replace(value, 7));
            assert_eq!(
                changed,
                model.get_mut(&key(at)).map(|value| std::mem::replace(value, 7))
            );
        }
        Step::Rebuild => *tree = Tree::from_sorted(model.iter().map(|(key, value)| (key.into(), *value))),
        Step::Hold => {}
    }
}

/// Compares all reads, and checks the shape of the nodes.
fn check(tree: &Names, model: &Model) {
    assert_eq!(tree.len(), model.len());
    assert_eq!(tree.is_empty(), model.is_empty());
    let entries: Vec<(ObjectKey, u32)> = tree.iter().map(|(key, value)| (key.to_key(), *value)).collect();
    let expected: Vec<(ObjectKey, u32)> = model.iter().map(|(key, value)| (key.clone(), *value)).collect();
    assert_eq!(entries, expected);
    for number in (0..4000).step_by(37) {
        let key = key(number);
        assert_eq!(tree.get((&key).into()), model.get(&key), "{key}");
        let next = tree.iter_from((&key).into()).next().map(|(key, _)| key.to_key());
        assert_eq!(
            next.as_ref(),
            model.range(&key..).next().map(|(key, _)| key),
            "from {key}"
        );
    }
    for namespace in ["", "a", "a\0b", "web", "zzz"] {
        let inside = |key: KeyRef<'_>| key.namespace().unwrap_or_default() == namespace;
        let mut walk = tree.iter_from(KeyRef::start_of(namespace));
        let end = tree.iter_from(KeyRef::end_of(namespace.as_bytes()));
        let slices: Vec<u32> = std::iter::from_fn(|| walk.next_slice(&end))
            .flatten()
            .copied()
            .collect();
        let expected = model
            .iter()
            .filter(|(key, _)| inside((*key).into()))
            .map(|(_, value)| *value);
        assert_eq!(slices, expected.collect::<Vec<u32>>(), "{namespace}");
    }
    if let Some(root) = &tree.root {
        check_node(root);
    }
}

/// Checks that the paths of some keys lead to their values, also in a clone.
fn check_paths(tree: &mut Names, model: &Model) {
    let mut clone = tree.clone();
    for (key, value) in model.iter().step_by(29) {
        let (found, path) = tree.find_mut(key.into()).expect("the key exists");
        assert_eq!((*found, clone.at_mut(path)), (*value, Some(found)), "{key}");
    }
}

/// Checks limits and bounds below a node, and returns its depth.
fn check_node(node: &Node<Packed, u32>) -> usize {
    assert!(!node.is_empty(), "empty nodes are dropped");
    match node {
        Node::Leaf(leaf) => {
            assert_eq!(leaf.keys.len(), leaf.values.len());
            assert!(leaf.values.len() <= Packed::LEAF);
            0
        }
        Node::Branch(inner) => {
            assert_eq!(inner.bounds.len(), inner.children.len());
            assert!(inner.children.len() <= FAN_OUT);
            for (at, child) in inner.children.iter().enumerate() {
                assert!(
                    inner.bounds.get(at) <= child.bound(),
                    "a bound must not exceed its child's keys"
                );
            }
            let depths: BTreeSet<usize> = inner.children.iter().map(|child| check_node(child)).collect();
            assert_eq!(depths.len(), 1, "all leaves have the same depth");
            depths.first().map_or(0, |depth| depth + 1)
        }
    }
}

/// The differences that [`diff`] reports, without the equal entries it also visits.
fn changes(old: &Names, new: &Names) -> BTreeMap<ObjectKey, (Option<u32>, Option<u32>)> {
    let mut changes = BTreeMap::new();
    diff(old, new, |Difference { key, old, new }| {
        if old != new {
            let before = changes.insert(key.to_key(), (old.copied(), new.copied()));
            assert_eq!(before, None, "a key is visited once");
        }
    });
    changes
}

fn expected_changes(old: &Model, new: &Model) -> BTreeMap<ObjectKey, (Option<u32>, Option<u32>)> {
    let keys: BTreeSet<&ObjectKey> = old.keys().chain(new.keys()).collect();
    let change = |key: &ObjectKey| (key.clone(), (old.get(key).copied(), new.get(key).copied()));
    keys.into_iter()
        .map(change)
        .filter(|(_, (old, new))| old != new)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_tree_is_an_ordered_map_and_its_clones_never_change(steps in steps()) {
        let (mut tree, mut model) = (Names::default(), Model::new());
        let mut held: Vec<(Names, Model)> = Vec::new();
        for step in &steps {
            apply(step, &mut tree, &mut model);
            if matches!(step, Step::Hold) {
                held.push((tree.clone(), model.clone()));
            }
        }
        check(&tree, &model);
        check_paths(&mut tree, &model);
        for (old_tree, old_model) in &held {
            check(old_tree, old_model);
            prop_assert_eq!(changes(old_tree, &tree), expected_changes(old_model, &model));
        }
    }
}

#[test]
fn a_changed_value_shares_keys_and_all_other_leaves() {
    let keys: Vec<ObjectKey> = (0..4000).map(key).collect::<BTreeSet<_>>().into_iter().collect();
    let old = Names::from_sorted(keys.iter().map(|key| (key.into(), 1)));
    let mut new = old.clone();
    new.insert((&keys[2000]).into(), 2);
    let mut visited = 0;
    diff(&old, &new, |_| visited += 1);
    assert!(
        (1..=Packed::LEAF).contains(&visited),
        "one leaf was copied, {visited} entries differ"
    );
}

#[test]
fn a_path_leads_to_the_same_key_in_a_tree_to_which_the_same_was_done() {
    let (mut this, mut that) = (Names::default(), Names::default());
    for tree in [&mut this, &mut that] {
        for number in 0..4000 {
            tree.insert((&key(number)).into(), number.into());
        }
        for number in (0..4000).step_by(3) {
            tree.remove((&key(number)).into());
        }
    }
    for number in 0..4000 {
        let found = this.find_mut((&key(number)).into());
        let found = found.map(|(value, path)| (*value, path));
        assert_eq!(found.is_some(), number % 3 != 0);
        if let Some((value, path)) = found {
            assert_eq!(that.at_mut(path), Some(&mut { value }));
        }
    }
}

#[test]
fn a_shrinking_tree_frees_its_nodes() {
    fn nodes(node: &Node<Packed, u32>) -> usize {
        match node {
            Node::Leaf(_) => 1,
            Node::Branch(inner) => 1 + inner.children.iter().map(|child| nodes(child)).sum::<usize>(),
        }
    }
    let mut tree = Names::default();
    for number in 0..4000 {
        tree.insert((&key(number)).into(), 1);
    }
    let full = tree.root.as_deref().map_or(0, nodes);
    for number in (0..4000).filter(|number| number % 40 != 0) {
        tree.remove((&key(number)).into());
    }
    let sparse = tree.root.as_deref().map_or(0, nodes);
    assert!(
        sparse * 4 < full,
        "100 of 4000 entries are left, in {sparse} of {full} nodes"
    );
}

#[test]
fn plain_keys_are_found_by_their_borrowed_form() {
    let names: Vec<String> = (0..500).map(|number| format!("v{number:03}")).collect();
    let mut tree: Tree<Plain<String>, usize> = Tree::default();
    for (at, name) in names.iter().enumerate().rev() {
        tree.insert(name, at);
    }
    for (at, name) in names.iter().enumerate() {
        assert_eq!(tree.get_by(|keys| keys.find_borrowed(name.as_str())), Some(&at));
    }
    for name in names.iter().skip(1) {
        assert!(tree.remove(name).is_some());
    }
    assert_eq!(tree.iter().collect::<Vec<_>>(), [(&names[0], &0)]);
}
