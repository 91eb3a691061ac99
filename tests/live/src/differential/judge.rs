//! Judges what one informer told: for each name a part of what happened, in order, and with the right verbs.

use std::collections::BTreeMap;

use crate::oracle::{History, Presence, Revision, TellingVerb, Told};

/// What an informer told of a history that is not ours to forbid, though our own never does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deviation {
    /// A change of an object into another one of the same name, instead of a deletion and an addition.
    RecreationAsUpdate,
    /// A change to the version that was told already.
    Repeated,
    /// A deletion of what it had told the deletion of, or had never told of.
    DeletedUnknown,
    /// An addition of what it had told of already.
    AddedKnown,
}

/// How one revision was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Telling {
    /// As what.
    pub verb: TellingVerb,
    /// As part of the initial state.
    pub initial: bool,
    /// As a deletion found out afterwards.
    pub missed: bool,
}

/// What an informer told, found to be true.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// By key, then by the position of the revision in the history of the key.
    pub tellings: BTreeMap<String, BTreeMap<usize, Telling>>,
    /// Where it deviated, by key and position.
    pub deviations: Vec<(String, usize, Deviation)>,
}

/// What the listener of an informer knows of one name: the position of the revision told last.
#[derive(Clone, Copy, Debug)]
enum Known {
    /// Nothing, or that all is gone up to a position.
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
/// What was told is not a part of the history, goes backwards, or does not end where the history ends; the text says where.
pub fn judge(history: &History, events: &[Told]) -> Result<Account, String> {
    let mut account = Account::default();
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    for told in events {
        let state = known
            .entry(told.key.clone())
            .or_insert(Known::Nothing { after: None });
        let step = step(history.of(&told.key), *state, told).map_err(|why| format!("{told:?}: {why}"))?;
        *state = step.known;
        if let Some(deviation) = step.deviation {
            account.deviations.push((told.key.clone(), step.at, deviation));
        }
        if !matches!(
            step.deviation,
            Some(Deviation::Repeated | Deviation::DeletedUnknown)
        ) {
            let telling = Telling {
                verb: told.verb,
                initial: told.initial,
                missed: told.missed,
            };
            let tellings = account.tellings.entry(told.key.clone()).or_default();
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

fn step(revisions: &[Revision], known: Known, told: &Told) -> Result<Step, String> {
    let floor = match known {
        Known::Nothing { after } => after,
        Known::Object { at } => Some(at),
    };
    let is_after = |at: usize| floor.is_none_or(|floor| at > floor);
    match told.verb {
        TellingVerb::Add | TellingVerb::Update => {
            let at = find(revisions, told, Presence::There)?;
            let deviation = match (told.verb, known) {
                (TellingVerb::Add, Known::Nothing { .. }) => None,
                (TellingVerb::Add, Known::Object { .. }) => Some(Deviation::AddedKnown),
                (_, Known::Nothing { .. }) => return Err("a change of what was never added".to_owned()),
                (_, Known::Object { at: before }) if before == at => Some(Deviation::Repeated),
                (_, Known::Object { at: before }) if revisions[before].uid != told.uid => {
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
        TellingVerb::Delete => {
            let Known::Object { at: before } = known else {
                let at = find(revisions, told, Presence::Gone)?;
                return Ok(Step {
                    known: Known::Nothing {
                        after: floor.max(Some(at)),
                    },
                    at,
                    deviation: Some(Deviation::DeletedUnknown),
                });
            };
            let at = match told.missed {
                false => find(revisions, told, Presence::Gone)?,
                true => end_of_life(revisions, before, told)?,
            };
            if revisions[before].uid != told.uid {
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
        TellingVerb::Store | TellingVerb::End => Err("this is no event".to_owned()),
    }
}

fn find(revisions: &[Revision], told: &Told, presence: Presence) -> Result<usize, String> {
    let is_it = |revision: &Revision| {
        revision.rv.to_string() == told.rv && revision.uid == told.uid && revision.presence == presence
    };
    let at = revisions.iter().position(is_it);
    at.ok_or_else(|| format!("the server never had this revision {presence:?}"))
}

/// Where the object whose last known revision is told was really deleted.
fn end_of_life(revisions: &[Revision], before: usize, told: &Told) -> Result<usize, String> {
    if revisions[before].rv.to_string() != told.rv {
        return Err(format!(
            "its last known state is not what was told last, which was {}",
            revisions[before].rv
        ));
    }
    let is_end = |revision: &Revision| revision.uid == told.uid && revision.presence == Presence::Gone;
    let end = revisions.iter().position(is_end);
    end.ok_or_else(|| "the server never deleted it".to_owned())
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
