//! Commits the addition of a scope, its removal with all its objects, and a change of its selectors.

use super::Core;
use super::replacement::deliver;
use crate::delta::{InitialSync, ScopeChange};
use crate::handler::Origin;
use crate::object::Object;
use crate::scope::Scope;
use crate::store::Missing;

impl<K: Object> Core<K> {
    pub(super) fn commit_scope(&mut self, scope: &Scope, change: ScopeChange, initial: InitialSync) {
        match change {
            ScopeChange::Added => {
                let mut commit = self.writer.begin();
                commit.announce_scope(scope);
                commit.publish();
            }
            // What the store has was selected by the selectors before: waits wait for the next state.
            ScopeChange::Reselected => {
                let mut commit = self.writer.begin();
                commit.forget_scope(scope);
                commit.announce_scope(scope);
                commit.publish();
            }
            ScopeChange::Removed => self.commit_removal(scope, initial),
        }
    }

    /// Handlers receive the objects of a removed scope as deletions: the informer does not know them any
    /// more.
    fn commit_removal(&mut self, scope: &Scope, initial: InitialSync) {
        let mut commit = self.writer.begin();
        let replacement = commit.replace(scope, Vec::new(), Missing::Remove);
        commit.forget_scope(scope);
        // Before the commit is visible, for the reason given in `commit_changes`.
        let mut publication = self.wiring.processor.publication();
        commit.publish();
        if initial == InitialSync::Completes {
            self.complete_initial_state(&mut publication);
        }
        deliver(&mut publication.distribute(), replacement, Origin::Live);
    }
}
