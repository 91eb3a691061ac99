//! The numbers in the status of informers, handlers and factories, and its changes.

use std::time::Duration;

use informer_core::{Event, HandlerOptions, RelistReason, SharedInformer, State};
use informer_testing::{ApiServer, Fault};
use informers::SharedInformerFactory;
use informers::controller::{Action, Controller, Manager, Request};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use tokio::time::Instant;

use crate::support::{LONG, informer_of, item, server_with, settled, start, unseen};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn the_status_counts_lists_events_and_their_times() {
    let server = server_with(&["a", "b"]);
    let informer = informer_of(&server);
    start(&informer).await;
    let status = informer.status();
    let list = *status.last_list().unwrap();
    assert_eq!((list.objects, status.queued), (2, 0));
    assert_eq!(status.last_event(), None, "the initial state is no event");
    assert!(status.age.unwrap() < SECOND, "{status:?}");

    server.create(&item("c", "1")).unwrap();
    server.update(&item("c", "2")).unwrap();
    server.delete(&item("c", "2")).unwrap();
    settled(&informer, &server).await;
    let counts = informer.status().counts();
    assert_eq!((counts.added, counts.modified, counts.deleted), (1, 1, 1));
    assert_eq!((counts.lists, counts.relists.total()), (1, 0));
    let last_event = informer.status().last_event().unwrap();

    // Bookmarks keep the data young, and are no events. A server sends none with the version that a watch
    // began with, so this is shorter than a watch.
    tokio::time::sleep(SECOND * 250).await;
    let status = informer.status();
    assert!(status.age.unwrap() < SECOND * 90, "{:?}", status.age);
    assert_eq!(status.last_event(), Some(last_event));
    assert!(status.counts().bookmarks > 2, "{:?}", status.counts());
    let line = status.to_string();
    assert!(line.starts_with("configmaps: live, 2 objects, "), "{line}");
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn relists_are_counted_by_their_reason() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    start(&informer).await;
    let relists = |informer: &SharedInformer<ConfigMap>| {
        let relists = informer.status().counts().relists;
        relists.iter().filter(|(_, count)| *count > 0).collect::<Vec<_>>()
    };

    unseen(&server, || drop(server.create(&item("b", "1")).unwrap()));
    settled(&informer, &server).await;
    assert_eq!(relists(&informer), [(RelistReason::Expired, 1)]);

    // Refused for some time: one relist, however many attempts it needs.
    server.faults().add(Fault::Forbidden);
    server.close_watches();
    tokio::time::sleep(SECOND * 60).await;
    server.faults().clear();
    tokio::time::sleep(SECOND * 60).await;
    let expected = [(RelistReason::Expired, 1), (RelistReason::Refused, 1)];
    assert_eq!(relists(&informer), expected);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_error_is_current_until_a_request_succeeds() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    start(&informer).await;
    assert!(informer.status().current_error().is_none());
    server.faults().add(Fault::unavailable());
    server.close_watches();
    let outage = Instant::now();
    tokio::time::sleep(SECOND * 300).await;
    let status = informer.status();
    let error = status.current_error().unwrap();
    assert!(
        error.count > 2 && error.error.to_string().contains("503"),
        "{error:?}"
    );
    assert!(error.since.duration_since(outage) < SECOND * 60, "{error:?}");
    let age = status.age.unwrap();
    assert!(age > SECOND * 200, "the data ages: {age:?}");
    server.faults().clear();
    tokio::time::sleep(SECOND * 120).await;
    let status = informer.status();
    assert!(status.current_error().is_none() && status.age.unwrap() < SECOND * 120);
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_shows_its_backlog_the_oldest_event_and_the_slowest_call() {
    let server = server_with(&["a"]);
    let informer = informer_of(&server);
    let slow = |event: Event<ConfigMap>| async move {
        let is_slow = matches!(event, Event::Updated { .. });
        tokio::time::sleep(if is_slow { SECOND * 20 } else { SECOND }).await;
    };
    let options = HandlerOptions::default().name("slow");
    let registration = informer.add_async_handler_with(options, slow).unwrap();
    start(&informer).await;
    let idle = registration.status();
    assert_eq!((idle.depth, idle.oldest, idle.calls), (0, None, 1));
    assert_eq!(idle.slowest_call, Some(SECOND));

    server.update(&item("a", "2")).unwrap();
    tokio::time::sleep(SECOND * 2).await;
    server.create(&item("b", "1")).unwrap();
    tokio::time::sleep(SECOND * 3).await;
    server.create(&item("c", "1")).unwrap();
    tokio::time::sleep(SECOND * 4).await;
    let busy = registration.status();
    assert_eq!(busy.depth, 2);
    let near = |found: Option<Duration>, seconds: u64| {
        let found = found.unwrap();
        found >= SECOND * u32::try_from(seconds).unwrap()
            && found < SECOND * u32::try_from(seconds + 1).unwrap()
    };
    assert!(near(busy.oldest, 7), "the creation of b has waited: {busy:?}");
    assert!(near(busy.busy_for, 9), "{busy:?}");
    assert_eq!(busy.calls, 1, "the call has not returned");

    // The first event of the backlog is taken after the slow call; then the next one is the oldest.
    tokio::time::sleep(SECOND * 11 + SECOND / 2).await;
    let later = registration.status();
    assert_eq!((later.depth, later.calls), (1, 2), "{later:?}");
    assert!(near(later.oldest, 15), "{later:?}");
    tokio::time::sleep(LONG).await;
    let done = registration.status();
    assert_eq!((done.depth, done.oldest, done.calls), (0, None, 4));
    assert_eq!(done.slowest_call, Some(SECOND * 20));
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_late_handler_counts_the_objects_it_has_not_received_as_waiting() {
    let server = server_with(&["a", "b", "c"]);
    let informer = informer_of(&server);
    start(&informer).await;
    let registration = informer
        .add_async_handler(|_: Event<ConfigMap>| async { tokio::time::sleep(SECOND * 10).await })
        .unwrap();
    tokio::time::sleep(SECOND * 15).await;
    let status = registration.status();
    assert_eq!((status.depth, status.oldest), (1, Some(SECOND * 15)));
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_factory_reports_its_informers_and_controllers_while_they_exist() {
    let server = server_with(&["a"]);
    let factory = SharedInformerFactory::new(server.client());
    let maps = factory.informer_for::<ConfigMap>();
    let controller = Controller::new("copies", &maps).build().unwrap();
    let reconcile = |_: Request<ConfigMap>| async { Ok::<_, std::io::Error>(Action::await_change()) };
    let manager = Manager::new(factory.clone()).controller(controller, reconcile);
    assert_eq!(factory.status().controllers[0].name, "copies");
    let run = tokio::spawn(manager.run_until(std::future::pending()));
    tokio::time::sleep(SECOND).await;
    let status = factory.status();
    assert_eq!(status.controllers[0].totals.succeeded, 1);
    assert!(matches!(
        status.informer("configmaps").unwrap().state,
        State::Live
    ));
    let text = status.to_string();
    assert!(
        text.contains("\ncontroller copies: 0 running, 0 waiting, 0 failing\n"),
        "{text}"
    );
    run.abort();
    assert!(run.await.unwrap_err().is_cancelled());
    assert!(
        factory.status().controllers.is_empty(),
        "the controller was dropped"
    );
}

#[tokio::test(start_paused = true)]
async fn the_changes_of_a_factory_follow_every_informer_and_merge() {
    let server = server_with(&["a"]);
    let factory = SharedInformerFactory::new(server.client());
    let mut changes = factory.status_changes();
    let first = changes.next().await.unwrap();
    assert!(first.informers.is_empty());

    let maps = factory.informer_for::<ConfigMap>();
    let requested = changes.next().await.unwrap();
    assert!(matches!(requested.informers[0].state, State::NotStarted));
    factory.start();
    maps.synced().await.unwrap();
    let mut reports = 0;
    loop {
        reports += 1;
        let report = changes.next().await.unwrap();
        if matches!(report.informers[0].state, State::Live) && report.informers[0].synced {
            break;
        }
    }
    assert!(reports < 10, "changes in a row are merged: {reports} reports");

    // A second informer, requested later, is followed too.
    let secrets = factory.informer_for::<Secret>();
    factory.start();
    secrets.synced().await.unwrap();
    while changes.next().await.unwrap().informers.len() < 2 {}
    server.faults().add(Fault::Forbidden);
    server.close_watches();
    let is_forbidden = |state: &State| matches!(state, State::Forbidden { .. });
    loop {
        let report = changes.next().await.unwrap();
        if report
            .informers
            .iter()
            .all(|informer| is_forbidden(&informer.state))
        {
            break;
        }
    }
    drop((maps, secrets));
    drop(factory);
    let end = async { while changes.next().await.is_some() {} };
    tokio::time::timeout(LONG, end).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn nothing_is_reported_while_nothing_changes() {
    let server = ApiServer::start();
    let factory = SharedInformerFactory::new(server.client());
    factory.informer_for::<ConfigMap>();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    tokio::time::sleep(SECOND).await;
    let mut changes = factory.status_changes();
    changes.next().await.unwrap();
    let quiet = tokio::time::timeout(SECOND * 30, changes.next()).await;
    assert!(
        quiet.is_err(),
        "{:?}",
        quiet.unwrap().map(|status| status.to_string())
    );
    factory.shutdown().await;
}
