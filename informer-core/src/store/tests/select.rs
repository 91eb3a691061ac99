//! Reads by selector: how much of the store they touch.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::key;
use crate::selector::Selector;
use crate::store::{self, Indexer, IndexerWriter};

/// A kind that counts how often its metadata is looked at, which is what a selector costs.
struct Counted(ObjectMeta);

thread_local! {
    static LOOKS: Cell<usize> = const { Cell::new(0) };
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
        LOOKS.set(LOOKS.get() + 1);
        &self.0
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.0
    }
}

/// Twenty objects in each of two namespaces: half of them are `app=web`, a tenth are `node=n1`, all are `zone=z`.
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

/// What a read found, and how many objects' labels it looked at.
fn cost(read: impl FnOnce() -> usize) -> (usize, usize) {
    LOOKS.set(0);
    let found = read();
    (found, LOOKS.get())
}

#[test]
fn a_selector_costs_what_the_best_index_offers() {
    let (_writer, indexer) = filled();
    let check = |text: &str, everywhere: (usize, usize), in_one: (usize, usize)| {
        let selector: Selector = text.parse().unwrap();
        assert_eq!(cost(|| indexer.select(&selector).len()), everywhere, "{text}");
        let of_one = cost(|| indexer.select_namespace("a", &selector).len());
        assert_eq!(of_one, in_one, "{text} in one namespace");
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
fn everything_and_nothing_cost_no_label_work() {
    let (_writer, indexer) = filled();
    let (everything, nothing) = (Selector::everything(), Selector::nothing());
    assert_eq!(cost(|| indexer.select(&everything).len()), (40, 0));
    assert_eq!(cost(|| indexer.select_namespace("b", &everything).len()), (20, 0));
    assert_eq!(cost(|| indexer.snapshot().select(&everything).count()), (40, 0));
    assert_eq!(cost(|| indexer.select(&nothing).len()), (0, 0));
    assert_eq!(cost(|| indexer.select_namespace("b", &nothing).len()), (0, 0));
}

#[test]
fn several_values_of_an_index_are_walked_in_the_order_of_keys() {
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
