//! Managers: the order of start and stop, and the health meanwhile.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use informer_testing::{ApiServer, Fault, Rule};
use informers::SharedInformerFactory;
use informers::controller::{
    Action, Controller, Finished, LeaderElection, Manager, ManagerError, Phase, Request,
};
use informers::health::NotHealthy;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::support::{item, label, server_with};

type Calls = Arc<Mutex<Vec<String>>>;

/// A manager of one controller of ConfigMaps that records its calls, each of which takes a second.
fn manager(server: &ApiServer) -> (Manager, Calls) {
    let factory = SharedInformerFactory::new(server.client());
    let items = factory.kind::<ConfigMap>().informer();
    let controller = Controller::new("items", &items).build().unwrap();
    let calls = Calls::default();
    let record = calls.clone();
    let manager = Manager::new(factory).controller(controller, move |request: Request<ConfigMap>| {
        let record = record.clone();
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let call = request
                .object()
                .map_or("deleted".to_owned(), |object| label(&object));
            record.lock().unwrap().push(call);
            Ok::<_, std::io::Error>(Action::await_change())
        }
    });
    (manager, calls)
}

fn election(server: &ApiServer, identity: &str) -> LeaderElection {
    LeaderElection::new(server.client(), "default", "items").identity(identity)
}

/// `ok`, or why not.
fn text(health: Result<(), NotHealthy>) -> String {
    health.map_or_else(|error| error.to_string(), |()| "ok".to_owned())
}

async fn after(time: Duration) {
    tokio::time::sleep(time).await;
}

#[tokio::test(start_paused = true)]
async fn a_manager_starts_the_caches_then_the_workers_and_stops_in_order() {
    let server = server_with(&["a", "b", "c"]);
    let (manager, calls) = manager(&server);
    let health = manager.health();
    assert_eq!(text(health.ready()), "the manager is not ready: not started");
    let (stop, stopped) = oneshot::channel::<()>();
    let run = tokio::spawn(manager.run_until(async move { drop(stopped.await) }));
    after(Duration::from_millis(1_500)).await;
    assert_eq!(
        (text(health.ready()), text(health.live())),
        ("ok".to_owned(), "ok".to_owned())
    );
    assert_eq!(*calls.lock().unwrap(), ["a=1"]);
    stop.send(()).unwrap();
    after(Duration::from_millis(1)).await;
    assert_eq!(text(health.ready()), "the manager is not ready: stopping");
    let finished = run.await.unwrap().unwrap();
    assert_eq!(*calls.lock().unwrap(), ["a=1", "b=1"], "the running one finished");
    let (name, stopped) = &finished.controllers[0];
    assert_eq!(
        (name.as_str(), stopped.left.len(), stopped.cancelled.len()),
        ("items", 1, 0)
    );
    assert_eq!(text(health.live()), "the manager is not ready: stopped");
    assert_eq!(server.watchers(), 0, "the caches are stopped");
}

#[tokio::test(start_paused = true)]
async fn a_manager_stops_while_the_caches_are_not_in_sync() {
    let server = server_with(&["a"]);
    server.faults().add(Fault::Hang);
    let (manager, calls) = manager(&server);
    let finished = manager.run_until(after(Duration::from_secs(5))).await.unwrap();
    assert_eq!(finished, Finished::default());
    assert!(calls.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn caches_that_cannot_sync_end_the_manager_with_the_reason() {
    let server = server_with(&["a"]);
    server.faults().add(Rule::new(Fault::Forbidden));
    let (manager, _) = manager(&server);
    let error = manager.run_until(std::future::pending()).await.unwrap_err();
    assert!(matches!(error, ManagerError::Sync(_)));
    assert!(format!("{error:?}").contains("forbidden"), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_does_not_end_is_cancelled_after_the_grace_period() {
    let server = server_with(&["a"]);
    let factory = SharedInformerFactory::new(server.client());
    let items = factory.kind::<ConfigMap>().informer();
    let controller = Controller::new("items", &items).build().unwrap();
    let endless = |_: Request<ConfigMap>| std::future::pending::<Result<Action, std::io::Error>>();
    let manager = Manager::new(factory)
        .controller(controller, endless)
        .grace(Duration::from_secs(7));
    let before = Instant::now();
    let finished = manager.run_until(after(Duration::from_secs(3))).await.unwrap();
    assert_eq!(finished.controllers[0].1.cancelled.len(), 1);
    assert_eq!(before.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_standby_takes_over_with_warm_caches_when_the_leader_stops() {
    let server = server_with(&["a"]);
    let (first, first_calls) = manager(&server);
    let first = tokio::spawn(
        first
            .leader_election(election(&server, "one"))
            .run_until(after(Duration::from_secs(20))),
    );
    after(Duration::from_secs(5)).await;
    let (second, second_calls) = manager(&server);
    let second = second.leader_election(election(&server, "two"));
    let health = second.health();
    let (stop, stopped) = oneshot::channel::<()>();
    let second = tokio::spawn(second.run_until(async move { drop(stopped.await) }));
    after(Duration::from_secs(5)).await;
    assert_eq!(
        (health.phase(), text(health.ready())),
        (Some(Phase::Standby), "ok".to_owned())
    );
    assert!(second_calls.lock().unwrap().is_empty());
    assert_eq!(*first_calls.lock().unwrap(), ["a=1"]);
    first.await.unwrap().unwrap();
    server.update(&item("a", "2")).unwrap();
    // It was released, so the standby need not wait until it expires. It looks again after at most 4.4 s, and
    // the reconcile takes one more.
    after(Duration::from_secs(7)).await;
    assert_eq!(health.phase(), Some(Phase::Running));
    assert_eq!(*second_calls.lock().unwrap(), ["a=2"]);
    stop.send(()).unwrap();
    second.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_stops_with_an_error() {
    let server = server_with(&["a"]);
    let (manager, calls) = manager(&server);
    let run = tokio::spawn(
        manager
            .leader_election(election(&server, "one"))
            .run_until(std::future::pending()),
    );
    after(Duration::from_secs(5)).await;
    assert_eq!(*calls.lock().unwrap(), ["a=1"]);
    server.faults().add(Rule::new(Fault::Refuse).resource("leases"));
    after(Duration::from_secs(9)).await;
    server.update(&item("a", "2")).unwrap();
    let before = Instant::now();
    let error = run.await.unwrap().unwrap_err();
    assert!(matches!(error, ManagerError::LeadershipLost { .. }), "{error:?}");
    assert!(
        before.elapsed() < Duration::from_secs(6),
        "before the lease can be taken"
    );
}

/// The contract of the crate page: a spawned future, and errors of any type.
#[test]
fn a_manager_can_be_spawned() {
    fn spawnable<T: Send + 'static>(_: impl FnOnce(Manager) -> T) {}
    spawnable(|manager| manager.run_until(std::future::pending()));
}
