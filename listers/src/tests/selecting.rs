//! Tests of reads by selector: the same results in the same order, with and without an index.

use std::sync::Arc;

use informer_core::Object;
use informer_core::selector::Selector;
use k8s_openapi::api::core::v1::ConfigMap;

use super::{check, map};
use crate::Lister;

/// A config map `namespace/name` with labels `key=value`, separated by spaces.
fn labelled(key: &str, labels: &str) -> ConfigMap {
    let mut map = map(key);
    let pairs = labels
        .split_whitespace()
        .filter_map(|label| label.split_once('='));
    map.metadata.labels = Some(
        pairs
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
    );
    map
}

/// Objects whose order by label differs from their order by key.
fn maps() -> Lister<ConfigMap> {
    Lister::from_objects([
        labelled("web/a", "app=shop tier=front"),
        labelled("web/b", "app=cart tier=back"),
        labelled("web/c", "app=shop tier=back legacy=yes"),
        labelled("db/a", "app=shop"),
        labelled("db/b", "app=ledger tier=back"),
        labelled("web-2/a", "app=cart tier=front"),
        labelled("web/d", ""),
        map("web/e"),
    ])
}

fn selector(text: &str) -> Selector {
    text.parse().unwrap()
}

fn visited<K: Object>(walk: impl FnOnce(&mut dyn FnMut(&Arc<K>))) -> Vec<Arc<K>> {
    let mut seen = Vec::new();
    walk(&mut |object| seen.push(object.clone()));
    seen
}

/// Checks a selector everywhere and in the namespace `web`: without indexes, with one for each label, and
/// with all.
fn check_selected(text: &str, everywhere: &[&str], in_web: &[&str]) {
    let selector = selector(text);
    for indexes in [&[][..], &["app"], &["tier"], &["app", "tier", "legacy"]] {
        let maps = maps();
        for label in indexes {
            maps.indexer().add_label_index(label).unwrap();
        }
        check(maps.list(&selector), everywhere);
        check(visited(|visit| maps.for_each(&selector, visit)), everywhere);
        let web = maps.namespace("web");
        check(web.list(&selector), in_web);
        check(visited(|visit| web.for_each(&selector, visit)), in_web);
        let snapshot = maps.snapshot();
        let keys = snapshot.select(&selector).map(|(key, _)| key.to_string());
        assert_eq!(keys.collect::<Vec<_>>(), everywhere, "{text} with {indexes:?}");
    }
}

#[test]
fn an_index_changes_neither_results_nor_their_order() {
    check_selected("app=shop", &["db/a", "web/a", "web/c"], &["web/a", "web/c"]);
    check_selected("app=shop,tier=back", &["web/c"], &["web/c"]);
    check_selected(
        "app in (shop, cart)",
        &["db/a", "web/a", "web/b", "web/c", "web-2/a"],
        &["web/a", "web/b", "web/c"],
    );
    check_selected(
        "app in (ledger, none, shop), tier",
        &["db/b", "web/a", "web/c"],
        &["web/a", "web/c"],
    );
    check_selected("app in (cart,ledger),tier=front", &["web-2/a"], &[]);
    check_selected("app=none", &[], &[]);
    check_selected("app=", &[], &[]);
    check_selected("app=shop,app=cart", &[], &[]);
    check_selected("app=shop,!legacy", &["db/a", "web/a"], &["web/a"]);
    check_selected("app!=shop,tier", &["db/b", "web/b", "web-2/a"], &["web/b"]);
    check_selected("!app", &["web/d", "web/e"], &["web/d", "web/e"]);
    check_selected(
        "app notin (shop, cart)",
        &["db/b", "web/d", "web/e"],
        &["web/d", "web/e"],
    );
}

/// Upstream: TestListAll: everything, nothing.
#[test]
fn everything_and_nothing_need_no_labels() {
    let everywhere = [
        "db/a", "db/b", "web/a", "web/b", "web/c", "web/d", "web/e", "web-2/a",
    ];
    let in_web = ["web/a", "web/b", "web/c", "web/d", "web/e"];
    check_selected("", &everywhere, &in_web);

    let (maps, nothing) = (maps(), Selector::nothing());
    check(maps.list(&nothing), &[]);
    check(maps.namespace("web").list(&nothing), &[]);
    check(visited(|visit| maps.for_each(&nothing, visit)), &[]);
}

/// The index is added after the snapshot was taken, so the snapshot does not have it.
#[test]
fn an_older_snapshot_is_read_without_the_newer_index() {
    let maps = maps();
    let before = maps.snapshot();
    maps.indexer().add_label_index("app").unwrap();
    let shop = selector("app=shop");
    let found: Vec<String> = before
        .select_namespace("web", &shop)
        .map(|(key, _)| key.to_string())
        .collect();
    assert_eq!(found, ["web/a", "web/c"]);
}
