//! The first violation of a run, and a hash of everything observed.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use tokio::time::Instant;

/// A guarantee that was violated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// `I3`, or `panic`, or `stuck`.
    pub guarantee: &'static str,
    /// What was observed.
    pub what: String,
    /// The number of the step after which it was observed.
    pub step: usize,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} after step {}: {}", self.guarantee, self.step, self.what)
    }
}

/// Collects the violations of a run: from checks, handlers and requests.
///
/// A run has one thread, so a shared cell is enough; handlers, which must be `Send`, use [`report`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict(Rc<RefCell<Record>>);

#[derive(Debug, Default)]
struct Record {
    step: usize,
    first: Option<Violation>,
    /// A hash of all observations.
    hash: u64,
    events: u64,
    /// When the first observation was printed.
    start: Option<Instant>,
}

thread_local! {
    static CURRENT: RefCell<Option<Verdict>> = const { RefCell::new(None) };
}

impl Verdict {
    /// Creates a verdict and sets it for this thread.
    pub(crate) fn begin() -> Self {
        let verdict = Self::default();
        CURRENT.set(Some(verdict.clone()));
        verdict
    }

    /// Removes the verdict of this thread.
    pub(crate) fn end() {
        CURRENT.set(None);
    }

    pub(crate) fn at_step(&self, step: usize) {
        self.0.borrow_mut().step = step;
    }

    pub(crate) fn first(&self) -> Option<Violation> {
        self.0.borrow().first.clone()
    }

    pub(crate) fn hash(&self) -> u64 {
        self.0.borrow().hash
    }

    pub(crate) fn events(&self) -> u64 {
        self.0.borrow().events
    }

    pub(crate) fn report(&self, guarantee: &'static str, what: String) {
        let mut record = self.0.borrow_mut();
        let step = record.step;
        record.first.get_or_insert(Violation {
            guarantee,
            what,
            step,
        });
    }
}

/// Reports a violation to the verdict of this thread.
pub(crate) fn report(guarantee: &'static str, what: impl FnOnce() -> String) {
    CURRENT.with_borrow(|current| {
        if let Some(verdict) = current
            && verdict.first().is_none()
        {
            verdict.report(guarantee, what());
        }
    });
}

/// Whether the run of this thread has a violation.
pub(crate) fn is_violated() -> bool {
    CURRENT.with_borrow(|current| current.as_ref().is_some_and(|verdict| verdict.first().is_some()))
}

/// Adds an observation to the hash of the run.
pub(crate) fn observe(text: &str) {
    CURRENT.with_borrow(|current| {
        if let Some(verdict) = current {
            let mut record = verdict.0.borrow_mut();
            record.events += 1;
            record.hash = text
                .bytes()
                .fold(record.hash ^ 0xCBF2_9CE4_8422_2325, |hash, byte| {
                    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
                });
            if TRACE.get() {
                record.log(text);
            }
        }
    });
}

thread_local! {
    static TRACE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Prints every later observation on this thread.
pub fn trace() {
    TRACE.set(true);
}

impl Record {
    #[expect(clippy::print_stderr, reason = "enabled by `--trace`")]
    fn log(&mut self, text: &str) {
        let start = *self.start.get_or_insert_with(Instant::now);
        eprintln!("  [{}] {:.3} {text}", self.step, start.elapsed().as_secs_f64());
    }
}
