//! Tests that do not start a cluster.

use super::*;

#[test]
fn ports_chosen_together_differ() {
    let [one, other] = free_ports().unwrap();
    assert_ne!(one, other);
}

#[test]
fn an_own_feature_gate_does_not_displace_the_watch_lists() {
    let folder = tempfile::tempdir().unwrap();
    let access = Access::new(folder.path(), &[]).unwrap();
    let options = ClusterOptions {
        watch_list: WatchList::Off,
        feature_gates: vec!["Other=true".to_owned()],
        ..ClusterOptions::default()
    };
    let flags = apiserver_flags(&options, &access, 1, 2);
    assert!(
        flags.contains(&"--feature-gates=WatchList=false,Other=true".to_owned()),
        "{flags:?}"
    );
}

#[test]
fn the_guard_ends_what_it_started_and_removes_the_folder() {
    let folder = tempfile::tempdir().unwrap().keep();
    let guard = Guard::new(&folder).unwrap();
    let log = folder.join("log");
    let mut child = guard
        .spawn(Path::new("/bin/sleep"), &["600".to_owned()], &log)
        .unwrap();
    drop(guard);
    assert!(!child.wait().unwrap().success(), "it was killed");
    assert!(!folder.exists());
}
