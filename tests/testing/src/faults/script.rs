//! The rules in force.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::profile::Random;
use super::{Plan, Planned, Profile, Rule};
use crate::log::Request;
use crate::shared::Shared;

/// Names a rule, to remove it or count its hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FaultId(u64);

/// The fault script of a server, from [`ApiServer::faults`](crate::ApiServer::faults). Cheap to clone.
///
/// Rules are tried in the order in which they were added, and all that match strike together; of several refusals the first
/// one is the answer.
#[derive(Clone, Debug)]
pub struct Faults {
    shared: Arc<Shared>,
}

impl Faults {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Puts a rule in force for requests from now on.
    pub fn add(&self, rule: impl Into<Rule>) -> FaultId {
        self.shared.script().add(rule.into())
    }

    /// Ends a rule. What it keeps waiting goes on: hanging requests and half-open watches break, stale watches catch up.
    pub fn remove(&self, id: FaultId) {
        self.shared.script().rules.remove(&id);
        self.shared.wake();
    }

    /// Ends all rules and the random faults.
    pub fn clear(&self) {
        {
            let mut script = self.shared.script();
            script.rules.clear();
            script.random = None;
        }
        self.shared.wake();
    }

    /// How many requests a rule has struck; zero after it was removed.
    pub fn hits(&self, id: FaultId) -> u64 {
        self.shared.script().rules.get(&id).map_or(0, |entry| entry.hits)
    }

    /// How often each fault has struck since the server started, by [name](super::Fault::name): when the request arrived, or, for
    /// faults that wait for events, when enough of them were sent.
    pub fn struck(&self) -> BTreeMap<String, u64> {
        self.shared.script().struck.clone()
    }

    /// Injects faults at random, in addition to the rules, until [`calm`](Self::calm) or [`clear`](Self::clear).
    ///
    /// What strikes the n-th request with one verb about one resource in one namespace depends on the seed and on nothing
    /// else: neither on the clock nor on how requests of different kinds interleave.
    pub fn random(&self, seed: u64, profile: Profile) {
        let mut script = self.shared.script();
        let id = script.next_id();
        script.random = Some((id, Random::new(seed, profile)));
    }

    /// Ends the random faults.
    pub fn calm(&self) {
        self.shared.script().random = None;
        self.shared.wake();
    }
}

/// The rules behind the lock.
#[derive(Debug, Default)]
pub(crate) struct Script {
    next: u64,
    rules: BTreeMap<FaultId, Entry>,
    random: Option<(FaultId, Random)>,
    struck: BTreeMap<String, u64>,
}

#[derive(Debug)]
struct Entry {
    rule: Rule,
    hits: u64,
}

impl Script {
    fn next_id(&mut self) -> FaultId {
        self.next += 1;
        FaultId(self.next)
    }

    fn add(&mut self, rule: Rule) -> FaultId {
        let id = self.next_id();
        self.rules.insert(id, Entry { rule, hits: 0 });
        id
    }

    /// Whether a rule, though perhaps used up, has not been removed.
    pub(crate) fn holds(&self, id: FaultId) -> bool {
        self.rules.contains_key(&id) || self.random.as_ref().is_some_and(|(random, _)| *random == id)
    }

    /// What strikes this request.
    pub(crate) fn plan(&mut self, request: &Request) -> Plan {
        let mut faults = Vec::new();
        for (id, entry) in &mut self.rules {
            if entry.rule.remaining == Some(0) || !entry.rule.matches(request) {
                continue;
            }
            if entry.rule.skip > 0 {
                entry.rule.skip -= 1;
                continue;
            }
            entry.rule.remaining = entry.rule.remaining.map(|left| left - 1);
            entry.hits += 1;
            faults.push(Planned {
                id: *id,
                fault: entry.rule.fault.clone(),
            });
        }
        if let Some((id, random)) = &mut self.random {
            let drawn = random.draw(request).into_iter();
            faults.extend(drawn.map(|fault| Planned { id: *id, fault }));
        }
        for planned in faults.iter().filter(|planned| !planned.fault.waits_for_events()) {
            *self.struck.entry(planned.fault.name()).or_default() += 1;
        }
        Plan { faults }
    }

    /// Counts faults that have struck in an open watch.
    pub(crate) fn count(&mut self, names: impl IntoIterator<Item = String>) {
        for name in names {
            *self.struck.entry(name).or_default() += 1;
        }
    }
}
