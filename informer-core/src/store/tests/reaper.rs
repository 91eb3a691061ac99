//! When old snapshots are dropped, and by which thread.

use super::*;
use crate::store;

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
