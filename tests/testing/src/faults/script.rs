//! The active rules.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::profile::Random;
use super::{Plan, Planned, Profile, Rule};
use crate::log::Request;
use crate::shared::Shared;

/// Identifies a rule, to remove it or to count its hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FaultId(u64);

/// The fault rules of a server, from [`ApiServer::faults`](crate::ApiServer::faults). Cheap to clone.
///
/// Rules are evaluated in the order in which they were added, and all matching rules apply; of several errors
/// the first one is sent.
#[derive(Clone, Debug)]
pub struct Faults {
    shared: Arc<Shared>,
}

impl Faults {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Adds a rule for later requests.
    pub fn add(&self, rule: impl Into<Rule>) -> FaultId {
        self.shared.script().add(rule.into())
    }

    /// Removes a rule. Requests that it blocks continue: hanging requests and half-open watches break, stale
    /// watches catch up.
    pub fn remove(&self, id: FaultId) {
        self.shared.script().rules.remove(&id);
        self.shared.wake();
    }

    /// Removes all rules and stops the random faults.
    pub fn clear(&self) {
        {
            let mut script = self.shared.script();
            script.rules.clear();
            script.random = None;
        }
        self.shared.wake();
    }

    /// Returns the number of requests a rule was applied to; zero after it was removed.
    pub fn hits(&self, id: FaultId) -> u64 {
        self.shared.script().rules.get(&id).map_or(0, |entry| entry.hits)
    }

    /// Returns how often each fault was applied since the server started, by [name](super::Fault::name): when
    /// the request arrived, or, for faults that wait for events, when enough of them were sent.
    pub fn struck(&self) -> BTreeMap<String, u64> {
        self.shared.script().struck.clone()
    }

    /// Injects faults at random, in addition to the rules, until [`calm`](Self::calm) or
    /// [`clear`](Self::clear).
    ///
    /// The faults of the n-th request with one verb for one resource in one namespace depend on the seed
    /// only, not on the clock or on the order of requests of different kinds.
    pub fn random(&self, seed: u64, profile: Profile) {
        let mut script = self.shared.script();
        let id = script.next_id();
        script.random = Some((id, Random::new(seed, profile)));
    }

    /// Stops the random faults.
    pub fn calm(&self) {
        self.shared.script().random = None;
        self.shared.wake();
    }
}

/// The rules, protected by a lock.
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

    /// Whether a rule was not removed; it may be used up.
    pub(crate) fn holds(&self, id: FaultId) -> bool {
        self.rules.contains_key(&id) || self.random.as_ref().is_some_and(|(random, _)| *random == id)
    }

    /// Returns the faults of this request.
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

    /// Counts faults that were applied in an open watch.
    pub(crate) fn count(&mut self, names: impl IntoIterator<Item = String>) {
        for name in names {
            *self.struck.entry(name).or_default() += 1;
        }
    }
}
