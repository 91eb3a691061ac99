//! Jobs on the pool: they do not wait for one another, panics resume at the caller, and a paused clock
//! stops.

use std::sync::mpsc;

use tokio::time::{Instant, sleep};

use super::*;

/// A job that blocks until the sender is dropped or sends.
fn blocked() -> (mpsc::Sender<()>, Job<()>) {
    let (release, wait) = mpsc::channel();
    (release, start(move || wait.recv().unwrap_or_default()))
}

#[tokio::test]
async fn a_job_does_not_wait_for_jobs_that_block() {
    let blocked: Vec<_> = (0..20).map(|_| blocked()).collect();
    assert_eq!(run(|| 7).await, 7);
    for (release, mut job) in blocked {
        drop(release);
        job.done().await;
    }
}

#[tokio::test]
async fn a_panic_resumes_where_the_job_is_awaited() {
    let mut job = start(|| panic!("of the job"));
    let waiting = tokio::spawn(async move { job.done().await });
    assert!(waiting.await.unwrap_err().is_panic());
    assert_eq!(run(|| 7).await, 7, "the thread survived");
}

#[tokio::test]
async fn a_job_finds_the_runtime_of_its_caller() {
    let id = Handle::current().id();
    assert_eq!(run(|| Handle::current().id()).await, id);
}

#[tokio::test(start_paused = true)]
async fn a_paused_clock_stops_while_a_job_is_awaited() {
    let begun = Instant::now();
    let (release, mut job) = blocked();
    // The runtime is idle long before this thread ends; its clock would advance if nothing held it.
    std::thread::spawn(move || {
        for _ in 0..20_000 {
            std::thread::yield_now();
        }
        drop(release);
    });
    tokio::select! {
        biased;
        () = job.done() => {}
        () = sleep(Duration::from_secs(30)) => panic!("the clock advanced while a job was running"),
    }
    assert_eq!(begun.elapsed(), Duration::ZERO);
    sleep(Duration::from_secs(30)).await;
    assert!(
        begun.elapsed() >= Duration::from_secs(30),
        "the clock advances again"
    );
}

/// While handlers occupy tokio's whole pool, the task that holds the clock cannot run. Jobs continue, and
/// there is only one such task.
#[test]
fn clock_tasks_do_not_accumulate_in_an_exhausted_pool() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .max_blocking_threads(1)
        .build()
        .unwrap();
    runtime.block_on(async {
        let (release, wait) = mpsc::channel::<()>();
        let handler = tokio::task::spawn_blocking(move || wait.recv().unwrap_or_default());
        for number in 0..1_000 {
            assert_eq!(run(move || number).await, number);
        }
        assert_eq!(
            holds()
                .as_ref()
                .and_then(|holds| holds.get(&Handle::current().id())),
            Some(&0)
        );
        drop(release);
        handler.await.unwrap();
        sleep(Duration::from_secs(1)).await;
        assert_eq!(
            holds()
                .as_ref()
                .and_then(|holds| holds.get(&Handle::current().id())),
            None
        );
    });
}

/// A pool of its own, whose threads end as soon as they are idle. Threads that exist only in its counters
/// stand for threads that are busy or starting.
fn pool(tasks: Vec<Task>, waiting: usize, threads: usize) -> &'static Pool {
    let pool = Box::leak(Box::new(Pool::new(Duration::ZERO)));
    *pool.lock() = PoolState {
        tasks: tasks.into(),
        waiting,
        threads,
    };
    pool
}

/// Tasks left, waiting threads, all threads.
fn counts(pool: &Pool) -> (usize, usize, usize) {
    let state = pool.lock();
    (state.tasks.len(), state.waiting, state.threads)
}

/// A task that reports to the receiver that it ran.
fn task() -> (Task, mpsc::Receiver<()>) {
    let (ran, has_run) = mpsc::channel();
    (Box::new(move || ran.send(()).unwrap_or_default()), has_run)
}

#[test]
fn a_job_runs_here_if_no_thread_can_be_started() {
    let (task, has_run) = task();
    let pool = pool(vec![task], 1, 1);
    pool.not_started();
    assert_eq!(counts(pool), (0, 0, 0));
    assert!(has_run.try_recv().is_ok(), "nothing else would ever run it");
}

#[test]
fn a_job_waits_for_a_busy_thread_if_no_other_can_be_started() {
    let (task, has_run) = task();
    let pool = pool(vec![task], 1, 2);
    pool.not_started();
    assert_eq!(counts(pool), (1, 0, 1));
    assert!(has_run.try_recv().is_err(), "the busy thread takes it");
}

#[test]
fn a_thread_that_becomes_idle_runs_all_jobs_and_ends() {
    let ((first, first_ran), (second, second_ran)) = (task(), task());
    // The third thread is busy throughout.
    let pool = pool(vec![first, second], 1, 3);
    pool.serve();
    assert_eq!(counts(pool), (0, 0, 2));
    assert!(first_ran.try_recv().is_ok() && second_ran.try_recv().is_ok());
}

#[test]
fn a_thread_is_started_only_if_none_waits_and_the_limit_allows_it() {
    let idle = pool(Vec::new(), 1, 1);
    idle.submit(task().0);
    assert_eq!(counts(idle), (1, 1, 1), "the idle thread takes it");
    let full = pool(Vec::new(), 0, LIMIT);
    full.submit(task().0);
    assert_eq!(counts(full), (1, 0, LIMIT), "it waits for one of the threads");
    let busy = pool(Vec::new(), 0, LIMIT - 1);
    let (task, has_run) = task();
    busy.submit(task);
    let limit = Duration::from_secs(10);
    has_run.recv_timeout(limit).expect("a new thread runs it");
}

/// A runtime that shuts down drops the task without running it. The next one must not be prevented.
#[tokio::test]
async fn a_clock_task_that_never_runs_leaves_no_entry() {
    let id = Handle::current().id();
    holds().get_or_insert_default().insert(id, 1);
    drop(ClockTask { id });
    assert_eq!(holds().as_ref().and_then(|holds| holds.get(&id)), None);
}
