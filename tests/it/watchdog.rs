//! Ends the process when a test hangs, and names the test: a wake-up that never comes must fail, and not stop
//! CI for hours.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::{LazyLock, Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// How long a test may run, in seconds of real time. Most run on the paused clock, for milliseconds.
const LIMIT: u64 = 300;

/// Overrides the limit, in seconds. For the test of the watchdog, and for machines slower than any CI.
pub const LIMIT_VARIABLE: &str = "INFORMER_IT_LIMIT_SECONDS";

struct Running {
    name: String,
    since: Instant,
}

/// The running tests. The harness runs each on its own thread.
static TESTS: LazyLock<Mutex<HashMap<ThreadId, Running>>> = LazyLock::new(Mutex::default);

fn tests() -> MutexGuard<'static, HashMap<ThreadId, Running>> {
    TESTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Held by a test while it runs.
#[must_use]
pub struct Watched(ThreadId);

/// The test on this thread begins. The attribute `test` of this package calls it.
pub fn watch() -> Watched {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        crate::storage::choose();
        thread::spawn(look_out);
    });
    let test = thread::current();
    // The harness names the thread after the test, except with `--test-threads=1`, where it prints the name
    // before the test.
    let name = test.name().unwrap_or("(no name)").to_owned();
    let since = Instant::now();
    tests().insert(test.id(), Running { name, since });
    Watched(test.id())
}

/// The test on this thread has done one of many steps: its time begins anew. For tests with a configurable
/// duration.
pub fn progress() {
    if let Some(test) = tests().get_mut(&thread::current().id()) {
        test.since = Instant::now();
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        tests().remove(&self.0);
    }
}

fn look_out() {
    let limit = std::env::var(LIMIT_VARIABLE)
        .ok()
        .and_then(|seconds| seconds.parse().ok())
        .map_or(Duration::from_secs(LIMIT), Duration::from_secs);
    loop {
        thread::sleep(Duration::from_millis(500));
        let hung: String = tests()
            .values()
            .filter(|test| test.since.elapsed() >= limit)
            .map(|test| format!("test {} hangs\n", test.name))
            .collect();
        if !hung.is_empty() {
            let message = format!("\n{hung}the watchdog ended the process: a test may run for {limit:?}\n");
            // Not `eprintln`: the harness would keep it for the output of the test that started this thread.
            let _ = std::io::stderr().write_all(message.as_bytes());
            std::process::exit(101);
        }
    }
}
