//! The rules by which events are folded, and random histories against a handler that checks every event.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use proptest::prelude::*;

use super::*;
use crate::handler::{Deleted, Event};

fn state(name: &str, version: u64) -> Arc<ConfigMap> {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.metadata.resource_version = Some(version.to_string());
    Arc::new(object)
}

fn added(version: u64) -> Event<ConfigMap> {
    Event::added(state("a", version), Origin::Live)
}

fn updated(old: u64, new: u64) -> Event<ConfigMap> {
    Event::updated(state("a", old), state("a", new), UpdateCause::Change)
}

fn resynced(version: u64) -> Event<ConfigMap> {
    let object = state("a", version);
    Event::updated(object.clone(), object, UpdateCause::Resync)
}

fn deleted(version: u64) -> Event<ConfigMap> {
    Event::Deleted(Deleted::Observed(state("a", version)))
}

fn missed(version: u64) -> Event<ConfigMap> {
    Event::missed(ObjectKey::cluster("a"), state("a", version))
}

fn text(item: Item<ConfigMap>) -> String {
    match item {
        Item::Event(event) => format!("{:?}", event.into_event().expect("nothing is packed")),
        Item::InitialEnd => "InitialEnd".to_owned(),
    }
}

fn drain(buffer: &mut Buffer<ConfigMap>) -> Vec<String> {
    std::iter::from_fn(|| buffer.pop()).map(text).collect()
}

/// A buffer whose exact part is full, so that everything pushed from now on is folded.
fn full(overflow: Overflow) -> Buffer<ConfigMap> {
    let mut buffer = Buffer::new(1, overflow);
    assert_eq!(
        buffer.push(Event::added(state("filler", 1), Origin::Live).into()),
        Pushed::Kept
    );
    buffer
}

#[track_caller]
fn check_folded(events: impl IntoIterator<Item = Event<ConfigMap>>, expected: &[&str]) {
    let mut buffer = full(Overflow::Coalesce);
    for event in events {
        assert_eq!(buffer.push(event.into()), Pushed::Kept);
    }
    assert!(buffer.pop().is_some(), "the filler comes first");
    assert_eq!(drain(&mut buffer), expected);
    assert!(buffer.is_empty() && buffer.positions.is_empty());
}

#[test]
fn later_changes_fold_into_a_waiting_addition() {
    check_folded([added(1)], &["Added(a@1, Live)"]);
    check_folded([added(1), updated(1, 2)], &["Added(a@2, Live)"]);
    check_folded(
        [added(1), updated(1, 2), resynced(2), updated(2, 3)],
        &["Added(a@3, Live)"],
    );
    check_folded([added(1), deleted(2)], &[]);
    check_folded([added(1), deleted(2), added(3)], &["Added(a@3, Live)"]);
}

#[test]
fn a_folded_update_keeps_the_old_state_the_handler_knows() {
    check_folded([updated(1, 2), updated(2, 3)], &["Updated(a@1 -> a@3, Change)"]);
    check_folded([updated(1, 2), resynced(2)], &["Updated(a@1 -> a@2, Change)"]);
    check_folded([updated(1, 2), deleted(3)], &["Deleted(Observed(a@3))"]);
    check_folded(
        [updated(1, 2), missed(2)],
        &["Deleted(Missed(a, last known a@2))"],
    );
}

#[test]
fn a_resync_is_delivered_once_and_folds_into_a_change() {
    check_folded([resynced(1), resynced(1)], &["Updated(a@1 -> a@1, Resync)"]);
    check_folded([resynced(1), updated(1, 2)], &["Updated(a@1 -> a@2, Change)"]);
    check_folded([resynced(1), deleted(2)], &["Deleted(Observed(a@2))"]);
}

#[test]
fn a_deletion_is_delivered_before_the_recreated_object() {
    let deletion = "Deleted(Observed(a@2))";
    check_folded([deleted(2)], &[deletion]);
    check_folded([deleted(2), added(3)], &[deletion, "Added(a@3, Live)"]);
    check_folded(
        [deleted(2), added(3), updated(3, 4)],
        &[deletion, "Added(a@4, Live)"],
    );
    check_folded(
        [deleted(2), added(3), resynced(3)],
        &[deletion, "Added(a@3, Live)"],
    );
    check_folded([deleted(2), added(3), deleted(4)], &[deletion]);
    check_folded(
        [deleted(2), added(3), deleted(4), added(5)],
        &[deletion, "Added(a@5, Live)"],
    );
}

#[test]
fn changes_after_half_of_a_replacement_fold_into_the_rest() {
    let mut buffer = full(Overflow::Coalesce);
    buffer.push(deleted(2).into());
    buffer.push(added(3).into());
    buffer.pop();
    assert_eq!(buffer.pop().map(text).as_deref(), Some("Deleted(Observed(a@2))"));
    buffer.push(deleted(4).into());
    assert_eq!(drain(&mut buffer), [""; 0]);
}

#[test]
fn an_initial_addition_stays_initial_when_folded() {
    let initial = Event::added(state("a", 1), Origin::Initial);
    check_folded([initial, updated(1, 2)], &["Added(a@2, Initial)"]);
}

#[test]
fn the_initial_end_mark_keeps_its_position() {
    let mut buffer = full(Overflow::Coalesce);
    buffer.push(Event::added(state("a", 1), Origin::Initial).into());
    buffer.push_initial_end();
    buffer.push(Event::added(state("b", 2), Origin::Live).into());
    buffer.push(updated(1, 3).into());
    buffer.pop();
    assert_eq!(
        drain(&mut buffer),
        ["Added(a@3, Initial)", "InitialEnd", "Added(b@2, Live)"]
    );
}

#[test]
fn the_initial_end_mark_does_not_count_towards_the_limit() {
    let mut buffer = Buffer::new(1, Overflow::Disconnect);
    buffer.push_initial_end();
    assert_eq!(buffer.len(), 0);
    assert!(!buffer.is_empty(), "a mark can be taken");
    assert_eq!(buffer.push(added(1).into()), Pushed::Kept);
    assert_eq!(buffer.push(updated(1, 2).into()), Pushed::Overflowed);
    assert_eq!(drain(&mut buffer), ["InitialEnd", "Added(a@1, Live)"]);
    assert_eq!(buffer.push(updated(1, 2).into()), Pushed::Kept);
}

#[test]
fn events_of_objects_without_a_name_are_not_folded() {
    let nameless = || Event::added(Arc::new(ConfigMap::default()), Origin::Live);
    check_folded([nameless(), nameless()], &["Added((no name), Live)"; 2]);
}

#[test]
fn a_buffer_that_has_caught_up_is_exact_again() {
    let mut buffer = full(Overflow::Coalesce);
    assert_eq!(buffer.mode(), BufferMode::Exact);
    buffer.push(added(1).into());
    assert_eq!((buffer.mode(), buffer.len()), (BufferMode::Folding, 2));
    buffer.pop();
    // Room in the exact part does not matter while older events are folded: the order would be lost.
    buffer.push(updated(1, 2).into());
    assert_eq!((buffer.mode(), buffer.len()), (BufferMode::Folding, 1));
    buffer.pop();
    assert_eq!((buffer.mode(), buffer.len()), (BufferMode::Exact, 0));
    buffer.push(updated(2, 3).into());
    assert_eq!((buffer.mode(), buffer.len()), (BufferMode::Exact, 1));
}

#[test]
fn grow_keeps_every_event() {
    let mut buffer = full(Overflow::Grow);
    for version in 1..100 {
        assert_eq!(buffer.push(updated(version, version + 1).into()), Pushed::Kept);
    }
    assert_eq!((buffer.len(), buffer.mode()), (100, BufferMode::Exact));
    let delivered = drain(&mut buffer);
    assert_eq!(delivered[1], "Updated(a@1 -> a@2, Change)");
    assert_eq!(delivered[99], "Updated(a@99 -> a@100, Change)");
}

#[test]
fn disconnect_refuses_events_past_the_limit() {
    let mut buffer = full(Overflow::Disconnect);
    assert_eq!(buffer.push(added(1).into()), Pushed::Overflowed);
    buffer.pop();
    assert_eq!(buffer.push(added(1).into()), Pushed::Kept);
}

#[test]
fn take_all_empties_the_buffer() {
    let mut buffer = full(Overflow::Coalesce);
    buffer.push(added(1).into());
    drop(buffer.take_all());
    assert!(buffer.is_empty());
    buffer.push(added(2).into());
    assert_eq!(drain(&mut buffer), ["Added(a@2, Live)"]);
}

/// One step of a random run.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A change of the object with this number; which one depends on whether it exists.
    Change(usize, Fate),
    InitialEnd,
    Pop,
}

#[derive(Clone, Copy, Debug)]
enum Fate {
    Upsert,
    Resync,
    Delete,
    /// Deleted and created again before the handler took an event.
    Recreate,
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let fate = prop_oneof![
        4 => Just(Fate::Upsert),
        1 => Just(Fate::Resync),
        2 => Just(Fate::Delete),
        1 => Just(Fate::Recreate),
    ];
    let step = prop_oneof![
        8 => (0..NAMES.len(), fate).prop_map(|(object, fate)| Step::Change(object, fate)),
        1 => Just(Step::InitialEnd),
        5 => Just(Step::Pop),
    ];
    proptest::collection::vec(step, 0..120)
}

/// The true state, which produces only valid events.
#[derive(Default)]
struct TrueState {
    objects: HashMap<&'static str, Arc<ConfigMap>>,
    version: u64,
    initial_ended: bool,
}

impl TrueState {
    fn events(&mut self, name: &'static str, fate: Fate) -> Vec<Event<ConfigMap>> {
        let mut create = |objects: &mut HashMap<_, _>| {
            self.version += 1;
            let object = state(name, self.version);
            objects.insert(name, object.clone());
            object
        };
        let origin = if self.initial_ended {
            Origin::Live
        } else {
            Origin::Initial
        };
        match (self.objects.get(name).cloned(), fate) {
            (None, Fate::Upsert | Fate::Recreate) => {
                vec![Event::added(create(&mut self.objects), origin)]
            }
            (None, Fate::Resync | Fate::Delete) => Vec::new(),
            (Some(old), Fate::Upsert) => {
                vec![Event::updated(
                    old,
                    create(&mut self.objects),
                    UpdateCause::Change,
                )]
            }
            (Some(old), Fate::Resync) => vec![Event::updated(old.clone(), old, UpdateCause::Resync)],
            (Some(old), Fate::Delete) => {
                self.objects.remove(name);
                vec![Event::missed(ObjectKey::cluster(name), old)]
            }
            (Some(old), Fate::Recreate) => {
                let new = create(&mut self.objects);
                vec![Event::Deleted(Deleted::Observed(old)), Event::added(new, origin)]
            }
        }
    }
}

/// A handler that checks each event against those it has received before.
#[derive(Default)]
struct CheckingHandler {
    known: HashMap<ObjectKey, Arc<ConfigMap>>,
    received: usize,
    initial_ends: usize,
}

impl CheckingHandler {
    fn receive(&mut self, item: Item<ConfigMap>) {
        let event = match item {
            Item::InitialEnd => {
                self.initial_ends += 1;
                return;
            }
            Item::Event(event) => event.into_event().expect("nothing is packed"),
        };
        self.received += 1;
        let key = event.key().expect("every object here has a name");
        let shown = format!("{event:?}");
        match event {
            Event::Added { object, origin } => {
                assert!(self.known.insert(key, object).is_none(), "added twice: {shown}");
                assert!(
                    origin == Origin::Live || self.initial_ends == 0,
                    "initial after the end of the initial state: {shown}"
                );
            }
            Event::Updated { old, new, cause } => {
                let known = self.known.insert(key, new.clone());
                let known = known.unwrap_or_else(|| panic!("updated before it was added: {shown}"));
                assert!(
                    Arc::ptr_eq(&known, &old),
                    "old is not the state received last: {shown}"
                );
                assert_eq!(cause == UpdateCause::Resync, Arc::ptr_eq(&old, &new), "{shown}");
            }
            Event::Deleted(_) => {
                assert!(
                    self.known.remove(&key).is_some(),
                    "deleted before it was added: {shown}"
                );
            }
        }
    }
}

fn run(steps: &[Step], limit: usize, overflow: Overflow) -> Result<(), TestCaseError> {
    let mut truth = TrueState::default();
    let mut handler = CheckingHandler::default();
    let mut buffer = Buffer::new(limit, overflow);
    let mut pushed = 0;
    for step in steps {
        match *step {
            Step::Change(object, fate) => {
                for event in truth.events(NAMES[object], fate) {
                    prop_assert_eq!(buffer.push(event.into()), Pushed::Kept);
                    pushed += 1;
                }
            }
            Step::InitialEnd if !truth.initial_ended => {
                truth.initial_ended = true;
                buffer.push_initial_end();
            }
            Step::InitialEnd => {}
            Step::Pop => {
                if let Some(item) = buffer.pop() {
                    handler.receive(item);
                }
            }
        }
        if overflow == Overflow::Coalesce {
            // One more for the mark of the initial state, which is never refused.
            prop_assert!(
                buffer.len() <= limit + NAMES.len() + 1,
                "{} events wait",
                buffer.len()
            );
        }
    }
    while let Some(item) = buffer.pop() {
        handler.receive(item);
    }
    prop_assert!(buffer.is_empty());
    prop_assert_eq!(handler.initial_ends, usize::from(truth.initial_ended));
    prop_assert_eq!(handler.known.len(), truth.objects.len());
    for (name, object) in &truth.objects {
        let known = handler.known.get(&ObjectKey::cluster(*name));
        prop_assert!(
            known.is_some_and(|known| Arc::ptr_eq(known, object)),
            "{} is not current",
            name
        );
    }
    if overflow == Overflow::Grow {
        prop_assert_eq!(handler.received, pushed, "every event is delivered");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn a_folded_history_ends_in_the_true_state(steps in steps(), limit in 1..6_usize) {
        run(&steps, limit, Overflow::Coalesce)?;
    }

    #[test]
    fn a_growing_buffer_delivers_every_event(steps in steps(), limit in 1..6_usize) {
        run(&steps, limit, Overflow::Grow)?;
    }
}

#[test]
fn a_whole_state_delivered_at_once_disconnects_no_handler() {
    let mut buffer = Buffer::new(2, Overflow::Disconnect);
    for version in 0..5 {
        let initial = Event::added(state("a", version), Origin::Initial);
        assert_eq!(buffer.push(initial.into()), Pushed::Kept);
        assert_eq!(buffer.push(resynced(version).into()), Pushed::Kept);
    }
    assert_eq!(buffer.push(updated(5, 6).into()), Pushed::Kept);
    assert_eq!(buffer.push(updated(6, 7).into()), Pushed::Kept);
    assert_eq!(
        buffer.push(updated(7, 8).into()),
        Pushed::Overflowed,
        "two changes are the limit"
    );
}

/// Found by the simulation: a stream that was never read kept every resync, without bound.
#[test]
fn unread_resyncs_do_not_accumulate() {
    let mut buffer = Buffer::new(2, Overflow::Disconnect);
    for _ in 0..10 {
        assert_eq!(buffer.push(resynced(1).into()), Pushed::Kept);
    }
    assert_eq!(drain(&mut buffer), ["Updated(a@1 -> a@1, Resync)"]);
    assert_eq!(buffer.push(resynced(1).into()), Pushed::Kept);
    assert_eq!(buffer.len(), 1, "the next one is delivered again");
}

/// Only the resync itself ends its wait, not another event of the same object before it.
#[test]
fn a_change_before_a_waiting_resync_does_not_admit_a_second_resync() {
    let mut buffer = Buffer::new(2, Overflow::Disconnect);
    assert_eq!(buffer.push(updated(1, 2).into()), Pushed::Kept);
    assert_eq!(buffer.push(resynced(2).into()), Pushed::Kept);
    assert_eq!(
        buffer.pop().map(text).as_deref(),
        Some("Updated(a@1 -> a@2, Change)")
    );
    assert_eq!(buffer.push(resynced(2).into()), Pushed::Kept);
    assert_eq!(drain(&mut buffer), ["Updated(a@2 -> a@2, Resync)"]);
}
