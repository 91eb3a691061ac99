//! Who drops old snapshots, and when.

use super::*;
use crate::store;

#[test]
fn a_snapshot_that_is_read_is_not_reaped_until_its_reader_is_done() {
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
        "the reader was last and did not pay for it"
    );
    let retired = writer.reap();
    assert_eq!((retired.len(), writer.retired()), (1, 0));
    assert!(first.upgrade().is_some());
    drop(retired);
    assert!(first.upgrade().is_none());
}

/// What decides where it is dropped: the last commit may have been a small one.
#[test]
fn a_retired_snapshot_says_by_how_many_changes_it_differs() {
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
fn a_view_of_an_index_counts_as_a_reader() {
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
fn without_a_reaper_what_nobody_reads_does_not_pile_up() {
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
fn a_writer_that_goes_leaves_nothing_behind() {
    let (mut writer, indexer) = store::new();
    put(&mut writer, &[("ns/a", &[])]);
    let first = Arc::downgrade(&indexer.get(&key("ns/a")).unwrap());
    put(&mut writer, &[("ns/a", &[])]);
    drop(writer);
    assert!(first.upgrade().is_none());
}
