//! Measurements of a row: log lines, memory, and whether other tasks run.

use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once};
use std::time::Duration;

use tokio::sync::Notify;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// The longest line that may be logged, in bytes.
const LONGEST_LINE: usize = 4096;

/// The log lines since the last [`Log::begin`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// Lines of WARN and above.
    pub(crate) warnings: u64,
    /// The first lines that must not be logged, escaped and truncated, with the reason.
    pub(crate) unfit: Vec<String>,
    /// The last warning.
    pub(crate) last: String,
}

static LOG: Mutex<Log> = Mutex::new(Log {
    warnings: 0,
    unfit: Vec::new(),
    last: String::new(),
});

fn log() -> MutexGuard<'static, Log> {
    LOG.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Log {
    pub(crate) fn begin() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            tracing::subscriber::set_global_default(Counting).expect("no other subscriber is set")
        });
        *log() = Self::default();
    }

    pub(crate) fn read() -> Self {
        log().clone()
    }

    fn line(&mut self, level: Level, line: &str) {
        let cut: String = line.escape_debug().take(200).collect();
        if let Some(why) = unfit(line)
            && self.unfit.len() < 3
        {
            self.unfit.push(format!("{why}: {cut}"));
        }
        if level <= Level::WARN {
            self.warnings += 1;
            self.last = cut;
        }
    }
}

/// Returns why a text must not appear in a log, on a terminal or in an error message.
pub(crate) fn unfit(text: &str) -> Option<&'static str> {
    let is_unfit = |c: char| {
        c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{61c}' | '\u{200e}' | '\u{200f}')
            || ('\u{202a}'..='\u{202e}').contains(&c)
            || ('\u{2066}'..='\u{2069}').contains(&c)
    };
    if text.len() > LONGEST_LINE {
        return Some("too long");
    }
    text.chars().any(is_unfit).then_some("control characters")
}

/// Formats events as `tracing_subscriber::fmt` does, and counts them.
struct Counting;

impl Subscriber for Counting {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("informer_core")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        log().line(*event.metadata().level(), &line.0);
    }

    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, "{}={value:?} ", field.name()).expect("writing to a String cannot fail");
    }
}

/// The most memory in use at once, above what was in use at the beginning.
pub(crate) struct Memory {
    before: usize,
    peak: Arc<AtomicUsize>,
    done: Arc<AtomicBool>,
}

fn live() -> usize {
    let stats = crate::ALLOCATOR.stats();
    stats.bytes_allocated.saturating_sub(stats.bytes_deallocated)
}

impl Memory {
    /// Measures until dropped, on a thread: a task that does not yield must not go unnoticed.
    pub(crate) fn begin() -> Self {
        let memory = Self {
            before: live(),
            peak: Arc::default(),
            done: Arc::default(),
        };
        let (peak, done) = (memory.peak.clone(), memory.done.clone());
        std::thread::spawn(move || {
            while !done.load(Ordering::Relaxed) {
                peak.fetch_max(live(), Ordering::Relaxed);
                std::thread::park_timeout(Duration::from_millis(1));
            }
        });
        memory
    }

    pub(crate) fn peak(&self) -> usize {
        self.peak
            .load(Ordering::Relaxed)
            .max(live())
            .saturating_sub(self.before)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
    }
}

/// A task on the same thread as the informer. Each chunk of a hostile body wakes it, and it counts the chunks
/// that the informer read before it ran.
#[derive(Default)]
pub(crate) struct Bystander {
    woken: Notify,
    waiting: AtomicU64,
    longest: AtomicU64,
}

impl Bystander {
    /// Called for each piece of a body.
    pub(crate) fn piece(&self) {
        let waiting = self.waiting.fetch_add(1, Ordering::Relaxed) + 1;
        self.longest.fetch_max(waiting, Ordering::Relaxed);
        self.woken.notify_one();
    }

    /// The task.
    pub(crate) async fn run(&self) {
        loop {
            self.woken.notified().await;
            self.waiting.store(0, Ordering::Relaxed);
        }
    }

    /// The most chunks that were read in a row while the task waited.
    pub(crate) fn longest(&self) -> u64 {
        self.longest.load(Ordering::Relaxed)
    }
}
