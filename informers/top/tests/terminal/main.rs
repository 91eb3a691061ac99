//! Runs `informer-top` in a pseudo terminal, as a user does.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

/// The terminal. The live tests use it too.
mod session;

use std::num::NonZero;
use std::process::Stdio;

use self::session::{Session, kinds, words};

const PROGRAM: &str = env!("CARGO_BIN_EXE_informer-top");

const NARROW: NonZero<u16> = NonZero::new(60).unwrap();

fn started(arguments: &[&str]) -> Session {
    Session::start(PROGRAM, arguments, &[])
}

#[test]
fn the_demo_cluster_is_shown_sorted_and_left_by_q() {
    let mut session = started(&["--embedded", "--every", "0.2"]);
    // The pods of the demo cluster change all the time, so they come first.
    let shown = session.until("the changing pods", |screen| {
        let is_live = words(screen, "pods").last().is_some_and(|state| state == "live");
        is_live && kinds(screen).first() == Some(&"pods") && !screen.contains(" 0.0 changes/s")
    });
    assert!(shown.starts_with("demo cluster: "), "{shown}");
    assert!(shown.contains("CHANGES/S▼"), "{shown}");
    assert!(session.screen.screen().alternate_screen());
    // The state of the selected kind in full.
    session.until("the details of pods", |screen| {
        screen.contains("\n pods ─") && screen.contains("modified")
    });

    // By name.
    session.press("1");
    // The header may arrive before the rows.
    let is_by_name = |screen: &str| {
        let names = kinds(screen);
        screen.contains("KIND▼") && names.len() > 10 && names.is_sorted()
    };
    session.until("the order of names", is_by_name);
    session.press("r");
    session.until("the reversed order", |screen| screen.contains("KIND▲"));
    // The arrow to the right.
    session.press("\x1b[C");
    session.until("the next column", |screen| screen.contains("OBJECTS▲"));
    let second = {
        session.press("1r");
        let shown = session.until("the order of names", is_by_name);
        // It may be cut off in the table.
        kinds(&shown)[1].trim_end_matches('…').to_owned()
    };
    // The arrow down.
    session.press("\x1b[B");
    session.until("the details of the second kind", |screen| {
        screen.contains(&format!("\n {second}"))
    });

    session.resize(NARROW);
    session.until("fewer columns", |screen| {
        screen.contains("STATE") && !screen.contains("ERRORS")
    });
    session.press("q");
    assert_eq!(session.end(), Some(0));
}

#[test]
fn a_signal_ends_it_and_restores_the_terminal() {
    let mut session = started(&["--embedded", "--every", "0.2", "nodes"]);
    session.until("nodes", |screen| {
        words(screen, "nodes").last().is_some_and(|state| state == "live")
    });
    let child = rustix::process::Pid::from_child(&session.child);
    rustix::process::kill_process(child, rustix::process::Signal::TERM).unwrap();
    assert_eq!(session.end(), Some(0));
}

#[test]
fn without_a_terminal_it_prints_the_table_once() {
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(PROGRAM);
        command.args(arguments).stdin(Stdio::null()).output().unwrap()
    };
    let output = run(&["--embedded", "--once", "pods", "nodes"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.starts_with("demo cluster: 2 kinds, "), "{text}");
    let nodes = words(&text, "nodes");
    assert_eq!(
        (nodes[1].as_str(), nodes.last().unwrap().as_str()),
        ("4", "live"),
        "{text}"
    );
    assert!(text.contains(" B ") || text.contains("kB"), "no size: {text}");

    let refused = run(&["--embedded"]);
    assert_eq!(refused.status.code(), Some(1));
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.contains("--once"), "{error}");
    let unknown = run(&["--embedded", "--once", "unicorns"]);
    assert_eq!(unknown.status.code(), Some(1));
    let error = String::from_utf8(unknown.stderr).unwrap();
    assert!(error.contains("unicorns"), "{error}");
}
