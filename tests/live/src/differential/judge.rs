//! Checks the events of one informer: for each name a part of the history, in order, and with the right
//! verbs.

use std::collections::BTreeMap;

use crate::oracle::{Delivered, EventVerb, History, Presence, Revision};

/// An event of client-go that is allowed, although ours never delivers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deviation {
    /// A change of an object into another one of the same name, instead of a deletion and an addition.
    RecreationAsUpdate,
    /// An update to the version that was delivered before.
    Repeated,
    /// A deletion of an object that was deleted before, or never delivered.
    DeletedUnknown,
    /// An addition of an object that was delivered before.
    AddedKnown,
}

/// How one revision was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// As what.
    pub verb: EventVerb,
    /// As part of the initial state.
    pub initial: bool,
    /// As a deletion found out afterwards.
    pub missed: bool,
}

/// The events of an informer, after the check.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// By key, then by the position of the revision in the history of the key.
    pub tellings: BTreeMap<String, BTreeMap<usize, Delivery>>,
    /// Where it deviated, by key and position.
    pub deviations: Vec<(String, usize, Deviation)>,
}

/// What a handler knows of one name: the position of the last revision delivered.
#[derive(Clone, Copy, Debug)]
enum Known {
    /// Nothing, or the deletion at a position.
    Nothing {
        after: Option<usize>,
    },
    Object {
        at: usize,
    },
}

/// Judges an informer's events against what happened.
///
/// # Errors
/// The events are not a part of the history, go backwards, or do not end where the history ends; the text
/// names the event.
pub fn judge(history: &History, events: &[Delivered]) -> Result<Account, String> {
    let mut account = Account::default();
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    for delivered in events {
        let state = known
            .entry(delivered.key.clone())
            .or_insert(Known::Nothing { after: None });
        let step = step(history.of(&delivered.key), *state, delivered)
            .map_err(|why| format!("{delivered:?}: {why}"))?;
        *state = step.known;
        if let Some(deviation) = step.deviation {
            account
                .deviations
                .push((delivered.key.clone(), step.at, deviation));
        }
        if !matches!(
            step.deviation,
            Some(Deviation::Repeated | Deviation::DeletedUnknown)
        ) {
            let telling = Delivery {
                verb: delivered.verb,
                initial: delivered.initial,
                missed: delivered.missed,
            };
            let tellings = account.tellings.entry(delivered.key.clone()).or_default();
            tellings.insert(step.at, telling);
        }
    }
    for key in history.keys() {
        let there = history.last().get(key).map(|(rv, _)| *rv);
        let believed = match known.get(key) {
            Some(Known::Object { at }) => Some(history.of(key)[*at].rv),
            _ => None,
        };
        if there != believed {
            return Err(format!("{key} ends as {believed:?}, on the server as {there:?}"));
        }
    }
    Ok(account)
}

struct Step {
    known: Known,
    at: usize,
    deviation: Option<Deviation>,
}

fn step(revisions: &[Revision], known: Known, delivered: &Delivered) -> Result<Step, String> {
    let floor = match known {
        Known::Nothing { after } => after,
        Known::Object { at } => Some(at),
    };
    let is_after = |at: usize| floor.is_none_or(|floor| at > floor);
    match delivered.verb {
        EventVerb::Add | EventVerb::Update => {
            let at = find(revisions, delivered, Presence::There)?;
            let deviation = match (delivered.verb, known) {
                (EventVerb::Add, Known::Nothing { .. }) => None,
                (EventVerb::Add, Known::Object { .. }) => Some(Deviation::AddedKnown),
                (_, Known::Nothing { .. }) => return Err("a change of what was never added".to_owned()),
                (_, Known::Object { at: before }) if before == at => Some(Deviation::Repeated),
                (_, Known::Object { at: before }) if revisions[before].uid != delivered.uid => {
                    Some(Deviation::RecreationAsUpdate)
                }
                _ => None,
            };
            if !is_after(at) && deviation != Some(Deviation::Repeated) {
                return Err("it goes backwards".to_owned());
            }
            Ok(Step {
                known: Known::Object { at },
                at,
                deviation,
            })
        }
        EventVerb::Delete => {
            let Known::Object { at: before } = known else {
                let at = find(revisions, delivered, Presence::Gone)?;
                return Ok(Step {
                    known: Known::Nothing {
                        after: floor.max(Some(at)),
                    },
                    at,
                    deviation: Some(Deviation::DeletedUnknown),
                });
            };
            let at = match delivered.missed {
                false => find(revisions, delivered, Presence::Gone)?,
                true => end_of_life(revisions, before, delivered)?,
            };
            if revisions[before].uid != delivered.uid {
                return Err("the deletion of another object of this name".to_owned());
            }
            if !is_after(at) {
                return Err("it goes backwards".to_owned());
            }
            Ok(Step {
                known: Known::Nothing { after: Some(at) },
                at,
                deviation: None,
            })
        }
        EventVerb::Store | EventVerb::End => Err("this is no event".to_owned()),
    }
}

fn find(revisions: &[Revision], delivered: &Delivered, presence: Presence) -> Result<usize, String> {
    let is_it = |revision: &Revision| {
        revision.rv.to_string() == delivered.rv
            && revision.uid == delivered.uid
            && revision.presence == presence
    };
    let at = revisions.iter().position(is_it);
    at.ok_or_else(|| format!("the server never had this revision {presence:?}"))
}

/// Returns the position at which the object with this last known revision was deleted.
fn end_of_life(revisions: &[Revision], before: usize, delivered: &Delivered) -> Result<usize, String> {
    if revisions[before].rv.to_string() != delivered.rv {
        return Err(format!(
            "its last known state is not the last one delivered, which was {}",
            revisions[before].rv
        ));
    }
    let is_end = |revision: &Revision| revision.uid == delivered.uid && revision.presence == Presence::Gone;
    let end = revisions.iter().position(is_end);
    end.ok_or_else(|| "the server never deleted it".to_owned())
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
