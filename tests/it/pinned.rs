//! Every accessor and alias of the generated layer has the type given in the inventory. Most of the test is
//! that `pins.rs` compiles.

#[rustfmt::skip]
#[path = "generated/pins.rs"]
mod pins;

use informer_gen::inventory::{Release, Resource, Watchable, builtin};
use informer_it::visitor::KUBERNETES;

#[test]
fn the_build_script_and_k8s_openapi_agree_on_the_release() {
    assert_eq!(pins::RELEASES.last(), Some(&KUBERNETES));
}

#[test]
fn every_kind_of_this_release_that_can_be_watched_is_pinned() {
    let release = Release { minor: KUBERNETES };
    let is_wanted = |row: &&Resource| row.exists_in(release) && row.watchable == Watchable::Yes;
    let name = |row: &Resource| format!("{} {}", row.api_version(), row.kind);
    let mut expected: Vec<String> = builtin().iter().filter(is_wanted).map(name).collect();
    let mut pinned = pins::PINNED.to_vec();
    expected.sort();
    pinned.sort_unstable();
    assert_eq!(pinned, expected);
}
