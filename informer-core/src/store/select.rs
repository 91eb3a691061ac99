//! Reads by label selector, through a label's index if one exists.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::Arc;

use super::give_way;
use super::index::IndexData;
use super::indexer::Indexer;
use super::key_ref::KeyRef;
use super::snapshot::{Snapshot, StoredEntries, slices};
use super::state::{Objects, StoreState};
use crate::object::Object;
use crate::selector::Selector;
use crate::storage::{ObjectRef, Stored};

impl<K: Object> Snapshot<K> {
    /// The selected objects with their keys, ordered by namespace, then name, borrowed from the snapshot.
    ///
    /// A requirement that lists the values of a label (`app=web`, `app in (web,db)`) is answered from the
    /// index of that label, if the snapshot has one ([`Indexer::add_label_index`]). With several such
    /// requirements, the index with the fewest candidates is used. Only the candidates are examined;
    /// without an index, all objects are.
    ///
    /// ```
    /// # use informer_core::selector::Selector;
    /// # use informer_core::store::Indexer;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # fn example(indexer: Indexer<Pod>) -> Result<(), Box<dyn std::error::Error>> {
    /// indexer.add_label_index("app")?;
    /// let (snapshot, selector) = (indexer.snapshot(), "app=web,!legacy".parse::<Selector>()?);
    /// for (key, pod) in snapshot.select(&selector) {
    ///     println!("{key} runs on {:?}", pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn select<'a>(&'a self, selector: &'a Selector) -> Selected<'a, K> {
        Selected::new(&self.0, None, selector)
    }

    /// Like [`select`](Self::select), for the objects of one namespace. Examines the namespace's objects,
    /// or the candidates among them.
    pub fn select_namespace<'a>(&'a self, namespace: &'a str, selector: &'a Selector) -> Selected<'a, K> {
        Selected::new(&self.0, Some(namespace), selector)
    }
}

impl<K: Object> Indexer<K> {
    /// The selected objects, ordered by namespace, then name. Uses label indexes as [`Snapshot::select`]
    /// does.
    pub fn select(&self, selector: &Selector) -> Vec<Arc<K>> {
        if selector.is_everything() {
            return self.list();
        }
        let snapshot = self.snapshot();
        let mut selected = snapshot.select(selector);
        let objects: Vec<Arc<K>> = selected.by_ref().map(|(_, object)| object.clone()).collect();
        let examined = selected.examined;
        drop(snapshot);
        give_way::after_reading(examined);
        objects
    }

    /// The selected objects of one namespace, ordered by name.
    pub fn select_namespace(&self, namespace: &str, selector: &Selector) -> Vec<Arc<K>> {
        if selector.is_everything() {
            return self.list_namespace(namespace);
        }
        let snapshot = self.snapshot();
        let mut selected = snapshot.select_namespace(namespace, selector);
        let objects: Vec<Arc<K>> = selected.by_ref().map(|(_, object)| object.clone()).collect();
        let examined = selected.examined;
        if objects.is_empty() {
            self.note_miss(&snapshot, Some(namespace));
        }
        drop(snapshot);
        give_way::after_reading(examined);
        objects
    }

    /// Calls `visit` for the selected objects of one namespace, ordered by name, without collecting them.
    /// They are of one snapshot: concurrent changes are not seen.
    pub fn for_each_in_namespace(
        &self,
        namespace: &str,
        selector: &Selector,
        mut visit: impl FnMut(&Arc<K>),
    ) {
        let snapshot = self.snapshot();
        let mut found_any = false;
        let examined = snapshot.0.visit(Some(namespace), selector, |object| {
            found_any = true;
            visit(object);
        });
        if !found_any {
            self.note_miss(&snapshot, Some(namespace));
        }
        drop(snapshot);
        give_way::after_reading(examined);
    }

    /// Calls `visit` for the selected objects, ordered by namespace, then name, without collecting them.
    /// They are of one snapshot: concurrent changes are not seen.
    pub fn for_each(&self, selector: &Selector, visit: impl FnMut(&Arc<K>)) {
        let examined = self.snapshot().0.visit(None, selector, visit);
        give_way::after_reading(examined);
    }
}

impl<K: Object> StoreState<K> {
    /// Calls `visit` for the selected objects. Does not read keys unless it uses an index, so it is several
    /// times faster than an iterator. Returns how many objects it examined.
    fn visit(&self, within: Option<&str>, selector: &Selector, mut visit: impl FnMut(&Arc<K>)) -> usize {
        if selector.is_nothing() || smallest(self, selector).is_some() {
            let mut selected = Selected::new(self, within, selector);
            selected.by_ref().for_each(|(_, object)| visit(&object));
            return selected.examined;
        }
        let mut examined = 0;
        for slice in slices(&self.objects, within) {
            examined += slice.len();
            for stored in slice {
                // The labels come first: a packed object is decoded only if it is selected.
                if (selector.is_everything() || stored.matches(selector))
                    && let Some(object) = stored.peek()
                {
                    visit(&object);
                }
            }
        }
        examined
    }
}

/// The selected objects of a snapshot with their keys, in order; returned by [`Snapshot::select`].
pub struct Selected<'a, K> {
    selector: &'a Selector,
    candidates: Candidates<'a, K>,
    /// How many candidates were compared with the selector.
    examined: usize,
}

/// The objects that may be selected.
enum Candidates<'a, K> {
    /// In one tree: the store's, or that of one label value.
    One(StoredEntries<'a, K>),
    /// In the trees of several label values.
    Several(Merge<'a, K>),
    /// No objects.
    None,
}

impl<'a, K: Object> Selected<'a, K> {
    fn new(state: &'a StoreState<K>, within: Option<&'a str>, selector: &'a Selector) -> Self {
        let candidates = match smallest(state, selector).as_deref() {
            _ if selector.is_nothing() => Candidates::None,
            None => Candidates::One(StoredEntries::of(&state.objects, within)),
            Some([]) => Candidates::None,
            Some([set]) => Candidates::One(StoredEntries::of(set, within)),
            Some(sets) => Candidates::Several(Merge::new(sets, within)),
        };
        Self {
            selector,
            candidates,
            examined: 0,
        }
    }
}

/// The smallest candidate set that an index has for one of the requirements: one tree per value. `None` if
/// no index applies.
fn smallest<'a, K: Object>(state: &'a StoreState<K>, selector: &Selector) -> Option<Vec<&'a Objects<K>>> {
    let offers = selector.requirements().filter_map(|requirement| {
        let values = requirement.one_of()?;
        let index = label_index(state, requirement.key())?;
        let sets: Vec<_> = values
            .iter()
            .filter_map(|value| index.set(value.as_str()))
            .collect();
        Some((sets.iter().map(|set| set.len()).sum::<usize>(), sets))
    });
    let (_, sets) = offers.min_by_key(|(len, _)| *len)?;
    Some(sets)
}

fn label_index<'a, K: Object>(state: &'a StoreState<K>, label: &str) -> Option<&'a IndexData<K, String>> {
    let index = state.indexes.iter().find(|index| index.name().is_label(label))?;
    IndexData::typed(&**index)
}

impl<'a, K: Object> Iterator for Selected<'a, K> {
    type Item = (KeyRef<'a>, ObjectRef<'a, K>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (key, stored) = match &mut self.candidates {
                Candidates::One(entries) => entries.next()?,
                Candidates::Several(merge) => merge.next()?,
                Candidates::None => return None,
            };
            self.examined += 1;
            if (self.selector.is_everything() || stored.matches(self.selector))
                && let Some(object) = stored.peek()
            {
                return Some((key, object));
            }
        }
    }
}

impl<K> fmt::Debug for Selected<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Selected").field(&self.selector).finish()
    }
}

/// Merges several trees in key order. No key is in two of them: an object has one value per label.
struct Merge<'a, K> {
    /// The next object of each tree, and the objects after it.
    trees: Vec<(Option<&'a Stored<K>>, StoredEntries<'a, K>)>,
    /// The key of each tree's next object, with the tree's position; the smallest key first.
    order: BinaryHeap<Reverse<(KeyRef<'a>, usize)>>,
}

impl<'a, K: Object> Merge<'a, K> {
    fn new(sets: &[&'a Objects<K>], within: Option<&'a str>) -> Self {
        let trees: Vec<_> = sets
            .iter()
            .map(|set| (None, StoredEntries::of(set, within)))
            .collect();
        let order = BinaryHeap::with_capacity(trees.len());
        let mut merge = Self { trees, order };
        for at in 0..merge.trees.len() {
            merge.refill(at);
        }
        merge
    }

    fn refill(&mut self, at: usize) {
        let (head, rest) = &mut self.trees[at];
        if let Some((key, object)) = rest.next() {
            *head = Some(object);
            self.order.push(Reverse((key, at)));
        }
    }

    fn next(&mut self) -> Option<(KeyRef<'a>, &'a Stored<K>)> {
        let Reverse((key, at)) = self.order.pop()?;
        let object = self.trees[at].0.take()?;
        self.refill(at);
        Some((key, object))
    }
}
