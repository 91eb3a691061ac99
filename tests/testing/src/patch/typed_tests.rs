//! The order of lists after a configuration is merged into them.

use serde_json::{Value, json};

use super::{drop_new_nulls, merge};
use crate::schema::Schema;

fn set_schema() -> Schema {
    Schema::custom(Some(&json!({"properties": {"l": {
        "type": "array",
        "x-kubernetes-list-type": "set",
        "items": {"type": "string"},
    }}})))
}

fn check_order(live: &str, config: &str, expected: &str) {
    let list = |letters: &str| json!({"l": letters.chars().map(String::from).collect::<Vec<_>>()});
    let merged = merge(&list(live), &list(config), set_schema().root()).expect("both are sets");
    assert_eq!(merged, Some(list(expected)), "{config} over {live}");
}

#[test]
fn applied_items_keep_their_order_and_others_their_place() {
    check_order("abc", "", "abc");
    check_order("", "ba", "ba");
    check_order("abc", "d", "abcd");
    check_order("abc", "b", "abc");
    check_order("abc", "cb", "acb");
    check_order("abcde", "xcy", "abxcdey");
    check_order("abc", "cab", "cab");
}

#[test]
fn new_nulls_are_removed_and_existing_ones_kept() {
    let live = json!({"a": null, "l": [{"n": null}]});
    let new = json!({"a": null, "b": null, "l": [{"n": null}, {"m": null}], "o": {"p": null}});
    let expected: Value = json!({"a": null, "l": [{"n": null}, {}], "o": {}});
    assert_eq!(drop_new_nulls(new, Some(&live)), Some(expected));
}
