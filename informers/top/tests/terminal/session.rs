//! A program in a pseudo terminal, and what the terminal shows.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use pty_process::Size;
use pty_process::blocking::{Command, Pty, open};

/// Reached only if the program hangs. A busy machine needs seconds to start it.
const LIMIT: Duration = Duration::from_secs(120);
const ROWS: NonZero<u16> = NonZero::new(40).unwrap();
const COLUMNS: NonZero<u16> = NonZero::new(110).unwrap();

/// The program in a terminal, and what the terminal shows.
pub(crate) struct Session {
    terminal: Arc<Pty>,
    pub(crate) child: Child,
    output: Receiver<Vec<u8>>,
    pub(crate) screen: vt100::Parser,
}

impl Session {
    /// Starts a program with these arguments and additional variables of the environment.
    pub(crate) fn start(
        program: impl AsRef<OsStr>,
        arguments: &[&str],
        variables: &[(&str, &OsStr)],
    ) -> Self {
        let (terminal, inside) = open().unwrap();
        terminal.resize(Size::new(ROWS.get(), COLUMNS.get())).unwrap();
        let command = Command::new(program)
            .args(arguments)
            .envs(variables.iter().copied())
            .env("TERM", "xterm-256color");
        let child = command.spawn(inside).unwrap();
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

    /// Sends keys, as a keyboard does.
    pub(crate) fn press(&self, keys: &str) {
        (&*self.terminal).write_all(keys.as_bytes()).unwrap();
    }

    /// Changes the width of the terminal.
    pub(crate) fn resize(&mut self, columns: NonZero<u16>) {
        self.screen.screen_mut().set_size(ROWS, columns);
        self.terminal
            .resize(Size::new(ROWS.get(), columns.get()))
            .unwrap();
    }

    /// Waits until the screen is as wanted, and returns it.
    pub(crate) fn until(&mut self, what: &str, is_wanted: impl Fn(&str) -> bool) -> String {
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
    pub(crate) fn end(mut self) -> Option<i32> {
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
pub(crate) fn kinds(screen: &str) -> Vec<&str> {
    let lines = screen
        .lines()
        .skip_while(|line| !line.starts_with("KIND"))
        .skip(1);
    let rows = lines.take_while(|line| !line.contains('─'));
    rows.filter_map(|line| line.split_whitespace().next()).collect()
}

/// The cells of the line of a kind; empty if it has none. A blank separates two words.
pub(crate) fn words(screen: &str, kind: &str) -> Vec<String> {
    let line = screen
        .lines()
        .find(|line| line.split_whitespace().next() == Some(kind));
    line.map_or_else(Vec::new, |line| {
        line.split_whitespace().map(str::to_owned).collect()
    })
}
