//! Reads by selector: how many objects they examine.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::key;
use crate::selector::Selector;
use crate::store::{self, Indexer, IndexerWriter, give_way};

/// A kind that counts how often its metadata is read, which is the cost of a selector.
struct Counted(ObjectMeta);

thread_local! {
    static READS: Cell<usize> = const { Cell::new(0) };
}

impl kube::Resource for Counted {
    type DynamicType = ();
    type Scope = kube::core::NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "Counted".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        "example.com".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "counted".into()
    }

    fn meta(&self) -> &ObjectMeta {
        READS.set(READS.get() + 1);
        &self.0
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.0
    }
}

/// Twenty objects in each of two namespaces: half of them are `app=web`, a tenth are `node=n1`, all are
/// `zone=z`.
fn filled() -> (IndexerWriter<Counted>, Indexer<Counted>) {
    let (mut writer, indexer) = store::new();
    let mut commit = writer.begin();
    for namespace in ["a", "b"] {
        for number in 0..20 {
            let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
            let labels = [
                label("app", if number % 2 == 0 { "web" } else { "db" }),
                label("node", &format!("n{}", number % 10)),
                label("zone", "z"),
            ];
            let meta = ObjectMeta {
                labels: Some(labels.into()),
                ..ObjectMeta::default()
            };
            commit.upsert(key(&format!("{namespace}/{number:02}")), Arc::new(Counted(meta)));
        }
    }
    commit.publish();
    (writer, indexer)
}

/// The objects a read found, and the number of objects whose labels it read.
fn cost(read: impl FnOnce() -> usize) -> (usize, usize) {
    READS.set(0);
    let found = read();
    (found, READS.get())
}

/// The objects a read found, and the number of objects for which its thread will give way.
fn counted(read: impl FnOnce(&mut usize)) -> (usize, usize) {
    let before = give_way::counted();
    let mut found = 0;
    read(&mut found);
    (found, give_way::counted() - before)
}

#[test]
fn a_selector_examines_only_the_smallest_candidate_set() {
    let (_writer, indexer) = filled();
    let check = |text: &str, everywhere: (usize, usize), in_one: (usize, usize)| {
        let selector: Selector = text.parse().unwrap();
        assert_eq!(cost(|| indexer.select(&selector).len()), everywhere, "{text}");
        let of_one = cost(|| indexer.select_namespace("a", &selector).len());
        assert_eq!(of_one, in_one, "{text} in one namespace");
        let counts = [
            counted(|found| *found = indexer.select(&selector).len()),
            counted(|found| indexer.for_each(&selector, |_| *found += 1)),
            counted(|found| *found = indexer.select_namespace("a", &selector).len()),
            counted(|found| indexer.for_each_in_namespace("a", &selector, |_| *found += 1)),
        ];
        assert_eq!(counts, [everywhere, everywhere, in_one, in_one], "{text} counts");
    };
    check("app=web,node=n2", (4, 40), (2, 20));
    indexer.add_label_index("app").unwrap();
    check("app=web,node=n2", (4, 20), (2, 10));
    indexer.add_label_index("node").unwrap();
    check("app=web,node=n2", (4, 4), (2, 2));
    check("node in (n1,n2),app=web", (4, 8), (2, 4));
    check("node=n99,app=web", (0, 0), (0, 0));
    check("node!=n2,app=web", (16, 20), (8, 10));
    check("node!=n2", (36, 40), (18, 20));
    check("zone=z", (40, 40), (20, 20));
}

#[test]
fn selecting_everything_or_nothing_reads_no_labels() {
    let (_writer, indexer) = filled();
    let (everything, nothing) = (Selector::everything(), Selector::nothing());
    assert_eq!(cost(|| indexer.select(&everything).len()), (40, 0));
    assert_eq!(cost(|| indexer.select_namespace("b", &everything).len()), (20, 0));
    assert_eq!(cost(|| indexer.snapshot().select(&everything).count()), (40, 0));
    assert_eq!(cost(|| indexer.select(&nothing).len()), (0, 0));
    assert_eq!(cost(|| indexer.select_namespace("b", &nothing).len()), (0, 0));
}

#[test]
fn objects_of_several_index_values_are_in_key_order() {
    let (_writer, indexer) = filled();
    indexer.add_label_index("node").unwrap();
    let selector: Selector = "node in (n7,n3,n5,none)".parse().unwrap();
    let snapshot = indexer.snapshot();
    let keys: Vec<String> = snapshot
        .select(&selector)
        .map(|(key, _)| key.to_string())
        .collect();
    assert_eq!(
        keys,
        [
            "a/03", "a/05", "a/07", "a/13", "a/15", "a/17", "b/03", "b/05", "b/07", "b/13", "b/15", "b/17"
        ]
    );
    let of_b: Vec<String> = snapshot
        .select_namespace("b", &selector)
        .map(|(key, _)| key.name().to_owned())
        .collect();
    assert_eq!(of_b, ["03", "05", "07", "13", "15", "17"]);
}
