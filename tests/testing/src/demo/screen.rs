//! The output of a program: lines, pod events, tables, a footer and the summary at the end.

use std::fmt::{self, Display};
use std::io::{self, Stdout, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::page::{Look, Page, Tone};
use super::pod;
use super::table::PodTable;
use crate::log::Requests;

/// How many of the pods that exist at the start get a line.
const MOST_EXISTING: usize = 8;
/// How often a pipe gets a line about a wait.
const PROGRESS_EVERY: Duration = Duration::from_secs(2);

/// A handle to the output of a [`Demo`](super::Demo), to be moved into event handlers. Clones write to the
/// same output.
///
/// Nothing fails: when the output is closed, as by `head`, the program ends.
#[derive(Clone)]
pub struct Screen(Arc<Mutex<State>>);

struct State {
    page: Page<Stdout>,
    started: Instant,
    /// When a pipe got its last line about a wait.
    progress_at: Instant,
    events: Events,
    /// The table that was shown last.
    table: Vec<String>,
    /// Receives a copy of each line.
    script: Option<mpsc::Sender<String>>,
    /// The error that closed the output.
    error: Option<io::Error>,
    closed: watch::Sender<bool>,
}

/// The events shown so far.
#[derive(Clone, Copy, Default)]
struct Events {
    existing: usize,
    added: usize,
    updated: usize,
    deleted: usize,
    resyncs: usize,
}

impl Screen {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            page: Page::new(io::stdout(), Look::of_stdout()),
            started: Instant::now(),
            progress_at: Instant::now(),
            events: Events::default(),
            table: Vec::new(),
            script: None,
            error: None,
            closed: watch::Sender::new(false),
        })))
    }

    /// Writes one line.
    pub fn line(&self, text: impl Display) {
        // Formatted before the lock is taken: this runs code of the caller, which may log to this screen.
        let text = text.to_string();
        self.state().line(&text);
    }

    /// Shows a pod that existed when the program started. Only the first few get a line.
    pub fn existing(&self, pod: &Pod) {
        let mut state = self.state();
        state.events.existing += 1;
        if state.events.existing <= MOST_EXISTING {
            state.event(Tone::Good, "added", &pod::name(pod), &pod::describe(pod));
        }
    }

    /// Shows a new pod.
    pub fn added(&self, pod: &Pod) {
        let mut state = self.state();
        state.events.added += 1;
        state.event(Tone::Good, "added", &pod::name(pod), &pod::describe(pod));
    }

    /// Shows what changed in a pod.
    pub fn updated(&self, old: &Pod, new: &Pod) {
        let mut state = self.state();
        state.events.updated += 1;
        state.event(Tone::Change, "updated", &pod::name(new), &pod::changes(old, new));
    }

    /// Shows a pod that was delivered again without a change.
    pub fn resync(&self, pod: &Pod) {
        let mut state = self.state();
        state.events.resyncs += 1;
        state.event(Tone::Quiet, "resync", &pod::name(pod), &pod::describe(pod));
    }

    /// Shows a pod that was deleted, in its last known state.
    pub fn deleted(&self, pod: &Pod) {
        let mut state = self.state();
        state.events.deleted += 1;
        let node = pod::node(pod).unwrap_or("no node");
        state.event(Tone::Bad, "deleted", &pod::name(pod), &format!("was on {node}"));
    }

    /// Shows the conditions in the status of an object: its name, and the reason and message of each.
    pub fn conditions<K: kube::Resource + Serialize>(&self, object: &K) {
        let name = pod::name_of(object.meta());
        let value = serde_json::to_value(object).unwrap_or_default();
        let conditions = value["status"]["conditions"].as_array().map(Vec::as_slice);
        let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
        let mut words: Vec<String> = conditions
            .unwrap_or_default()
            .iter()
            .map(|condition| format!("{}: {}", text(&condition["reason"]), text(&condition["message"])))
            .collect();
        if words.is_empty() {
            words.push("no conditions".to_owned());
        }
        self.line(format_args!("{name} {}", words.join(", ")));
    }

    /// Shows that an object was deleted.
    pub fn removed<K: kube::Resource>(&self, object: &K) {
        self.line(format_args!("{} deleted", pod::name_of(object.meta())));
    }

    /// Shows a table, unless the last one shown differs in its heading only.
    pub(super) fn table(&self, table: &PodTable) {
        let mut state = self.state();
        let lines = table.lines();
        if state.table.get(1..) == lines.get(1..) {
            return;
        }
        state.line("");
        for (number, line) in lines.iter().enumerate() {
            let line = match number {
                0 => state.page.paint(Tone::Heading, line),
                1 => format!("  {}", state.page.paint(Tone::Quiet, line)),
                _ => format!("  {line}"),
            };
            state.line(&line);
        }
        state.line("");
        state.table = lines;
    }

    /// Shows how far the wait for the caches is: in the footer, or in a line now and then.
    pub(super) fn progress(&self, text: &str) {
        let mut state = self.state();
        if state.page.has_footer() {
            state.footer(text);
        } else if state.progress_at.elapsed() >= PROGRESS_EVERY {
            state.progress_at = Instant::now();
            state.line(text);
        }
    }

    /// Removes the footer.
    pub(super) fn clear_footer(&self) {
        self.state().footer("");
    }

    /// Says that the caches are complete.
    pub(super) fn synced(&self) {
        let mut state = self.state();
        state.footer("");
        let hidden = state.events.existing.saturating_sub(MOST_EXISTING);
        if hidden > 0 {
            let more = format!("and {hidden} more that existed");
            state.event(Tone::Good, "added", &more, "");
        }
        let time = state.started.elapsed();
        state.line(&format!("In sync after {time:.1?}."));
    }

    /// Whether [`footer`](Self::footer) shows anything: a pipe has none.
    pub(super) fn has_footer(&self) -> bool {
        self.state().page.has_footer()
    }

    /// Redraws the footer with this status.
    pub(super) fn footer(&self, status: &str) {
        let mut state = self.state();
        let (time, events) = (state.started.elapsed().as_secs(), state.events.all());
        state.footer(&format!("{status} | {time}s | {events} events | Ctrl-C ends"));
    }

    /// Writes a log line to the standard error, above the footer.
    pub(super) fn log(&self, text: &[u8]) -> io::Result<()> {
        self.state().page.interrupted_by(|| io::stderr().write_all(text))
    }

    /// Says why the program ends and what it has done.
    pub(super) fn summary(&self, why: &str, requests: Option<&Requests>) {
        let mut state = self.state();
        state.footer("");
        state.line("");
        let time = state.started.elapsed().as_secs_f32();
        let heading = state
            .page
            .paint(Tone::Heading, &format!("Ended after {time:.1}s: {why}."));
        state.line(&heading);
        let events = state.events;
        if events.all() > 0 {
            state.line(&format!("  events    {events}"));
        }
        if let Some(requests) = requests {
            let (all, lists, watches) = (requests.len(), requests.lists().len(), requests.watches().len());
            state.line(&format!("  requests  {all} (lists: {lists}, watches: {watches})"));
        }
    }

    /// Sends a copy of each line to a script.
    pub(super) fn set_script(&self, lines: mpsc::Sender<String>) {
        self.state().script = Some(lines);
    }

    /// Becomes true when nothing can be written any more.
    pub(super) fn closed(&self) -> watch::Receiver<bool> {
        self.state().closed.subscribe()
    }

    /// The error that closed the output. A reader that closed its end has seen enough: that is none.
    pub(super) fn take_error(&self) -> io::Result<()> {
        match self.state().error.take() {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }

    /// A handler that panicked has not left half a line: each is written as a whole.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").finish_non_exhaustive()
    }
}

impl State {
    fn event(&mut self, tone: Tone, verb: &str, name: &str, detail: &str) {
        let time = format!("{:5.1}s", self.started.elapsed().as_secs_f32());
        let time = self.page.paint(Tone::Quiet, &time);
        let painted = self.page.paint(tone, &format!("{verb:<8}"));
        self.write(
            &format!("{time}  {painted} {name:<38} {detail}"),
            &format!("{verb} {name} {detail}"),
        );
    }

    fn line(&mut self, text: &str) {
        self.write(text, text);
    }

    /// Writes a line. The script receives it without colours.
    fn write(&mut self, painted: &str, plain: &str) {
        let written = self.page.line(painted);
        self.check(written);
        if let Some(script) = &self.script {
            // A script that waits for nothing may leave the channel full.
            let _sent = script.try_send(plain.to_owned());
        }
    }

    fn footer(&mut self, text: &str) {
        let written = self.page.footer(text);
        self.check(written);
    }

    fn check(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.error.get_or_insert(error);
            self.closed.send_replace(true);
        }
    }
}

impl Events {
    fn all(&self) -> usize {
        self.existing + self.added + self.updated + self.deleted + self.resyncs
    }
}

impl Display for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            existing,
            added,
            updated,
            deleted,
            resyncs,
        } = self;
        write!(
            f,
            "{existing} initial, {added} added, {updated} updated, {deleted} deleted"
        )?;
        match resyncs {
            0 => Ok(()),
            resyncs => write!(f, ", {resyncs} resyncs"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Writes to a screen while it is formatted, as code that logs does.
    struct Logs(Screen);

    impl Display for Logs {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.line("a log line");
            f.write_str("a line")
        }
    }

    #[test]
    fn code_that_is_called_for_a_line_may_log() {
        let (sender, done) = mpsc::channel();
        std::thread::spawn(move || {
            let screen = Screen::new();
            screen.line(Logs(screen.clone()));
            sender.send(()).unwrap();
        });
        let done = done.recv_timeout(Duration::from_secs(60));
        assert!(done.is_ok(), "a deadlock: {done:?}");
    }
}
