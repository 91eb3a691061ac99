//! Which programs are taken, and how versions are read.

use super::*;

fn check(text: &str, version: Option<&str>, reports_progress: bool) {
    let parsed = EtcdVersion::parse(text);
    assert_eq!(
        parsed.map(|version| version.to_string()).as_deref(),
        version,
        "{text:?}"
    );
    assert_eq!(
        parsed.is_some_and(EtcdVersion::reports_progress),
        reports_progress,
        "{text:?}"
    );
}

#[test]
fn the_version_of_etcd_says_whether_watch_lists_work() {
    check(
        "etcd Version: 3.7.0\nGit SHA: Not provided\n",
        Some("3.7.0"),
        true,
    );
    check("etcd Version: 3.6.0-rc.4\n", Some("3.6.0"), true);
    check("etcd Version: 4.0.1\n", Some("4.0.1"), true);
    check("etcd Version: 3.5.21\n", Some("3.5.21"), false);
    check("etcd Version: 3.10.0\n", Some("3.10.0"), true);
    check("no version here\n", None, false);
    check("", None, false);
}

#[test]
fn a_folder_counts_only_with_both_programs() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let folders = [folder.path().to_owned()];
    let add = |name: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    assert_eq!(Binaries::in_folders(&folders), None);
    add("etcd");
    assert_eq!(Binaries::in_folders(&folders), None);
    add("kube-apiserver");
    let found = Binaries::in_folders(&folders).unwrap();
    assert_eq!(found.etcd(), folder.path().join("etcd"));
    assert_eq!(found.kubectl(), None);
}
