//! When old snapshots are dropped, and by which thread.

use super::*;
use crate::store::{self, Spares};

#[test]
fn a_held_snapshot_is_not_reaped() {
    let (mut writer, indexer) = store::new();
    put(&mut writer, &[("ns/a", &[])]);
    drop(writer.reap());
    let held = indexer.snapshot();
    let first = Arc::downgrade(&indexer.get(&key("ns/a")).unwrap());
    put(&mut writer, &[("ns/a", &[])]);
    assert_eq!(writer.reap().len(), 0);
    drop(held);
    assert!(
        first.upgrade().is_some(),
        "the reader was the last holder but did not free it"
    );
    let retired = writer.reap();
    assert_eq!((retired.len(), writer.retired()), (1, 0));
    assert!(first.upgrade().is_some());
    drop(retired);
    assert!(first.upgrade().is_none());
}

/// The number of changes determines where a snapshot is dropped: the last commit may have been a small one.
#[test]
fn a_retired_snapshot_counts_its_changes() {
    let (mut writer, indexer) = store::new();
    put(&mut writer, &[("ns/a", &[])]);
    drop(writer.reap());
    put(&mut writer, &[("ns/a", &[])]);
    assert_eq!(writer.reap().changes(), 1);
    let held = indexer.snapshot();
    for round in 0..50 {
        put(&mut writer, &[("ns/a", &[]), (&format!("ns/{round}"), &[])]);
        drop(writer.reap());
    }
    drop(held);
    put(&mut writer, &[("ns/a", &[])]);
    let retired = writer.reap();
    assert_eq!((retired.len(), retired.changes()), (2, 101 + 1));
}

#[test]
fn an_index_view_counts_as_a_reader() {
    let (mut writer, indexer) = store::new();
    let index = indexer.add_index("value", values_of).unwrap();
    put(&mut writer, &[("ns/a", &["x"])]);
    drop(writer.reap());
    let view = index.current();
    put(&mut writer, &[("ns/a", &["y"])]);
    assert_eq!(writer.reap().len(), 0);
    drop(view);
    assert_eq!(writer.reap().len(), 1);
}

#[test]
fn unheld_snapshots_do_not_accumulate_without_a_reaper() {
    let (mut writer, indexer) = store::new();
    let mut held = Vec::new();
    for round in 0..200 {
        put(&mut writer, &[("ns/a", &[])]);
        if round % 10 == 0 {
            held.push(indexer.snapshot());
        }
        assert!(
            writer.retired() <= held.len() + 16,
            "{} retired, {} held",
            writer.retired(),
            held.len()
        );
    }
    held.clear();
    assert!(writer.reap().len() >= 19);
    assert_eq!(writer.retired(), 0);
}

#[test]
fn a_dropped_writer_leaves_no_retired_snapshots() {
    let (mut writer, indexer) = store::new();
    put(&mut writer, &[("ns/a", &[])]);
    let first = Arc::downgrade(&indexer.get(&key("ns/a")).unwrap());
    put(&mut writer, &[("ns/a", &[])]);
    drop(writer);
    assert!(first.upgrade().is_none());
}

#[test]
fn a_state_that_no_reader_holds_is_used_for_the_commit_after_the_next() {
    let (mut writer, indexer) = store::new();
    writer.set_spares(Spares::Kept);
    put(&mut writer, &[("ns/a", &["1"]), ("ns/b", &[])]);
    let first = Arc::downgrade(&indexer.get(&key("ns/a")).unwrap());
    put(&mut writer, &[("ns/a", &["2"])]);
    assert!(
        first.upgrade().is_some(),
        "the state before the current one is kept"
    );
    put(&mut writer, &[("ns/a", &["3"])]);
    assert!(
        first.upgrade().is_none(),
        "it was used, and has the changes of both commits"
    );
    assert_eq!((writer.retired(), writer.reap().len()), (0, 0));
    assert_eq!(values_of(&indexer.get(&key("ns/a")).unwrap()), ["3"]);
    assert_eq!(indexer.len(), 2);
}

#[test]
fn a_state_that_a_reader_holds_does_not_change() {
    let (mut writer, indexer) = store::new();
    writer.set_spares(Spares::Kept);
    put(&mut writer, &[("ns/a", &["1"])]);
    let held = indexer.snapshot();
    put(&mut writer, &[("ns/a", &["2"])]);
    put(&mut writer, &[("ns/a", &["3"])]);
    assert_eq!(values_of(&held.get(&key("ns/a")).unwrap()), ["1"]);
    assert_eq!((writer.retired(), writer.reap().len()), (1, 0));
    drop(held);
    assert_eq!(writer.reap().len(), 1);
}

#[test]
fn a_kept_state_is_freed_on_request_and_after_large_commits() {
    let (mut writer, indexer) = store::new();
    writer.set_spares(Spares::Kept);
    put(&mut writer, &[("ns/a", &[])]);
    put(&mut writer, &[("ns/a", &[])]);
    assert_eq!(writer.reap().len(), 0);
    writer.set_spares(Spares::Freed);
    assert_eq!(writer.reap().len(), 1);
    writer.set_spares(Spares::Kept);
    let first = Arc::downgrade(&indexer.get(&key("ns/a")).unwrap());
    let names: Vec<String> = (0..200).map(|number| format!("ns/{number}")).collect();
    let mut many: Vec<(&str, &[&str])> = names.iter().map(|name| (&**name, &[][..])).collect();
    many.push(("ns/a", &[]));
    put(&mut writer, &many);
    assert_eq!(writer.reap().len(), 1, "too many changes to repeat them");
    assert!(first.upgrade().is_none());
}
