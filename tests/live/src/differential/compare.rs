//! Compares the events of two informers for one history. Every difference has a reason from a closed list, or
//! the comparison fails.

use std::collections::BTreeMap;
use std::fmt;

use super::gaps::Gaps;
use super::judge::{Account, Delivery, Deviation};
use crate::oracle::{EventVerb, History, Presence, Revision};

/// Why the events of two informers may differ. `docs/parity.md` has this list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A revision was over before the first state was read.
    BeforeInitial,
    /// A revision of an existing object fell between a broken watch and the relist that followed.
    Coalesced,
    /// An object was created and deleted between a broken watch and the relist that followed.
    LifeUnseen,
    /// One side received the deletion from the watch, the other found it by a relist.
    TombstoneOrObserved,
    /// An addition belonged to the first state for one side only.
    InitialOrLive,
    /// An addition on the side that missed the earlier revisions of this object, a change on the other.
    AddOrUpdate,
    /// client-go delivers a deletion and recreation between two lists as an update; ours is a deletion and an
    /// addition.
    RecreationAsUpdate,
    /// client-go delivers the same version again, after a relist or a duplicate event; ours does not.
    Repeated,
    /// client-go delivers a deletion again after a duplicate event; ours does not.
    DeletedTwice,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::BeforeInitial => "over before the first state",
            Self::Coalesced => "coalesced by a relist",
            Self::LifeUnseen => "created and deleted between two lists",
            Self::TombstoneOrObserved => "deletion observed or found out",
            Self::InitialOrLive => "initial or live",
            Self::AddOrUpdate => "addition after a gap, or change",
            Self::RecreationAsUpdate => "recreation delivered as an update (client-go)",
            Self::Repeated => "same version delivered again (client-go)",
            Self::DeletedTwice => "deletion delivered again (client-go)",
        })
    }
}

/// One informer's part in a comparison.
pub struct Side<'a> {
    /// The events it delivered.
    pub account: &'a Account,
    /// The revisions that it may have missed.
    pub gaps: &'a Gaps,
}

/// How often each reason was found.
pub type Differences = BTreeMap<Reason, u64>;

/// Compares our informer with client-go's.
///
/// # Errors
/// Ours deviates, or a difference has no reason; the text names the event.
pub fn compare(history: &History, ours: &Side<'_>, theirs: &Side<'_>) -> Result<Differences, String> {
    let mut differences = Differences::new();
    if let Some((key, at, deviation)) = ours.account.deviations.first() {
        return Err(format!(
            "ours deviates at {key} {:?}: {deviation:?}",
            history.of(key)[*at]
        ));
    }
    for (key, at, deviation) in &theirs.account.deviations {
        let reason = match deviation {
            Deviation::RecreationAsUpdate => Reason::RecreationAsUpdate,
            Deviation::Repeated => Reason::Repeated,
            Deviation::DeletedUnknown => Reason::DeletedTwice,
            Deviation::AddedKnown => {
                return Err(format!(
                    "client-go adds what it had: {key} {:?}",
                    history.of(key)[*at]
                ));
            }
        };
        *differences.entry(reason).or_default() += 1;
    }
    for key in history.keys() {
        let revisions = history.of(key);
        let (ours, theirs) = (Of::new(history, ours, key), Of::new(history, theirs, key));
        for (at, revision) in revisions.iter().enumerate() {
            let reasons = match (ours.delivered(at), theirs.delivered(at)) {
                (None, None) => Vec::new(),
                (Some(a), Some(b)) => both_told(&ours, &theirs, at, a, b),
                (Some(_), None) => vec![theirs.silence(at)],
                (None, Some(_)) => vec![ours.silence(at)],
            };
            for reason in reasons {
                let reason = reason.ok_or_else(|| {
                    format!(
                        "no reason at {key} {revision:?}: ours {:?} with {:?}, client-go's {:?} with {:?}",
                        ours.delivered(at),
                        ours.gaps,
                        theirs.delivered(at),
                        theirs.gaps
                    )
                })?;
                // Counted with the deviations already.
                if reason != Reason::RecreationAsUpdate {
                    *differences.entry(reason).or_default() += 1;
                }
            }
        }
    }
    Ok(differences)
}

/// The events of one side for one name.
struct Of<'a> {
    revisions: &'a [Revision],
    tellings: Option<&'a BTreeMap<usize, Delivery>>,
    gaps: &'a Gaps,
    /// The version of the first live event, of any name.
    first_live: Option<u64>,
}

impl<'a> Of<'a> {
    fn new(history: &'a History, side: &Side<'a>, key: &str) -> Self {
        let live = side.account.tellings.iter().flat_map(|(key, tellings)| {
            let live = tellings
                .iter()
                .filter(|(_, telling)| !telling.initial && !telling.missed);
            live.map(|(at, _)| history.of(key)[*at].rv)
        });
        Self {
            revisions: history.of(key),
            tellings: side.account.tellings.get(key),
            gaps: side.gaps,
            first_live: live.min(),
        }
    }

    fn delivered(&self, at: usize) -> Option<Delivery> {
        self.tellings?.get(&at).copied()
    }

    /// Whether any event of this revision's object was delivered.
    fn knows_life(&self, at: usize) -> bool {
        let uid = &self.revisions[at].uid;
        let mut delivered = self.tellings.into_iter().flat_map(BTreeMap::keys);
        delivered.any(|at| self.revisions[*at].uid == *uid)
    }

    /// Whether an earlier revision of the same object was delivered.
    fn knows_earlier(&self, at: usize) -> bool {
        let uid = &self.revisions[at].uid;
        let mut delivered = self.tellings.into_iter().flat_map(BTreeMap::keys);
        delivered.any(|earlier| *earlier < at && self.revisions[*earlier].uid == *uid)
    }

    /// Returns why a revision was not delivered.
    fn silence(&self, at: usize) -> Option<Reason> {
        if self.first_live.is_none_or(|first| self.revisions[at].rv < first) {
            return Some(Reason::BeforeInitial);
        }
        // A watch continues where the last one ended: only a read of the whole state skips revisions.
        if !self.gaps.cover(self.revisions[at].rv) {
            return None;
        }
        if !self.knows_life(at) {
            return Some(Reason::LifeUnseen);
        }
        match self.revisions[at].presence {
            Presence::There => Some(Reason::Coalesced),
            // A known object that was deleted is delivered as deleted or replaced.
            Presence::Gone => {
                let later = self.tellings?.range(at + 1..).next();
                let is_update = |(_, telling): (&usize, &Delivery)| telling.verb == EventVerb::Update;
                later.is_some_and(is_update).then_some(Reason::RecreationAsUpdate)
            }
        }
    }
}

fn both_told(ours: &Of<'_>, theirs: &Of<'_>, at: usize, a: Delivery, b: Delivery) -> Vec<Option<Reason>> {
    let mut reasons = Vec::new();
    match (a.verb, b.verb) {
        (a, b) if a == b => {}
        (EventVerb::Add, EventVerb::Update) if !theirs.knows_earlier(at) => {
            reasons.push(Some(Reason::RecreationAsUpdate));
        }
        (EventVerb::Add, EventVerb::Update) => {
            reasons.push((!ours.knows_earlier(at)).then_some(Reason::AddOrUpdate));
        }
        (EventVerb::Update, EventVerb::Add) => {
            reasons.push((!theirs.knows_earlier(at)).then_some(Reason::AddOrUpdate));
        }
        _ => reasons.push(None),
    }
    if a.missed != b.missed {
        reasons.push(Some(Reason::TombstoneOrObserved));
    }
    if a.initial != b.initial {
        reasons.push(Some(Reason::InitialOrLive));
    }
    reasons
}
