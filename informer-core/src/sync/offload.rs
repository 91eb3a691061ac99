//! Runs work that may block or take long on dedicated threads, apart from async workers and handlers.
//!
//! Decoding, transforms and commits never wait for handlers or other users of tokio's blocking pool,
//! because they do not share it. This pool starts a thread whenever no thread is idle, up to [`LIMIT`], so
//! a job that blocks (such as a transform) delays only its own informer. Threads that are idle for [`IDLE`]
//! end.
//!
//! The crate `blocking` was considered: the idle threads of its version 1.7.0 never end, and a small pool
//! over a tokio channel needs no further dependency.
//!
//! # The paused clock of tests
//!
//! A paused clock advances as soon as its runtime is idle, and the runtime knows only the jobs of tokio's
//! own pool. So while a job of a current-thread runtime runs (no other has a paused clock), one task on
//! tokio's pool waits for it, which stops the clock. There is at most one such task per runtime, however
//! many jobs there are, so they cannot accumulate while handlers occupy the whole pool.

use std::any::Any;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::{Handle, Id, RuntimeFlavor};
use tokio::sync::oneshot;

use super::simulation;

/// The maximum number of threads. Past it, jobs wait for one another.
const LIMIT: usize = 512;

/// How long a thread stays idle before it ends.
const IDLE: Duration = Duration::from_secs(10);

/// A running job. Dropping it does not stop the work; its result is then dropped on the worker thread.
#[must_use = "the work runs in any case; this is its result"]
pub(crate) struct Job<T>(oneshot::Receiver<Result<T, Box<dyn Any + Send>>>);

impl<T> Job<T> {
    /// Waits for the result. A panic of the work resumes here.
    pub(crate) async fn done(&mut self) -> T {
        if let Some(time) = simulation::work_time() {
            tokio::time::sleep(time).await;
            return self.result().await;
        }
        let _still = ClockHold::by_current_runtime();
        self.result().await
    }

    async fn result(&mut self) -> T {
        match (&mut self.0).await {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => unreachable!("every job is run and sends one result"),
        }
    }
}

/// Starts work on a thread of the pool, inside the caller's tokio runtime.
pub(crate) fn start<T, F>(work: F) -> Job<T>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    let (answer, result) = oneshot::channel();
    if simulation::work_time().is_some() {
        let _ = answer.send(catch_unwind(AssertUnwindSafe(work)));
        return Job(result);
    }
    let runtime = Handle::try_current().ok();
    POOL.submit(Box::new(move || {
        // User code can use its runtime, as on tokio's own threads.
        let _entered = runtime.as_ref().map(Handle::enter);
        // A result whose job was dropped is dropped on this thread.
        let _ = answer.send(catch_unwind(AssertUnwindSafe(work)));
    }));
    Job(result)
}

/// Runs work on a thread of the pool, and waits for it.
pub(crate) async fn run<T, F>(work: F) -> T
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    start(work).done().await
}

type Task = Box<dyn FnOnce() + Send>;

static POOL: Pool = Pool::new(IDLE);

struct Pool {
    state: Mutex<PoolState>,
    arrived: Condvar,
    /// How long a thread stays idle before it ends.
    idle: Duration,
}

struct PoolState {
    tasks: VecDeque<Task>,
    /// Threads that will take a task: idle ones, and those being started.
    waiting: usize,
    threads: usize,
}

impl Pool {
    const fn new(idle: Duration) -> Self {
        Self {
            state: Mutex::new(PoolState {
                tasks: VecDeque::new(),
                waiting: 0,
                threads: 0,
            }),
            arrived: Condvar::new(),
            idle,
        }
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn submit(&'static self, task: Task) {
        let mut state = self.lock();
        state.tasks.push_back(task);
        // Each idle thread takes one task. One task more needs one thread more.
        if state.tasks.len() <= state.waiting || state.threads >= LIMIT {
            self.arrived.notify_one();
            return;
        }
        state.waiting += 1;
        state.threads += 1;
        drop(state);
        let started = std::thread::Builder::new()
            .name("informer-offload".to_owned())
            .spawn(|| self.serve());
        if started.is_err() {
            self.not_started();
        }
    }

    /// The system refused a thread. Existing threads do the work; if there are none, it runs here, because
    /// otherwise it would never run.
    fn not_started(&self) {
        let mut state = self.lock();
        state.waiting -= 1;
        state.threads -= 1;
        let task = match state.threads {
            0 => state.tasks.pop_front(),
            _ => None,
        };
        drop(state);
        self.arrived.notify_one();
        if let Some(task) = task {
            task();
        }
    }

    fn serve(&self) {
        let mut state = self.lock();
        loop {
            state.waiting -= 1;
            while let Some(task) = state.tasks.pop_front() {
                drop(state);
                task();
                state = self.lock();
            }
            state.waiting += 1;
            let (woken, timeout) = self
                .arrived
                .wait_timeout_while(state, self.idle, |state| state.tasks.is_empty())
                .unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if timeout.timed_out() && state.tasks.is_empty() {
                state.waiting -= 1;
                state.threads -= 1;
                return;
            }
        }
    }
}

/// How many waits hold the clock of each current-thread runtime. An entry exists exactly while its task on
/// tokio's pool does.
static HOLDS: Mutex<Option<HashMap<Id, usize>>> = Mutex::new(None);
static RELEASED: Condvar = Condvar::new();

fn holds() -> MutexGuard<'static, Option<HashMap<Id, usize>>> {
    HOLDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a paused clock from advancing, as a job on tokio's own pool would.
struct ClockHold(Id);

impl ClockHold {
    fn by_current_runtime() -> Option<Self> {
        let runtime = Handle::try_current().ok()?;
        if runtime.runtime_flavor() != RuntimeFlavor::CurrentThread {
            return None;
        }
        let held = Self(runtime.id());
        let waiting = match holds().get_or_insert_default().entry(held.0) {
            Entry::Occupied(mut holders) => {
                *holders.get_mut() += 1;
                None
            }
            Entry::Vacant(vacant) => {
                vacant.insert(1);
                Some(ClockTask { id: held.0 })
            }
        };
        // Not under the lock: a runtime that is shutting down drops the task at once, which takes the lock.
        if let Some(waiting) = waiting {
            drop(runtime.spawn_blocking(move || waiting.run()));
        }
        Some(held)
    }
}

impl Drop for ClockHold {
    fn drop(&mut self) {
        if let Some(holders) = holds().as_mut().and_then(|holds| holds.get_mut(&self.0)) {
            *holders -= 1;
        }
        RELEASED.notify_all();
    }
}

/// The task on tokio's pool that holds the clock of one runtime. Its entry is removed with it, also if it
/// is dropped without being run.
struct ClockTask {
    id: Id,
}

impl ClockTask {
    fn run(self) {
        let is_held = |holds: &mut Option<HashMap<Id, usize>>| {
            let holders = holds.as_ref().and_then(|holds| holds.get(&self.id));
            holders.is_some_and(|holders| *holders > 0)
        };
        let mut holds = RELEASED
            .wait_while(holds(), is_held)
            .unwrap_or_else(PoisonError::into_inner);
        // Under the same lock: a wait that begins after this finds no entry, and starts another task.
        if let Some(holds) = holds.as_mut() {
            holds.remove(&self.id);
        }
        drop(holds);
        std::mem::forget(self);
    }
}

impl Drop for ClockTask {
    fn drop(&mut self) {
        if let Some(holds) = holds().as_mut() {
            holds.remove(&self.id);
        }
    }
}

#[cfg(all(test, not(feature = "__model")))]
#[path = "offload_tests.rs"]
mod tests;
