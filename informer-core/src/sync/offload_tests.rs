//! Jobs on the pool: none waits behind another, panics go on, and a paused clock stands still.

use std::sync::mpsc;

use tokio::time::{Instant, sleep};

use super::*;

/// A job that blocks until the other end is dropped or sends.
fn blocked() -> (mpsc::Sender<()>, Job<()>) {
    let (release, wait) = mpsc::channel();
    (release, start(move || wait.recv().unwrap_or_default()))
}

#[tokio::test]
async fn a_job_never_waits_behind_jobs_that_block() {
    let blocked: Vec<_> = (0..20).map(|_| blocked()).collect();
    assert_eq!(run(|| 7).await, 7);
    for (release, mut job) in blocked {
        drop(release);
        job.done().await;
    }
}

#[tokio::test]
async fn a_panic_goes_on_where_the_job_is_awaited() {
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
async fn a_paused_clock_stands_still_while_a_job_is_awaited() {
    let begun = Instant::now();
    let (release, mut job) = blocked();
    // The runtime is idle long before this thread is through; its clock would move on if nothing held it.
    std::thread::spawn(move || {
        for _ in 0..20_000 {
            std::thread::yield_now();
        }
        drop(release);
    });
    tokio::select! {
        biased;
        () = job.done() => {}
        () = sleep(Duration::from_secs(30)) => panic!("the clock moved on while a job was out"),
    }
    assert_eq!(begun.elapsed(), Duration::ZERO);
    sleep(Duration::from_secs(30)).await;
    assert!(
        begun.elapsed() >= Duration::from_secs(30),
        "the clock moves on again"
    );
}

/// While handlers occupy tokio's whole pool the task that holds the clock cannot run; jobs go on, and there
/// is one such task.
#[test]
fn tasks_that_hold_the_clock_do_not_pile_up_in_an_exhausted_pool() {
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
