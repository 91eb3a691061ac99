//! Readers and new indexes while the writer commits.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use super::*;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::store::indexer::CATCH_UPS;
use crate::store::{self, Snapshot, Spares};

const NAMES: u64 = 70;
const COMMITS: u64 = 40;

fn name(number: u64) -> String {
    format!(
        "{}/{number:03}",
        ["a", "b", "c"][usize::try_from(number % 3).unwrap()]
    )
}

/// One commit: sets every object to the commit's version, and removes one of them.
fn commit_round(writer: &mut IndexerWriter<ConfigMap>, round: u64) {
    let value = format!("round-{round}");
    let mut commit = writer.begin();
    for number in (0..NAMES).filter(|number| *number != round % NAMES) {
        commit.upsert(key(&name(number)), object(&name(number), round, &[&value]));
    }
    commit.remove(&key(&name(round % NAMES)));
    commit.set_version(&Scope::All, ResourceVersion::new(&round.to_string()));
    commit.publish();
}

/// Checks that a snapshot is of one commit, and returns which.
fn round_of(snapshot: &Snapshot<ConfigMap>) -> u64 {
    let Some(version) = snapshot.resource_version() else {
        assert!(snapshot.is_empty());
        return 0;
    };
    let round = version.to_string();
    assert_eq!(snapshot.len() as u64, NAMES - 1);
    snapshot.for_each(|key, object| assert_eq!(version_of(object), round, "{key} is of another commit"));
    round.parse().unwrap()
}

#[test]
fn readers_see_whole_commits_in_order() {
    check_readers(Spares::Freed);
}

#[test]
fn readers_see_whole_commits_in_order_while_states_are_changed_in_place() {
    check_readers(Spares::Kept);
}

fn check_readers(spares: Spares) {
    let (mut writer, indexer) = store::new();
    writer.set_spares(spares);
    let by_value = indexer.add_index("value", values_of).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut last = 0;
                while !done.load(Ordering::SeqCst) {
                    let snapshot = indexer.snapshot();
                    let round = round_of(&snapshot);
                    assert!(round >= last, "{round} after {last}");
                    last = round;
                    let view = snapshot.index(&by_value);
                    let expected = if round == 0 {
                        vec![]
                    } else {
                        vec![format!("round-{round}")]
                    };
                    assert_eq!(view.values(), expected);
                    assert!(view.len(&format!("round-{round}")) == snapshot.len());
                }
            });
        }
        for round in 1..=COMMITS {
            commit_round(&mut writer, round);
            drop(writer.reap());
        }
        done.store(true, Ordering::SeqCst);
    });
    assert_eq!(round_of(&indexer.snapshot()), COMMITS);
}

#[test]
fn indexes_added_while_the_writer_commits_are_complete() {
    let (mut writer, indexer) = store::new();
    writer.set_spares(Spares::Kept);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let adder = scope.spawn(|| {
            let mut indexes = Vec::new();
            while !done.load(Ordering::SeqCst) && indexes.len() < 5 {
                let index = indexer.add_index(&indexes.len().to_string(), values_of).unwrap();
                let snapshot = indexer.snapshot();
                let round = round_of(&snapshot);
                assert_eq!(
                    snapshot.index(&index).len(&format!("round-{round}")),
                    snapshot.len()
                );
                indexes.push(index);
            }
            indexes
        });
        for round in 1..=COMMITS {
            commit_round(&mut writer, round);
        }
        done.store(true, Ordering::SeqCst);
        let indexes = adder.join().unwrap();
        assert!(!indexes.is_empty());
        for index in indexes {
            assert_eq!(index.values(), [format!("round-{COMMITS}")]);
            assert_eq!(index.len(&format!("round-{COMMITS}")), indexer.len());
        }
    });
}

/// Every call of the function runs another commit, so the index never catches up without the lock, and must
/// make the writer wait for the last commit.
#[test]
fn an_index_catches_up_with_a_writer_that_never_pauses() {
    let (mut writer, indexer) = store::new();
    put(&mut writer, &[("ns/a", &["round-0"])]);
    let unlocked = 1 + 2 * CATCH_UPS;
    let calls = AtomicUsize::new(0);
    let writer = Mutex::new(writer);
    let locked = Arc::new(AtomicUsize::new(0));
    let (shared, locked_calls) = (indexer.shared.clone(), locked.clone());
    let busy = move |object: &ConfigMap| {
        locked_calls.fetch_add(usize::from(shared.is_publishing()), Ordering::SeqCst);
        let call = calls.fetch_add(1, Ordering::SeqCst) + 1;
        if call <= unlocked {
            put(
                &mut writer.lock().unwrap(),
                &[("ns/a", &[&format!("round-{call}")])],
            );
        }
        values_of(object)
    };
    let index = indexer.add_index("busy", busy).unwrap();
    assert_eq!(index.values(), [format!("round-{unlocked}")]);
    assert_eq!(
        locked.load(Ordering::SeqCst),
        2,
        "the last two states, while the writer waits"
    );
}

#[test]
fn concurrent_adds_of_one_name_create_one_index() {
    let (_writer, indexer) = store::new::<ConfigMap>();
    let winners: usize = thread::scope(|scope| {
        let add = || usize::from(indexer.add_index("value", values_of).is_ok());
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(add)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(winners, 1);
    assert_eq!(indexer.index_status().len(), 1);
}
