//! Runs `informer-top` in a pseudo terminal, as a user does.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use pty_process::Size;
use pty_process::blocking::{Command, Pty, open};

const PROGRAM: &str = env!("CARGO_BIN_EXE_informer-top");

/// Reached only if the program hangs. A busy machine needs seconds to start it.
const LIMIT: Duration = Duration::from_secs(120);
const ROWS: NonZero<u16> = NonZero::new(40).unwrap();
const COLUMNS: NonZero<u16> = NonZero::new(110).unwrap();
const NARROW: NonZero<u16> = NonZero::new(60).unwrap();

/// The program in a terminal, and what the terminal shows.
struct Session {
    terminal: Arc<Pty>,
    child: Child,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
}

impl Session {
    fn start(arguments: &[&str]) -> Self {
        let (terminal, inside) = open().unwrap();
        terminal.resize(Size::new(ROWS.get(), COLUMNS.get())).unwrap();
        let command = Command::new(PROGRAM).args(arguments);
        let child = command.env("TERM", "xterm-256color").spawn(inside).unwrap();
        let terminal = Arc::new(terminal);
        let (sender, output) = channel();
        let reader = terminal.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 8192];
            // Ends with the program: reading from a terminal that nobody has open is an error.
            while let Ok(length @ 1..) = (&*reader).read(&mut bytes) {
                if sender.send(bytes[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            terminal,
            child,
            output,
            screen: vt100::Parser::new(ROWS, COLUMNS, 0),
        }
    }

    fn press(&self, keys: &str) {
        (&*self.terminal).write_all(keys.as_bytes()).unwrap();
    }

    fn resize(&mut self, columns: NonZero<u16>) {
        self.screen.screen_mut().set_size(ROWS, columns);
        self.terminal
            .resize(Size::new(ROWS.get(), columns.get()))
            .unwrap();
    }

    /// Waits until the screen is as wanted, and returns it.
    fn until(&mut self, what: &str, is_wanted: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let shown = self.screen.screen().contents();
            if is_wanted(&shown) {
                return shown;
            }
            assert!(begun.elapsed() < LIMIT, "{what} was not shown:\n{shown}");
            match self.output.recv_timeout(Duration::from_secs(1)) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("the program ended before {what}:\n{shown}"),
            }
        }
    }

    /// Waits for the end of the program, and returns its exit code.
    fn end(mut self) -> Option<i32> {
        while let Ok(bytes) = self.output.recv_timeout(LIMIT) {
            self.screen.process(&bytes);
        }
        let screen = self.screen.screen();
        assert!(!screen.alternate_screen(), "the terminal was not restored");
        assert!(!screen.hide_cursor(), "the cursor was not restored");
        self.child.wait().unwrap().code()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // After a failed assertion; else it has ended.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// The kinds in the order in which they are shown.
fn kinds(screen: &str) -> Vec<&str> {
    let lines = screen
        .lines()
        .skip_while(|line| !line.starts_with("KIND"))
        .skip(1);
    let rows = lines.take_while(|line| !line.contains('─'));
    rows.filter_map(|line| line.split_whitespace().next()).collect()
}

fn words(screen: &str, kind: &str) -> Vec<String> {
    let line = screen
        .lines()
        .find(|line| line.split_whitespace().next() == Some(kind));
    line.map_or_else(Vec::new, |line| {
        line.split_whitespace().map(str::to_owned).collect()
    })
}

#[test]
fn the_demo_cluster_is_shown_sorted_and_left_by_q() {
    let mut session = Session::start(&["--embedded", "--every", "0.2"]);
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
    let mut session = Session::start(&["--embedded", "--every", "0.2", "nodes"]);
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
