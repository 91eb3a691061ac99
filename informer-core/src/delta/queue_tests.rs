//! Random sends and pops against a naive log: batches are the log, cut into prefixes.

use std::collections::{HashMap, HashSet};
use std::pin::pin;

use k8s_openapi::api::core::v1::ConfigMap;
use proptest::prelude::*;

use std::task::{Context, Poll};

use super::*;
use crate::delta::{Change, Deltas, Departed};
use crate::source::{ObjectChange, Undecodable};

const NAMESPACES: [&str; 2] = ["x", "y"];
const NAMES: [&str; 3] = ["a", "b", "c"];

/// One step of a random run. Numbers choose the namespace, the name or the handler.
#[derive(Clone, Debug)]
enum Step {
    Change(usize, usize, Kind),
    Replace(usize, Vec<usize>),
    Bookmark(usize),
    Sync(u64),
    Pop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Added,
    Updated,
    Deleted,
    DeletedUnread,
    Unusable,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kind = prop_oneof![
        2 => Just(Kind::Added),
        2 => Just(Kind::Updated),
        2 => Just(Kind::Deleted),
        1 => Just(Kind::DeletedUnread),
        1 => Just(Kind::Unusable),
    ];
    let names = proptest::collection::vec(0..NAMES.len(), 0..4);
    let change = (0..2_usize, 0..NAMES.len(), kind);
    let step = prop_oneof![
        10 => change.prop_map(|(scope, name, kind)| Step::Change(scope, name, kind)),
        1 => (0..2_usize, names).prop_map(|(scope, names)| Step::Replace(scope, names)),
        2 => (0..2_usize).prop_map(Step::Bookmark),
        1 => (0..3_u64).prop_map(Step::Sync),
        5 => Just(Step::Pop),
    ];
    proptest::collection::vec(step, 0..100)
}

/// An entry of the model's log. Every entry except a resync has a version, and versions grow in arrival
/// order, so the last version of a batch shows where the batch ends.
#[derive(Clone, Debug)]
enum Sent {
    Change {
        scope: usize,
        key: ObjectKey,
        version: u64,
        kind: Kind,
    },
    Replace {
        scope: usize,
        version: u64,
        keys: Vec<ObjectKey>,
    },
    Bookmark {
        scope: usize,
        version: u64,
    },
    Sync(u64),
}

fn key(scope: usize, name: usize) -> ObjectKey {
    ObjectKey::namespaced(NAMESPACES[scope], NAMES[name])
}

fn object(key: &ObjectKey, version: u64) -> Arc<ConfigMap> {
    let mut object = ConfigMap::default();
    object.metadata.namespace = key.namespace().map(str::to_owned);
    object.metadata.name = Some(key.name().to_owned());
    object.metadata.resource_version = Some(version.to_string());
    Arc::new(object)
}

fn version(number: u64) -> ResourceVersion {
    ResourceVersion::new(&number.to_string())
}

/// Polls once, then drops the future; `None` if it is pending.
fn once<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

fn kind_of(delta: &Delta<ConfigMap>) -> Kind {
    match delta {
        Delta::Added(_) => Kind::Added,
        Delta::Updated(_) => Kind::Updated,
        Delta::Deleted(Departed::Observed(_)) => Kind::Deleted,
        Delta::Deleted(Departed::KeyOnly) => Kind::DeletedUnread,
        Delta::Unusable(_) => Kind::Unusable,
    }
}

/// The changes of each key in a prefix of the log, with runs of deletions merged: a deletion with an object
/// wins, and it gets the version of the last one, so that the committer does not drop it as outdated.
fn grouped(sent: &[Sent]) -> Vec<(ObjectKey, Vec<(Kind, u64)>)> {
    let mut groups: Vec<(ObjectKey, Vec<(Kind, u64)>)> = Vec::new();
    for entry in sent {
        let Sent::Change {
            key, version, kind, ..
        } = entry
        else {
            continue;
        };
        let place = groups.iter().position(|(known, _)| known == key);
        let place = place.unwrap_or_else(|| {
            groups.push((key.clone(), Vec::new()));
            groups.len() - 1
        });
        let changes = &mut groups[place].1;
        let gone = |kind| matches!(kind, Kind::Deleted | Kind::DeletedUnread);
        match changes.last().copied() {
            Some((Kind::Deleted, _)) if gone(*kind) => {
                changes.pop();
                changes.push((Kind::Deleted, *version));
            }
            Some((Kind::DeletedUnread, _)) if gone(*kind) => {
                changes.pop();
                changes.push((*kind, *version));
            }
            _ => changes.push((*kind, *version)),
        }
    }
    groups
}

struct Run {
    senders: Vec<DeltaSender<ConfigMap>>,
    receiver: DeltaReceiver<ConfigMap>,
    options: QueueOptions,
    log: VecDeque<Sent>,
    last_version: u64,
    replaced: HashSet<usize>,
}

impl Run {
    fn new(options: QueueOptions) -> Self {
        let scopes = NAMESPACES.map(|namespace| Scope::of(Some(namespace)));
        let (senders, receiver) = DeltaFifo::channel(scopes, options, None);
        Self {
            senders,
            receiver,
            options,
            log: VecDeque::new(),
            last_version: 0,
            replaced: HashSet::new(),
        }
    }

    fn queued_changes(&self) -> usize {
        let is_change = |sent: &&Sent| matches!(sent, Sent::Change { .. });
        self.log.iter().filter(is_change).count()
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        let next = self.last_version + 1;
        match step {
            Step::Change(scope, name, kind) => {
                let key = key(scope, name);
                let full = self.queued_changes() == self.options.capacity;
                let sent = self.change(scope, &key, next, kind);
                prop_assert_eq!(
                    sent.is_none(),
                    full,
                    "a change waits exactly while the queue is full"
                );
                if sent.is_some() {
                    self.note(Sent::Change {
                        scope,
                        key,
                        version: next,
                        kind,
                    });
                }
            }
            Step::Replace(scope, names) => {
                let mut state = self.senders[scope].begin_replace();
                let mut keys = Vec::new();
                for name in names {
                    let key = key(scope, name);
                    once(state.upsert(object(&key, next))).expect("without a transform nothing waits");
                    if !keys.contains(&key) {
                        keys.push(key);
                    }
                }
                let state = once(state.finish(version(next))).expect("without a transform nothing waits");
                let waits =
                    |sent: &Sent| matches!(sent, Sent::Replace { scope: queued, .. } if *queued == scope);
                let waits = self.log.iter().any(waits);
                let sent = once(self.senders[scope].replace_all(state));
                prop_assert_eq!(
                    sent.is_none(),
                    waits,
                    "only one replacement of a scope is queued at a time"
                );
                if sent.is_some() {
                    self.note(Sent::Replace {
                        scope,
                        version: next,
                        keys,
                    });
                }
            }
            Step::Bookmark(scope) => {
                let room = self.has_room_for_marks();
                let sent = once(self.senders[scope].bookmark(version(next)));
                prop_assert_eq!(sent.is_some(), room);
                if sent.is_some() {
                    self.note(Sent::Bookmark { scope, version: next });
                }
            }
            Step::Sync(handler) => {
                let room = self.has_room_for_marks();
                let sent = once(self.senders[0].sync_all(ResyncTicket::new(vec![handler])));
                prop_assert_eq!(sent.is_some(), room);
                if sent.is_some() {
                    self.log.push_back(Sent::Sync(handler));
                }
            }
            Step::Pop => match once(self.receiver.pop()) {
                Some(batch) => self.popped(batch.expect("senders are alive"))?,
                None => prop_assert!(self.log.is_empty(), "not popped: {:?}", self.log),
            },
        }
        self.check_bounds()
    }

    fn change(&mut self, scope: usize, key: &ObjectKey, next: u64, kind: Kind) -> Option<()> {
        let object = object(key, next);
        let sender = &mut self.senders[scope];
        let undecodable = Undecodable {
            key: Some(key.clone()),
            version: Some(version(next)),
            uid: None,
            reason: "unreadable".to_owned(),
        };
        let unread = |sent: Result<(), Closed>| sent.map(|()| None);
        let outcome = match kind {
            Kind::Added => once(sender.added(object)),
            Kind::Updated => once(sender.updated(object)),
            Kind::Deleted => once(sender.deleted(object)),
            Kind::DeletedUnread => once(sender.undecodable(ObjectChange::Deleted, undecodable)).map(unread),
            Kind::Unusable => once(sender.undecodable(ObjectChange::Upserted, undecodable)).map(unread),
        };
        outcome.map(|sent| {
            let reported = sent.expect("the receiver is alive");
            assert!(reported.is_none_or(|reported| reported == version(next)));
        })
    }

    fn note(&mut self, sent: Sent) {
        self.last_version += 1;
        self.log.push_back(sent);
    }

    fn has_room_for_marks(&self) -> bool {
        self.receiver.queue.lock().log.len() < 2 * self.options.capacity
    }

    fn check_bounds(&self) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.receiver.len(), self.queued_changes());
        prop_assert!(self.receiver.len() <= self.options.capacity);
        let entries = self.receiver.queue.lock().log.len();
        prop_assert!(
            entries <= 3 * self.options.capacity + NAMESPACES.len(),
            "{} entries",
            entries
        );
        prop_assert_eq!(
            self.receiver.has_synced(),
            self.replaced.len() == NAMESPACES.len()
        );
        Ok(())
    }

    fn popped(&mut self, batch: Batch<ConfigMap>) -> Result<(), TestCaseError> {
        match batch {
            Batch::ReplaceAll { state, initial } => {
                let Some(Sent::Replace {
                    scope,
                    version: number,
                    keys,
                }) = self.log.pop_front()
                else {
                    return Err(TestCaseError::fail("a replacement was popped out of order"));
                };
                let popped: Vec<ObjectKey> = state.items.into_iter().map(|(key, _)| key).collect();
                prop_assert_eq!(popped, keys);
                prop_assert_eq!(state.version, version(number));
                prop_assert_eq!(state.scope, Scope::of(Some(NAMESPACES[scope])));
                let expected = match self.replaced.insert(scope) {
                    false => InitialSync::Relist,
                    true if self.replaced.len() == NAMESPACES.len() => InitialSync::Completes,
                    true => InitialSync::First,
                };
                prop_assert_eq!(initial, expected);
            }
            Batch::Confirmed { .. } => return Err(TestCaseError::fail("nothing was confirmed")),
            Batch::SyncAll(ticket) => {
                let mut handlers = Vec::new();
                while let Some(Sent::Sync(handler)) = self.log.front() {
                    if !handlers.contains(handler) {
                        handlers.push(*handler);
                    }
                    self.log.pop_front();
                }
                prop_assert_eq!(ticket, ResyncTicket::new(handlers));
            }
            Batch::Changes { deltas, versions } => self.popped_changes(&deltas, versions)?,
            Batch::Scope { .. } => return Err(TestCaseError::fail("no scope was added or removed")),
        }
        Ok(())
    }

    fn popped_changes(
        &mut self,
        deltas: &[Deltas<ConfigMap>],
        versions: Vec<(Scope, ResourceVersion)>,
    ) -> Result<(), TestCaseError> {
        let number =
            |version: &ResourceVersion| version.to_string().parse::<u64>().expect("versions are numbers");
        let horizon = versions.iter().map(|(_, version)| number(version)).max();
        let horizon = horizon.expect("every change and every bookmark here has a version");
        let mut taken = Vec::new();
        let mut reached: HashMap<Scope, ResourceVersion> = HashMap::new();
        while let Some(
            Sent::Change {
                scope, version: at, ..
            }
            | Sent::Bookmark { scope, version: at },
        ) = self.log.front()
            && *at <= horizon
        {
            reached.insert(Scope::of(Some(NAMESPACES[*scope])), version(*at));
            taken.extend(self.log.pop_front());
        }
        let changes = taken
            .iter()
            .filter(|sent| matches!(sent, Sent::Change { .. }))
            .count();
        prop_assert!(changes <= self.options.batch, "{} changes in one batch", changes);
        prop_assert_eq!(versions.into_iter().collect::<HashMap<_, _>>(), reached);
        if let Some(Sent::Change { .. } | Sent::Bookmark { .. }) = self.log.front() {
            prop_assert!(
                taken.len() >= self.options.batch,
                "the batch ended before it had to"
            );
        }

        let popped: Vec<(ObjectKey, Vec<(Kind, u64)>)> = deltas
            .iter()
            .map(|deltas| {
                let change = |change: &Change<ConfigMap>| {
                    let version = change.version.as_ref().expect("every change here has one");
                    (kind_of(&change.delta), number(version))
                };
                (deltas.key.clone(), deltas.changes.iter().map(change).collect())
            })
            .collect();
        prop_assert_eq!(popped, grouped(&taken));

        let mut arrivals: Vec<(usize, u64)> = deltas
            .iter()
            .flat_map(|deltas| &deltas.changes)
            .map(|change| {
                (
                    change.arrival,
                    number(change.version.as_ref().expect("every change here has one")),
                )
            })
            .collect();
        arrivals.sort_unstable();
        // A merged deletion keeps the position of the first one, so only deletions may appear out of order.
        let merged = taken.iter().any(|sent| {
            matches!(
                sent,
                Sent::Change {
                    kind: Kind::Deleted | Kind::DeletedUnread,
                    ..
                }
            )
        });
        prop_assert!(
            merged || arrivals.is_sorted_by_key(|(_, version)| *version),
            "{:?}",
            arrivals
        );
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn batches_are_the_log_cut_into_prefixes(steps in steps(), capacity in 1..8_usize, batch in 1..6_usize) {
        let mut run = Run::new(QueueOptions::default().capacity(capacity).batch(batch));
        for step in steps {
            run.step(step)?;
        }
        while !run.log.is_empty() {
            run.step(Step::Pop)?;
        }
        drop(run.senders);
        prop_assert!(once(run.receiver.pop()).is_some_and(|end| end.is_none()));
    }
}
