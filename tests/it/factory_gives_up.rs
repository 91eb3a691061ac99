//! When a wait for sync gives up, and when it does not: refusals, permanent failures, unreachable servers.

use std::time::Duration;

use informer_testing::{ApiServer, Fault, Rule};
use informers::{SharedInformerFactory, SyncError};
use tokio::time::Instant;

use crate::factory::factory_of;
use crate::support::{Door, LONG, item, item_in, server_with};

const GRACE: Duration = Duration::from_secs(10);

/// A started factory with an informer of config maps, over a client behind a door.
fn behind(door: &Door, server: &ApiServer) -> SharedInformerFactory {
    let factory = SharedInformerFactory::new(door.client(server));
    factory.core().v1().config_maps().informer();
    factory.start();
    factory
}

/// The error of a wait for sync, and how long it took.
async fn given_up(factory: &SharedInformerFactory) -> (SyncError, Duration) {
    let start = Instant::now();
    let outcome = tokio::time::timeout(LONG, factory.wait_for_sync()).await;
    let error = outcome.expect("the wait ends").expect_err("nothing is in sync");
    (error, start.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_second_wait_succeeds_after_the_missing_right_was_granted() {
    let server = server_with(&["a"]);
    let refusal = server.faults().add(Rule::new(Fault::Forbidden));
    let factory = factory_of(&server);
    factory.core().v1().config_maps().informer();
    factory.start();
    given_up(&factory).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    server.faults().remove(refusal);
    factory
        .wait_for_sync()
        .await
        .expect("the right was granted before the call");
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_called_again_waits_again_and_for_a_fresh_attempt() {
    let server = server_with(&["a"]);
    let door = Door::default();
    door.shut(403, "Forbidden");
    let factory = behind(&door, &server);
    let start = Instant::now();
    for round in 0..20 {
        let attempts = factory.status().informers[0].scopes[0].counts.errors;
        let (_, waited) = given_up(&factory).await;
        assert!(waited >= GRACE, "round {round} took {waited:?}");
        let fresh = factory.status().informers[0].scopes[0].counts.errors - attempts;
        assert!(fresh >= 1, "round {round} had no attempt of its own");
    }
    assert!(
        start.elapsed() < Duration::from_secs(20 * 45),
        "{:?}",
        start.elapsed()
    );
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_attempt_in_flight_when_the_wait_begins_does_not_end_it() {
    let server = server_with(&["a"]);
    // Each answer takes 5 s and was decided by the time it is sent.
    let refusal = server.faults().add(Rule::new(Fault::Forbidden));
    let slow = server
        .faults()
        .add(Rule::new(Fault::Delay(Duration::from_secs(5))));
    let factory = factory_of(&server);
    factory.core().v1().config_maps().informer();
    factory.start();
    tokio::time::sleep(Duration::from_secs(1)).await;
    server.faults().remove(slow);
    let granted = async {
        tokio::time::sleep(Duration::from_secs(6)).await;
        server.faults().remove(refusal);
    };
    let (outcome, ()) = tokio::join!(factory.wait_for_sync(), granted);
    outcome.expect("only the attempt that was begun before the wait was refused");
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_deadline_given_by_the_caller_is_waited_for_in_full() {
    let server = server_with(&["a"]);
    let door = Door::default();
    for (code, reason) in [(403, "Forbidden"), (401, "Unauthorized"), (503, "")] {
        door.shut(code, reason);
        let factory = behind(&door, &server);
        for round in 0..2 {
            let start = Instant::now();
            let time = Duration::from_secs(120);
            factory.wait_for_sync_within(time).await.unwrap_err();
            assert_eq!(start.elapsed().as_secs(), 120, "{code}, round {round}");
        }
        factory.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn failures_that_no_waiting_heals_end_the_wait_with_their_reason() {
    let server = server_with(&["a"]);
    let door = Door::default();
    for (code, reason) in [
        (400, "BadRequest"),
        (401, "Unauthorized"),
        (403, "Forbidden"),
        (404, "NotFound"),
        (405, "MethodNotAllowed"),
        (406, "NotAcceptable"),
        (422, "Invalid"),
        (431, ""),
    ] {
        door.shut(code, reason);
        let factory = behind(&door, &server);
        let (error, waited) = given_up(&factory).await;
        assert!(waited >= GRACE && waited < 4 * GRACE, "{code}: {waited:?}");
        let text = error.to_string();
        assert!(text.contains(&format!("the server answered {code}")), "{text}");
        factory.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_cache_over_its_limit_ends_the_wait_with_the_way_out() {
    let server = server_with(&["a", "b"]);
    server.create(&item("large", &"x".repeat(10_000))).unwrap();
    let factory = SharedInformerFactory::builder(server.client())
        .max_objects(2)
        .build()
        .unwrap();
    factory.core().v1().config_maps().informer();
    factory.start();
    let (error, waited) = given_up(&factory).await;
    assert!(waited < Duration::from_secs(60), "{waited:?}");
    assert!(error.to_string().contains("max_objects"), "{error}");
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_server_ends_the_wait_after_a_minute_or_the_chosen_time() {
    let server = server_with(&["a"]);
    for fault in [Fault::Refuse, Fault::Hang] {
        let rule = server.faults().add(Rule::new(fault.clone()));
        for minutes in [1, 3] {
            let limit = Duration::from_secs(60 * minutes);
            let mut builder = SharedInformerFactory::builder(server.client());
            if minutes != 1 {
                builder = builder.give_up_unreachable_after(limit);
            }
            let factory = builder.build().unwrap();
            factory.core().v1().config_maps().informer();
            factory.start();
            let (error, waited) = given_up(&factory).await;
            assert!(
                waited >= limit && waited < limit + Duration::from_secs(90),
                "{fault:?}: {waited:?}, {error}"
            );
            factory.shutdown().await;
        }
        server.faults().remove(rule);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_without_end_ends_the_wait_after_a_minute() {
    let server = server_with(&["a"]);
    let door = Door::default();
    for code in [500, 502, 503] {
        door.shut(code, "");
        let factory = behind(&door, &server);
        let (error, waited) = given_up(&factory).await;
        assert!(waited >= Duration::from_secs(60), "{code}: {waited:?}");
        assert!(error.to_string().contains(&code.to_string()), "{error}");
        factory.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_sends_retry_after_is_waited_for() {
    let server = server_with(&["a"]);
    let door = Door::default();
    door.shut(429, "TooManyRequests");
    let factory = behind(&door, &server);
    let relief = async {
        tokio::time::sleep(Duration::from_secs(300)).await;
        door.open();
    };
    let (outcome, ()) = tokio::join!(factory.wait_for_sync(), relief);
    outcome.expect("a busy server is not a broken one");
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn failures_of_changing_kinds_end_the_wait_too() {
    let server = server_with(&["a"]);
    let door = Door::default();
    door.shut(401, "Unauthorized");
    let factory = behind(&door, &server);
    let changing = async {
        for round in 0.. {
            tokio::time::sleep(Duration::from_secs(7)).await;
            match round % 2 {
                0 => door.shut(503, ""),
                _ => door.shut(401, "Unauthorized"),
            }
        }
    };
    let waited = tokio::select! {
        (_, waited) = given_up(&factory) => waited,
        () = changing => unreachable!("it goes on for ever"),
    };
    assert!(waited < Duration::from_secs(180), "{waited:?}");
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_refusal_names_every_refused_namespace() {
    let server = server_with(&["a"]);
    server.create(&item_in("open", "b", "1")).unwrap();
    for namespace in ["db", "web"] {
        server.faults().add(
            Rule::new(Fault::Forbidden)
                .resource("configmaps")
                .namespace(namespace),
        );
    }
    let factory = SharedInformerFactory::builder(server.client())
        .namespaces(["db", "open", "web"])
        .build()
        .unwrap();
    let informer = factory.core().v1().config_maps().informer();
    factory.start();
    let (error, _) = given_up(&factory).await;
    let text = error.to_string();
    let alone = informer.synced_within(GRACE).await.unwrap_err().to_string();
    for text in [text, alone] {
        assert!(text.contains("namespace db: forbidden"), "{text}");
        assert!(text.contains("namespace web: forbidden"), "{text}");
        assert!(!text.contains("namespace open"), "{text}");
    }
    factory.shutdown().await;
}
