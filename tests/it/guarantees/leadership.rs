//! C6: a process acts as the leader only while, by its own clock, its lease cannot have been taken.

use std::time::Duration;

use informer_testing::{ApiServer, Fault, Rule, Verb};
use tokio::time::Instant;

use crate::leader::{TestClock, candidate, lead, seconds, sleep};

/// The validity counts from the start of the request. The server may have stored the lease, and others may
/// have seen it, long before the answer arrived.
#[tokio::test(start_paused = true)]
async fn c06_validity_counts_from_the_start_of_the_request() {
    let server = ApiServer::start();
    let election = candidate(&server, "a");
    let slow = Rule::new(Fault::Delay(Duration::from_millis(1500))).on(Verb::Create);
    server.faults().add(slow);
    let start = Instant::now();
    let leadership = lead(&election).await;
    assert_eq!(start.elapsed(), Duration::from_millis(1500));
    server.faults().add(Rule::new(Fault::Refuse));
    sleep(8.49).await;
    assert!(leadership.is_valid());
    sleep(0.02).await;
    assert!(!leadership.is_valid());
}

#[tokio::test(start_paused = true)]
async fn c06_a_renewal_counts_from_the_start_of_its_request() {
    let server = ApiServer::start();
    let leadership = lead(&candidate(&server, "a")).await;
    server.faults().add(
        Rule::new(Fault::Delay(Duration::from_millis(1500)))
            .on(Verb::Update)
            .once(),
    );
    // The renewal begins after 2 s and is answered after 3.5 s.
    sleep(3.6).await;
    server.faults().add(Rule::new(Fault::Refuse));
    sleep(8.39).await;
    assert!(leadership.is_valid(), "12 s are not over");
    sleep(0.02).await;
    assert!(!leadership.is_valid());
}

/// Work that is polled late, because the process was stopped, is not polled at all.
#[tokio::test(start_paused = true)]
async fn c06_no_work_is_polled_after_the_deadline() {
    let server = ApiServer::start();
    let clock = TestClock::default();
    let leadership = lead(&candidate(&server, "a").clock(clock.clone())).await;
    server.faults().add(Rule::new(Fault::Refuse));
    let last = std::sync::Arc::new(std::sync::Mutex::new(Duration::ZERO));
    let (start, polled) = (Instant::now(), last.clone());
    let work = leadership.guard(async move {
        loop {
            *polled.lock().unwrap() = start.elapsed();
            tokio::time::sleep(Duration::from_millis(7)).await;
        }
    });
    assert!(work.await.map(|never: std::convert::Infallible| never).is_err());
    assert!(*last.lock().unwrap() < seconds(10));
    assert!(start.elapsed() <= seconds(10) + Duration::from_millis(2));
}
