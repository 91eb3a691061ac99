//! Waiting for a factory's informers and handlers to sync, or for the reason of each that does not.

use std::time::Duration;

use informer_testing::{ApiServer, Fault, Rule};
use informers::status::Unsynced;
use informers::{
    Event, HandlerOptions, Overflow, Selector, SharedInformerFactory, State, SyncError, WaitingFor,
};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::time::Instant;

use crate::factory::factory_of;
use crate::support::{LONG, item, server_with};

/// A started factory with informers of config maps, pods and secrets.
fn started(server: &ApiServer) -> SharedInformerFactory {
    let factory = factory_of(server);
    factory.core().v1().config_maps().informer();
    factory.core().v1().pods().informer();
    factory.core().v1().secrets().informer();
    factory.start();
    factory
}

fn resources(error: &SyncError) -> Vec<&str> {
    error
        .unsynced
        .iter()
        .map(|unsynced| unsynced.resource.as_str())
        .collect()
}

fn only(error: SyncError) -> Unsynced {
    let mut unsynced = error.unsynced;
    assert_eq!(unsynced.len(), 1, "{unsynced:?}");
    unsynced.remove(0)
}

#[tokio::test(start_paused = true)]
async fn a_refused_informer_ends_the_wait_after_ten_seconds_with_the_reason() {
    let server = server_with(&["a"]);
    server
        .faults()
        .add(Rule::new(Fault::Forbidden).resource("secrets"));
    let factory = started(&server);
    let start = Instant::now();
    let error = factory.wait_for_sync().await.unwrap_err();
    let waited = start.elapsed();
    assert!(
        waited >= Duration::from_secs(10) && waited < Duration::from_secs(12),
        "{waited:?}"
    );
    let text = error.to_string();
    assert!(
        text.starts_with("1 of 3 informers not in sync: secrets: forbidden"),
        "{text}"
    );
    let unsynced = only(error);
    let WaitingFor::Cache(pending) = &unsynced.waiting_for else {
        panic!("{unsynced}");
    };
    assert!(matches!(pending.worst(), State::Forbidden { .. }), "{pending}");
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_goes_on_while_another_informer_has_hope() {
    let server = server_with(&["a"]);
    server
        .faults()
        .add(Rule::new(Fault::Forbidden).resource("secrets"));
    let outage = server.faults().add(Rule::new(Fault::Refuse).resource("pods"));
    let factory = started(&server);
    let error = factory
        .wait_for_sync_within(Duration::from_secs(60))
        .await
        .unwrap_err();
    assert_eq!(resources(&error), ["pods", "secrets"], "{error}");
    server.faults().remove(outage);
    let error = factory.wait_for_sync().await.unwrap_err();
    assert_eq!(resources(&error), ["secrets"], "{error}");
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_right_that_comes_in_time_lets_the_wait_succeed() {
    let server = server_with(&["a"]);
    let refusal = server
        .faults()
        .add(Rule::new(Fault::Forbidden).resource("secrets"));
    let factory = SharedInformerFactory::builder(server.client())
        .give_up_refused_after(Duration::from_secs(120))
        .build()
        .unwrap();
    factory.core().v1().secrets().informer();
    factory.start();
    let granted = async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        server.faults().remove(refusal);
    };
    let (outcome, ()) = tokio::join!(factory.wait_for_sync(), granted);
    outcome.unwrap();
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_namespace_keeps_an_informer_of_several_from_being_in_sync() {
    let server = server_with(&["a"]);
    server.faults().add(
        Rule::new(Fault::Forbidden)
            .resource("configmaps")
            .namespace("secret"),
    );
    let factory = SharedInformerFactory::builder(server.client())
        .namespaces(["default", "secret"])
        .build()
        .unwrap();
    factory.core().v1().config_maps().informer();
    factory.start();
    let error = factory.wait_for_sync().await.unwrap_err();
    assert_eq!(resources(&error), ["configmaps"]);
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_server_is_waited_for_until_the_callers_deadline() {
    let server = server_with(&["a"]);
    server.faults().add(Rule::new(Fault::Refuse));
    let factory = started(&server);
    let start = Instant::now();
    let error = factory
        .wait_for_sync_within(Duration::from_secs(300))
        .await
        .unwrap_err();
    assert_eq!(start.elapsed().as_secs(), 300);
    assert_eq!(error.unsynced.len(), 3);
    assert!(error.to_string().contains("pods: trying again in"), "{error}");
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_does_not_return_is_named() {
    let server = server_with(&["a"]);
    let factory = factory_of(&server);
    let informer = factory.core().v1().config_maps().informer();
    let (release, _) = tokio::sync::broadcast::channel::<()>(1);
    let receiver = release.clone();
    informer
        .add_async_handler_with(
            HandlerOptions::default().name("reconciler"),
            move |_: Event<ConfigMap>| {
                let mut released = receiver.subscribe();
                async move {
                    let _ = released.recv().await;
                }
            },
        )
        .unwrap();
    factory.start();
    let error = factory
        .wait_for_sync_within(Duration::from_secs(5))
        .await
        .unwrap_err();
    let unsynced = only(error);
    assert!(
        matches!(&unsynced.waiting_for, WaitingFor::Handlers(names) if names == &["reconciler"]),
        "{unsynced}"
    );
    release.send(()).unwrap();
    factory.wait_for_sync_within(LONG).await.unwrap();
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_removed_while_it_is_waited_for_holds_nobody_up() {
    let server = server_with(&["a"]);
    let factory = factory_of(&server);
    let informer = factory.core().v1().config_maps().informer();
    let registration = informer
        .add_async_handler(|_: Event<ConfigMap>| std::future::pending::<()>())
        .unwrap();
    factory.start();
    let removed = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        drop(registration.remove());
    };
    let start = Instant::now();
    let (outcome, ()) = tokio::join!(factory.wait_for_sync(), removed);
    outcome.unwrap();
    assert_eq!(start.elapsed().as_secs(), 5, "the removal itself ends the wait");
}

#[tokio::test(start_paused = true)]
async fn handlers_that_never_receive_everything_are_not_reported_as_synced() {
    let server = server_with(&["a"]);
    let factory = factory_of(&server);
    let informer = factory.core().v1().config_maps().informer();
    let options = HandlerOptions::default().name("reconciler");
    informer
        .add_async_handler_with(options, |_: Event<ConfigMap>| std::future::pending::<()>())
        .unwrap();
    factory.start();
    informer.synced().await.unwrap();
    let stopping = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        informer.stop();
    };
    let (outcome, ()) = tokio::join!(factory.wait_for_sync(), stopping);
    let unsynced = only(outcome.unwrap_err());
    assert!(
        matches!(&unsynced.waiting_for, WaitingFor::Handlers(names) if names == &["reconciler"]),
        "{unsynced}"
    );
}

/// The handler cannot come into sync any more, although its informer runs.
#[tokio::test(start_paused = true)]
async fn a_handler_that_was_disconnected_before_its_sync_ends_the_wait() {
    let server = server_with(&["a"]);
    let factory = factory_of(&server);
    let informer = factory.core().v1().config_maps().informer();
    let options = HandlerOptions::default()
        .name("reconciler")
        .buffer(1)
        .on_overflow(Overflow::Disconnect);
    informer
        .add_async_handler_with(options, |_: Event<ConfigMap>| std::future::pending::<()>())
        .unwrap();
    factory.start();
    informer.synced().await.unwrap();
    for value in ["2", "3", "4"] {
        server.update(&item("a", value)).unwrap();
    }
    let outcome = tokio::time::timeout(LONG, factory.wait_for_sync()).await;
    let unsynced = only(outcome.expect("the wait ends").unwrap_err());
    assert!(
        matches!(&unsynced.waiting_for, WaitingFor::Handlers(names) if names == &["reconciler"]),
        "{unsynced}"
    );
    factory
        .shutdown_timeout(Duration::from_secs(1))
        .await
        .unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn a_factory_that_was_never_started_is_not_in_sync() {
    let server = server_with(&["a"]);
    let factory = factory_of(&server);
    let _maps = factory.core().v1().config_maps().lister();
    let error = factory.wait_for_sync().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "1 of 1 informers not in sync: configmaps: not started"
    );
    factory.start();
    let _pods = factory.core().v1().pods().lister();
    factory.wait_for_sync().await.unwrap();
    factory.shutdown().await;
    let error = factory.wait_for_sync().await.unwrap_err();
    assert_eq!(error.to_string(), "1 of 2 informers not in sync: pods: stopped");
}

#[tokio::test(start_paused = true)]
async fn a_stream_nobody_reads_yet_holds_nobody_up() {
    let server = server_with(&["a"]);
    let factory = factory_of(&server);
    let events = factory.core().v1().config_maps().informer().events();
    factory.start();
    factory.wait_for_sync_within(LONG).await.unwrap();
    assert!(!events.registration().has_synced());
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_a_wait() {
    let server = server_with(&["a"]);
    server.faults().add(Rule::new(Fault::Hang));
    let factory = started(&server);
    let stopping = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        factory.shutdown().await;
    };
    let (outcome, ()) = tokio::join!(factory.wait_for_sync(), stopping);
    let error = outcome.unwrap_err();
    assert_eq!(error.unsynced.len(), 3);
    assert!(error.to_string().contains("configmaps: stopped"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn progress_is_reported_step_by_step_and_ends() {
    let server = server_with(&["a", "b"]);
    let refusal = server
        .faults()
        .add(Rule::new(Fault::Forbidden).resource("secrets"));
    let factory = factory_of(&server);
    let mut progress = factory.progress();
    assert_eq!(
        progress.next().await.unwrap().to_string(),
        "0 of 0 informers in sync"
    );
    let maps = factory.core().v1().config_maps().lister();
    let secrets = factory.core().v1().secrets().informer();
    factory.start();

    let delivered = tokio::spawn(async move {
        let mut delivered = Vec::new();
        while let Some(report) = progress.next().await {
            delivered.push(report);
        }
        delivered
    });
    tokio::time::sleep(Duration::from_secs(30)).await;
    server.faults().remove(refusal);
    secrets.synced_within(LONG).await.unwrap();
    let delivered = delivered.await.unwrap();
    let texts: Vec<String> = delivered.iter().map(ToString::to_string).collect();
    assert!(
        texts
            .iter()
            .any(|text| text.starts_with("1 of 2 informers in sync; secrets: forbidden")),
        "{texts:#?}"
    );
    assert_eq!(texts.last().unwrap(), "2 of 2 informers in sync");
    assert!(texts.windows(2).all(|pair| pair[0] != pair[1]), "{texts:#?}");
    assert_eq!(delivered.last().unwrap().informers[0].objects, 2);
    assert_eq!(maps.list(&Selector::everything()).len(), 2);
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn progress_made_between_two_reports_is_not_missed() {
    let server = server_with(&["a"]);
    let hang = server.faults().add(Rule::new(Fault::Refuse));
    let factory = factory_of(&server);
    let maps = factory.core().v1().config_maps().informer();
    factory.start();
    let mut progress = factory.progress();
    assert!(!progress.next().await.unwrap().is_synced());
    server.faults().remove(hang);
    maps.synced().await.unwrap();
    let mut last = None;
    while let Some(report) = tokio::time::timeout(LONG, progress.next()).await.unwrap() {
        last = Some(report);
    }
    assert!(last.unwrap().is_synced());
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn progress_ends_when_a_token_of_the_programs_is_cancelled() {
    let server = server_with(&["a"]);
    server.faults().add(Rule::new(Fault::Refuse));
    let token = tokio_util::sync::CancellationToken::new();
    let factory = SharedInformerFactory::builder(server.client())
        .cancel_with(&token)
        .build()
        .unwrap();
    factory.core().v1().config_maps().informer();
    factory.start();
    let mut progress = factory.progress();
    let ended = tokio::spawn(async move { while progress.next().await.is_some() {} });
    tokio::time::sleep(Duration::from_secs(5)).await;
    token.cancel();
    tokio::time::timeout(LONG, ended).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn progress_ends_with_a_shutdown() {
    let server = server_with(&["a"]);
    server.faults().add(Rule::new(Fault::Hang));
    let factory = started(&server);
    let mut progress = factory.progress();
    assert!(progress.next().await.is_some());
    let ended = tokio::spawn(async move { while progress.next().await.is_some() {} });
    tokio::time::sleep(Duration::from_secs(1)).await;
    factory.shutdown().await;
    tokio::time::timeout(LONG, ended).await.unwrap().unwrap();
}
