//! The scopes that keep an informer from being in sync.

use std::fmt;

use crate::scope::Scope;
use crate::status::{PendingScope, State};

/// The largest number of scopes in a message.
const NAMED: usize = 10;

/// The scopes of an informer whose initial state is not in the cache, each with its state; the least healthy
/// first.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PendingScopes {
    /// One scope, or one per namespace. Never empty.
    pub scopes: Vec<(Scope, State)>,
}

impl PendingScopes {
    pub(crate) fn new(pending: Vec<PendingScope>) -> Self {
        let mut scopes: Vec<(Scope, State)> = pending
            .into_iter()
            .map(|pending| (pending.scope, pending.state))
            .collect();
        scopes.sort_by_key(|(_, state)| std::cmp::Reverse(state.severity()));
        Self { scopes }
    }

    /// The state of the least healthy scope.
    pub fn worst(&self) -> &State {
        self.scopes.first().map_or(&State::NotStarted, |(_, state)| state)
    }
}

impl fmt::Display for PendingScopes {
    /// Writes the state alone for an informer over all namespaces, else each namespace with its state.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [(Scope::All, state)] = self.scopes.as_slice() {
            return write!(f, "{state}");
        }
        for (position, (scope, state)) in self.scopes.iter().take(NAMED).enumerate() {
            f.write_str(if position == 0 { "" } else { "; " })?;
            write!(f, "{scope}: {state}")?;
        }
        match self.scopes.len().saturating_sub(NAMED) {
            0 => Ok(()),
            more => write!(f, "; and {more} more namespaces"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(scopes: &[(Option<&str>, State)], expected: &str) {
        let scopes = scopes
            .iter()
            .map(|(namespace, state)| (Scope::of(*namespace), state.clone()))
            .collect();
        assert_eq!(PendingScopes { scopes }.to_string(), expected);
    }

    #[test]
    fn every_namespace_is_named_with_its_state() {
        check(&[(None, State::Live)], "live");
        check(&[(Some("web"), State::Live)], "namespace web: live");
        check(
            &[(Some("web"), State::Stalled), (Some("db"), State::NotStarted)],
            "namespace web: stalled: nothing arrives from the server; namespace db: not started",
        );
    }

    #[test]
    fn a_message_names_a_bounded_number_of_namespaces() {
        let scopes: Vec<_> = (0..12).map(|_| (Some("web"), State::Live)).collect();
        let mut expected = ["namespace web: live"; 10].join("; ");
        expected.push_str("; and 2 more namespaces");
        check(&scopes, &expected);
    }
}
