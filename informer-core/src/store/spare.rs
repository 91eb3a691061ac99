//! The state before the current one, which the next commit changes in place if no reader holds it.
//!
//! A commit that starts from the current state must copy each node that it changes, because readers use
//! that state. The state before it is often held by no one. It lacks only the changes of the last commit, so
//! the next commit repeats those in it, adds its own and publishes it. Two states take turns, and while no
//! reader holds one for long, nothing is copied. Nodes that both share, or a snapshot holds, are still copied
//! when they change.

use std::sync::Arc;

use super::state::{Objects, StoreState};
use super::tree::Path;
use crate::key::ObjectKey;
use crate::storage::Stored;

/// The largest number of changes that are repeated. More are copied instead, and the replaced objects are
/// freed at once.
const MOST: usize = 128;

/// One change of the objects.
pub(super) enum Step<K> {
    /// An object took the place of the one with this [address](Stored::address). The keys stayed the same.
    Replaced {
        at: Path,
        old: usize,
        new: Stored<K>,
    },
    /// An object was inserted, or replaced one whose place is not known.
    Put(ObjectKey, Stored<K>),
    Removed(ObjectKey),
}

/// The changes of one commit, in order.
pub(super) enum Log<K> {
    Kept(Vec<Step<K>>),
    /// There were too many, or no one needs them.
    Lost,
}

impl<K> Log<K> {
    /// Records a change.
    pub(super) fn record(&mut self, step: impl FnOnce() -> Step<K>) {
        if let Self::Kept(steps) = self {
            match steps.len() < MOST {
                true => steps.push(step()),
                false => *self = Self::Lost,
            }
        }
    }
}

/// A state that was replaced, and the changes it lacks.
pub(super) struct Spare<K> {
    pub(super) state: Arc<StoreState<K>>,
    pub(super) lacks: Vec<Step<K>>,
}

impl<K> Spare<K> {
    /// The state, if no reader holds it.
    pub(super) fn unheld(self) -> Result<Unheld<K>, Arc<StoreState<K>>> {
        let state = Arc::try_unwrap(self.state)?;
        Ok(Unheld {
            state,
            lacks: self.lacks,
        })
    }
}

/// A state that no one else can reach.
pub(super) struct Unheld<K> {
    state: StoreState<K>,
    lacks: Vec<Step<K>>,
}

impl<K> Unheld<K> {
    /// Repeats the changes it lacks, which makes it equal to the current state. Indexes are those of the
    /// current state, and copied when they change: to repeat their changes would call functions of users.
    /// `None` if that is not possible, which would be a bug.
    pub(super) fn catch_up(self, current: &StoreState<K>) -> Option<StoreState<K>> {
        let mut objects = self.state.objects;
        for step in self.lacks {
            repeat(step, &mut objects)?;
        }
        Some(StoreState {
            objects,
            ..current.clone()
        })
    }
}

/// Repeats one change. Both trees had the same nodes before it, because the same was done to both, so paths
/// of one are paths of the other.
fn repeat<K>(step: Step<K>, objects: &mut Objects<K>) -> Option<()> {
    match step {
        Step::Replaced { at, old, new } => {
            let slot = objects.at_mut(at).filter(|slot| slot.address() == old);
            debug_assert!(slot.is_some(), "the trees differ");
            *slot? = new;
        }
        Step::Put(key, object) => drop(objects.insert((&key).into(), object)),
        Step::Removed(key) => drop(objects.remove((&key).into())),
    }
    Some(())
}
