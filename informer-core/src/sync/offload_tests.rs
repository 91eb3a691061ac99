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
