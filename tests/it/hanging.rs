//! The watchdog of this binary: a test that hangs is named, and ends the process with a failure.

use std::process::Command;

use tokio::watchdog::LIMIT_VARIABLE;

/// Set in a second process of this test, which hangs.
const HANG: &str = "INFORMER_IT_HANG";

fn check(name: &str) {
    if std::env::var_os(HANG).is_some() {
        loop {
            std::thread::park();
        }
    }
    let this = std::env::current_exe().unwrap();
    let name = format!("{}::{name}", module_path!().split_once("::").unwrap().1);
    let hung = Command::new(this)
        .args([&name, "--exact", "--test-threads=2"])
        .env(HANG, "1")
        .env(LIMIT_VARIABLE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&hung.stderr).into_owned();
    assert!(!hung.status.success(), "{said}");
    assert!(said.contains(&format!("test {name} hangs")), "{said}");
}

#[tokio::test(start_paused = true)]
async fn an_async_test_that_hangs_is_named_and_ends_the_process() {
    check("an_async_test_that_hangs_is_named_and_ends_the_process");
}

#[test]
fn a_plain_test_that_hangs_is_named_and_ends_the_process() {
    check("a_plain_test_that_hangs_is_named_and_ends_the_process");
}
