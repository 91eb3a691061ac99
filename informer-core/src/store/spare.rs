//! The state before the current one, which the next commit changes in place if no reader holds it.
//!
//! A commit that starts from the current state must copy each node that it changes, because readers use
//! that state. The state before it is often held by no one. It lacks only the changes of the last commit, so
//! the next commit repeats those in it, adds its own and publishes it. Two states take turns, and while no
//! reader holds one for long, nothing is copied. Nodes that both share, or a snapshot holds, are still copied
//! when they change.

use std::sync::Arc;

use super::state::StoreState;
use crate::key::ObjectKey;
use crate::storage::Stored;

/// The largest number of changes that are repeated. More are copied instead, and the replaced objects are
/// freed at once.
const MOST: usize = 128;

/// The changes of one commit, in order.
pub(super) enum Log<K> {
    Kept(Vec<(ObjectKey, Option<Stored<K>>)>),
    /// There were too many, or no one needs them.
    Lost,
}

impl<K> Log<K> {
    /// Records the new state of an object, or its removal.
    pub(super) fn record(&mut self, key: &ObjectKey, object: Option<Stored<K>>) {
        if let Self::Kept(changes) = self {
            match changes.len() < MOST {
                true => changes.push((key.clone(), object)),
                false => *self = Self::Lost,
            }
        }
    }
}

/// A state that was replaced, and the changes it lacks.
pub(super) struct Spare<K> {
    pub(super) state: Arc<StoreState<K>>,
    pub(super) lacks: Vec<(ObjectKey, Option<Stored<K>>)>,
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
    lacks: Vec<(ObjectKey, Option<Stored<K>>)>,
}

impl<K> Unheld<K> {
    /// Repeats the changes it lacks, which makes it equal to the current state. Indexes are those of the
    /// current state, and copied when they change: to repeat their changes would call functions of users.
    pub(super) fn catch_up(self, current: &StoreState<K>) -> StoreState<K> {
        let mut objects = self.state.objects;
        for (key, object) in self.lacks {
            match object {
                Some(object) => drop(objects.insert((&key).into(), object)),
                None => drop(objects.remove((&key).into())),
            }
        }
        StoreState {
            objects,
            ..current.clone()
        }
    }
}
