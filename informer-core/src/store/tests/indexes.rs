//! Secondary indexes: exact after every change, and isolated from functions that fail.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;
use crate::store::{self, Index, IndexDefinition, IndexError};

static BY_VALUE: IndexDefinition<ConfigMap, String> = IndexDefinition::new("value", values_of);

/// Compares all values with the keys of their objects, written `value: key key`.
fn check(index: &Index<ConfigMap, String>, expected: &[&str]) {
    let line = |value: String| {
        let keys: Vec<String> = index.keys(&value).iter().map(ToString::to_string).collect();
        assert_eq!(index.len(&value), keys.len());
        format!("{value}: {}", keys.join(" "))
    };
    let lines: Vec<String> = index.values().into_iter().map(line).collect();
    assert_eq!(lines, expected);
}

/// Upstream: TestMultiIndexKeys, TestThreadSafeStoreIndexingFunctionsWithMultipleValues.
#[test]
fn an_object_is_under_each_of_its_values_and_moves_with_them() {
    let (mut writer, indexer) = store::new();
    let index = indexer.index(&BY_VALUE).unwrap();
    put(
        &mut writer,
        &[("ns/c", &["x", "y"]), ("ns/a", &["y"]), ("ns/b", &[])],
    );
    check(&index, &["x: ns/c", "y: ns/a ns/c"]);
    put(&mut writer, &[("ns/c", &["y", "z"])]);
    check(&index, &["y: ns/a ns/c", "z: ns/c"]);
    put(&mut writer, &[("ns/a", &["x"]), ("ns/b", &["x", "y", "z"])]);
    check(&index, &["x: ns/a ns/b", "y: ns/b ns/c", "z: ns/b ns/c"]);
    take(&mut writer, "ns/b");
    check(&index, &["x: ns/a", "y: ns/c", "z: ns/c"]);
    assert!(index.get("unknown").is_empty());
}

/// Upstream: TestGetIndexFuncValues.
#[test]
fn values_are_distinct_and_in_order() {
    let (mut writer, indexer) = store::new();
    let index = indexer
        .add_index("twice", |_: &ConfigMap| ["b", "a", "b"])
        .unwrap();
    put(&mut writer, &[("ns/a", &[]), ("ns/b", &[])]);
    assert_eq!(index.values(), ["a", "b"]);
    assert_eq!(index.len(&"b"), 2);
}

/// Upstream: TestThreadSafeStoreDeleteRemovesEmptySetsFromIndex.
#[test]
fn a_value_without_objects_is_removed() {
    let (mut writer, indexer) = store::new();
    let index = indexer.index(&BY_VALUE).unwrap();
    put(&mut writer, &[("ns/a", &["x"])]);
    take(&mut writer, "ns/a");
    assert!(index.is_empty());
    assert_eq!(indexer.index_status()[0].values, 0);
}

/// Upstream: TestThreadSafeStoreAddKeepsNonEmptySetPostDeleteFromIndex.
#[test]
fn a_value_with_an_object_left_stays() {
    let (mut writer, indexer) = store::new();
    let index = indexer.index(&BY_VALUE).unwrap();
    put(&mut writer, &[("ns/a", &["x"]), ("ns/b", &["x"])]);
    take(&mut writer, "ns/a");
    check(&index, &["x: ns/b"]);
}

/// Upstream: TestIndex.
#[test]
fn an_index_holds_the_newest_objects_themselves() {
    let (mut writer, indexer) = store::new();
    let index = indexer.index(&BY_VALUE).unwrap();
    put(&mut writer, &[("ns/a", &["x"])]);
    let mut commit = writer.begin();
    commit.upsert(key("ns/a"), object("ns/a", 2, &["x"]));
    commit.publish();
    let (found, stored) = (index.get("x"), indexer.get(&key("ns/a")).unwrap());
    assert!(Arc::ptr_eq(&found[0], &stored));
}

#[test]
fn an_index_added_late_is_complete_at_once() {
    let (mut writer, indexer) = store::new();
    put(&mut writer, &[("ns/a", &["x"]), ("ns/b", &["x", "y"])]);
    let mut commit = writer.begin();
    commit.upsert(key("ns/c"), object("ns/c", 1, &["y"]));
    commit.remove(&key("ns/a"));
    let index = indexer.index(&BY_VALUE).unwrap();
    check(&index, &["x: ns/a ns/b", "y: ns/b"]);
    commit.publish();
    check(&index, &["x: ns/b", "y: ns/b ns/c"]);
}

#[test]
fn an_index_can_be_read_at_an_older_snapshot() {
    let (mut writer, indexer) = store::new();
    put(&mut writer, &[("ns/a", &["x"])]);
    let before = indexer.snapshot();
    let index = indexer.index(&BY_VALUE).unwrap();
    put(&mut writer, &[("ns/b", &["x"])]);
    let held = index.current();
    take(&mut writer, "ns/a");
    assert_eq!(before.index(&index).keys("x"), [key("ns/a")]);
    assert_eq!(held.keys("x"), [key("ns/a"), key("ns/b")]);
    assert_eq!(held.iter("x").count(), 2);
    assert_eq!(indexer.snapshot().index(&index).clone().keys("x"), [key("ns/b")]);
}

#[test]
fn a_name_is_taken_once_and_a_definition_is_shared() {
    static OTHER_TYPE: IndexDefinition<ConfigMap, usize> = IndexDefinition::new("value", |_| vec![1]);
    let (mut writer, indexer) = store::new();
    let first = indexer.index(&BY_VALUE).unwrap();
    let second = indexer.index(&BY_VALUE).unwrap();
    put(&mut writer, &[("ns/a", &["x"])]);
    assert_eq!(first.keys("x"), second.keys("x"));
    assert_eq!(indexer.index_status().len(), 1);
    let taken = IndexError::NameTaken("value".to_owned());
    assert_eq!(indexer.index(&OTHER_TYPE).unwrap_err(), taken);
    assert_eq!(indexer.add_index("value", values_of).unwrap_err(), taken);
    assert!(indexer.add_index("closure", values_of).is_ok());
    static CLOSURE: IndexDefinition<ConfigMap, String> = IndexDefinition::new("closure", values_of);
    assert_eq!(
        indexer.index(&CLOSURE).unwrap_err(),
        IndexError::NameTaken("closure".to_owned())
    );
}

/// A regression: of two definitions with one name and type, the second returned the index of the first.
#[test]
fn another_definition_of_the_same_name_is_refused() {
    // The same function on purpose: definitions are distinguished by their location, not by their function.
    static SAME_NAME: IndexDefinition<ConfigMap, String> = IndexDefinition::new("value", values_of);
    let (_writer, indexer) = store::new();
    indexer.index(&BY_VALUE).unwrap();
    let taken = IndexError::NameTaken("value".to_owned());
    assert_eq!(indexer.index(&SAME_NAME).unwrap_err(), taken);
    assert_eq!(
        indexer.index(&SAME_NAME).unwrap_err(),
        taken,
        "also the second time"
    );
}

#[test]
fn copies_of_one_definition_are_one_definition() {
    const BY_CONST: IndexDefinition<ConfigMap, String> = IndexDefinition::new("const", values_of);
    fn made() -> IndexDefinition<ConfigMap, String> {
        IndexDefinition::new("made", values_of)
    }
    let (_writer, indexer) = store::new();
    let copy = BY_VALUE;
    for definition in [&BY_VALUE, &copy, &BY_CONST, &{ BY_CONST }, &made(), &made()] {
        indexer.index(definition).unwrap();
    }
    assert_eq!(indexer.index_status().len(), 3);
}

/// A regression: the function ran for the old state too, at every update.
#[test]
fn a_function_runs_once_for_an_update_that_keeps_the_values() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let (mut writer, indexer) = store::new();
    let counted = |object: &ConfigMap| {
        CALLS.fetch_add(1, Ordering::SeqCst);
        values_of(object)
    };
    let index = indexer.add_index("counted", counted).unwrap();
    let mut check_calls = |objects: &[(&str, &[&str])], calls: usize, expected: &[&str]| {
        let before = CALLS.load(Ordering::SeqCst);
        put(&mut writer, objects);
        assert_eq!(CALLS.load(Ordering::SeqCst) - before, calls, "{objects:?}");
        check(&index, expected);
    };
    check_calls(
        &[("ns/a", &["x"]), ("ns/b", &["x", "y"])],
        2,
        &["x: ns/a ns/b", "y: ns/b"],
    );
    check_calls(
        &[("ns/a", &["x"]), ("ns/b", &["x", "y"])],
        2,
        &["x: ns/a ns/b", "y: ns/b"],
    );
    check_calls(&[("ns/a", &["x", "y"])], 2, &["x: ns/a ns/b", "y: ns/a ns/b"]);
    check_calls(&[("ns/a", &["x", "y"])], 1, &["x: ns/a ns/b", "y: ns/a ns/b"]);
    // Fewer values, all of which it had: the removed one is known only from the old state.
    check_calls(&[("ns/b", &["y"])], 2, &["x: ns/a", "y: ns/a ns/b"]);
    check_calls(&[("ns/b", &["y"])], 1, &["x: ns/a", "y: ns/a ns/b"]);
    check_calls(&[("ns/b", &[])], 2, &["x: ns/a", "y: ns/a"]);
}

#[test]
fn a_label_index_is_found_by_its_label() {
    let (mut writer, indexer) = store::new();
    assert!(indexer.label_index("app").is_none());
    put(&mut writer, &[("ns/a", &["front"]), ("ns/b", &[])]);
    let added = indexer.add_label_index("app").unwrap();
    assert!(indexer.add_label_index("app").is_ok());
    assert!(
        indexer.add_index("app", values_of).is_ok(),
        "label indexes have their own names"
    );
    put(&mut writer, &[("ns/c", &["front"])]);
    check(&added, &["front: ns/a ns/c"]);
    check(&indexer.label_index("app").unwrap(), &["front: ns/a ns/c"]);
    assert_eq!(indexer.index_status()[0].name, "label app");
}

/// A function that panics for objects with the value `bad`.
fn touchy(object: &ConfigMap) -> Vec<String> {
    let values = values_of(object);
    assert!(!values.contains(&"bad".to_owned()), "this is bad");
    values
}

#[test]
fn a_panic_affects_only_its_object_in_its_index() {
    let (mut writer, indexer) = store::new();
    put(&mut writer, &[("ns/old", &["bad", "x"])]);
    let good = indexer.index(&BY_VALUE).unwrap();
    let hurt = indexer.add_index("touchy", touchy).unwrap();
    put(
        &mut writer,
        &[("ns/a", &["x"]), ("ns/b", &["bad", "x"]), ("ns/c", &["x"])],
    );
    check(&hurt, &["x: ns/a ns/c"]);
    check(&good, &["bad: ns/b ns/old", "x: ns/a ns/b ns/c ns/old"]);
    assert_eq!(indexer.len(), 4);
    let status = &indexer.index_status()[1];
    assert_eq!((status.failures, status.failing), (2, 2));
    assert_eq!(status.last_key, Some(key("ns/b")));
    assert_eq!(status.last_message.as_deref(), Some("panicked: this is bad"));

    put(&mut writer, &[("ns/b", &["y"]), ("ns/a", &["bad"])]);
    take(&mut writer, "ns/old");
    check(&hurt, &["x: ns/c", "y: ns/b"]);
    assert_eq!(indexer.index_status()[1].failing, 1);
    assert_eq!(indexer.index_status()[0].failures, 0);
}

#[test]
fn a_failing_function_is_reported_with_its_message() {
    let (mut writer, indexer) = store::new();
    let even = |object: &ConfigMap| match values_of(object).len() {
        count if count % 2 == 0 => Ok([count]),
        count => Err(format!("{count} is odd")),
    };
    let index = indexer.try_add_index("even", even).unwrap();
    put(&mut writer, &[("ns/a", &["x"]), ("ns/b", &["x", "y"])]);
    assert_eq!(index.keys(&2), [key("ns/b")]);
    assert_eq!(
        indexer.index_status()[0].last_message.as_deref(),
        Some("1 is odd")
    );
}

#[test]
fn an_intermittent_failure_leaves_no_stale_entry() {
    static BROKEN: AtomicBool = AtomicBool::new(false);
    let (mut writer, indexer) = store::new();
    let moody = |object: &ConfigMap| {
        assert!(!BROKEN.load(Ordering::SeqCst), "broken now");
        values_of(object)
    };
    let index = indexer.add_index("moody", moody).unwrap();
    put(&mut writer, &[("ns/a", &["x", "y"]), ("ns/b", &["y"])]);
    BROKEN.store(true, Ordering::SeqCst);
    take(&mut writer, "ns/a");
    check(&index, &["y: ns/b"]);
    put(&mut writer, &[("ns/b", &["y"])]);
    BROKEN.store(false, Ordering::SeqCst);
    check(&index, &[]);
    put(&mut writer, &[("ns/b", &["z"])]);
    check(&index, &["z: ns/b"]);
}

#[test]
fn a_function_may_read_its_indexer_but_not_add_an_index() {
    let (mut writer, indexer) = store::new();
    let (reader, adder) = (indexer.clone(), indexer.clone());
    let seen = move |_: &ConfigMap| [reader.len(), reader.snapshot().len()];
    let index = indexer.add_index("seen", seen).unwrap();
    let nested = move |_: &ConfigMap| adder.add_index("inner", values_of).map(|_| [0usize; 0]);
    indexer.try_add_index("nested", nested).unwrap();
    put(&mut writer, &[("ns/a", &[])]);
    assert_eq!(index.keys(&0), [key("ns/a")]);
    let message = indexer.index_status()[1].last_message.clone().unwrap();
    assert_eq!(message, IndexError::Nested("inner".to_owned()).to_string());
}

/// Commits that run no user code stay on the async worker.
#[test]
fn only_functions_of_users_are_user_code() {
    let (writer, indexer) = store::new::<ConfigMap>();
    assert!(!writer.runs_user_code());
    indexer.add_label_index("app").unwrap();
    assert!(!writer.runs_user_code());
    indexer.index(&BY_VALUE).unwrap();
    assert!(writer.runs_user_code());
    let (writer, indexer) = store::new::<ConfigMap>();
    indexer.add_index("value", values_of).unwrap();
    assert!(writer.runs_user_code());
}
